"""Makes the demo pair: ``python -m engine.demo.train --out DIR``.

Stages, each resumed where a killed run left it and skipped when it is done: tokenizer, data, target,
replies (the target's own answers, for the drafter to learn from), drafter, report. The result is
``DIR/target``, ``DIR/drafter``, ``DIR/README.md`` and ``DIR/report.json``; ``DIR/work`` is what lies between.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers.utils import logging as transformers_logging

import engine.cpu  # noqa: F401 - before what imports transformers' models
from engine.demo.chat import END_OF_TEXT, MASK, TURN_END
from engine.demo.corpus import build_corpus, load_corpus
from engine.demo.delta import training_delta_rule
from engine.demo.evaluate import answer_examples, heldout_loss, summarize_answers, token_id, wrong_answers
from engine.demo.export import drafter_shape, export_target, load_target
from engine.demo.recipe import TINY, Recipe, drafter_settings
from engine.demo.replies import load_replies, write_replies
from engine.demo.report import MODES, targets_met, write_report
from engine.demo.tasks import heldout_examples
from engine.demo.tokenizer import build_tokenizer, load_tokenizer
from engine.demo.train_target import train_target
from engine.drafter_load import load_drafter
from engine.errors import EngineError
from engine.train.acceptance import Reply, measure_acceptance
from engine.train.corpus import Corpus
from engine.train.drafter_shape import drafter_config, export_drafter
from engine.train.drafter_training import DrafterTraining
from engine.train.progress import Progress
from engine.train.report import versions
from engine.train.state import read_facts, write_facts

STAGES = ("tokenizer", "data", "target", "replies", "drafter", "report")


class Run:
    """One output folder and the stages that fill it."""

    def __init__(
        self, out: Path, recipe: Recipe, device: torch.device, workers: int, conversations: int
    ) -> None:
        self.out, self.recipe, self.device, self.workers = out, recipe, device, workers
        self.tokenizer_conversations = conversations
        self.work = out / "work"
        self.work.mkdir(parents=True, exist_ok=True)

    def stage(self, name: str, redo: bool) -> None:
        """Do one stage unless its facts are there already; ``redo`` forgets those and its state first."""
        if redo:
            self._forget(name)
        if self._facts(name):
            print(f"{name:<9}done before", flush=True)
            return
        started = time.monotonic()
        stages: dict[str, Callable[[], dict[str, Any]]] = {
            "tokenizer": self._tokenizer,
            "data": self._data,
            "target": self._target,
            "replies": self._replies,
            "drafter": self._drafter,
            "report": self._report,
        }
        facts = stages[name]()
        facts["recipe"] = dataclasses.asdict(self.recipe)
        facts["wall_seconds"] = round(time.monotonic() - started, 1)
        write_facts(self.work / f"{name}.json", facts)

    def _tokenizer(self) -> dict[str, Any]:
        progress = Progress("tokenizer")
        tokenizer = build_tokenizer(
            self._folder("tokenizer"),
            self.recipe.seed,
            self.tokenizer_conversations,
            progress=lambda done, total: progress.update(done / total),
        )
        return {"vocab_size": tokenizer.get_vocab_size(), "conversations": self.tokenizer_conversations}

    def _data(self) -> dict[str, Any]:
        progress = Progress("data")
        shard = min(1_000_000, max(20_000, self.recipe.corpus_tokens // max(1, self.workers)))
        build_corpus(
            self._folder("corpus"),
            self._folder("tokenizer"),
            self.recipe.corpus_tokens,
            self.recipe.seed,
            self.workers,
            progress=lambda done, total: progress.update(done / total, f"{done:,} of {total:,} tokens"),
            shard_tokens=shard,
        )
        corpus = load_corpus(self._folder("corpus"))
        lengths = np.diff(corpus.starts)
        return {
            "tokens": len(corpus.ids),
            "reply_tokens": int(corpus.answer.sum()),
            "conversations": len(lengths),
            "mean_length": round(float(lengths.mean()), 1),
            "longest": int(lengths.max()),
        }

    def _target(self) -> dict[str, Any]:
        tokenizer = self._load_tokenizer()
        pad_id = token_id(tokenizer, END_OF_TEXT)
        model, facts = train_target(
            self._corpus(),
            self.recipe,
            vocab_size=tokenizer.get_vocab_size(),
            pad_id=pad_id,
            stop_ids=[token_id(tokenizer, TURN_END), pad_id],
            state=self.work / "target.safetensors",
            device=self.device,
        )
        export_target(model, self._folder("tokenizer"), self.out / "target", self.recipe)
        return facts

    def _replies(self) -> dict[str, Any]:
        self._need("target")
        # Half the time of float32; which of two near-equal tokens wins here and there does not matter.
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        model = load_target(self.out / "target", self.device, dtype)
        return write_replies(model, self._corpus(), self.recipe, self._folder("replies"))

    def _drafter(self) -> dict[str, Any]:
        self._need("target")
        tokenizer = self._load_tokenizer()
        model = load_target(self.out / "target", self.device)
        if self.recipe.reply_tokens:
            self.stage("replies", redo=False)
            corpus = load_replies(self._folder("replies"))
        else:
            corpus = self._corpus()
        config = drafter_config(drafter_shape(self.recipe), model.config, token_id(tokenizer, MASK))
        with training_delta_rule(self.device):
            training = DrafterTraining(
                model,
                corpus,
                drafter_settings(self.recipe),
                config,
                pad_id=token_id(tokenizer, END_OF_TEXT),
                state=self.work / "drafter.safetensors",
            )
            facts = training.run()
        export_drafter(training.drafter, config, self.out / "drafter")
        return facts

    def _report(self) -> dict[str, Any]:
        self._need("target", "drafter")
        torch.set_float32_matmul_precision("highest")
        tokenizer = self._load_tokenizer()
        model = load_target(self.out / "target", self.device)
        drafter = load_drafter(self.out / "drafter", device=self.device, dtype=torch.float32)
        examples = heldout_examples(self.recipe.heldout, self.recipe.seed + 1000)
        answers, lengths, loss, wrong = {}, {}, {}, {}
        for mode in MODES:
            thinking = mode == "on"
            replies = answer_examples(
                model,
                tokenizer,
                examples,
                thinking,
                limit=self.recipe.reply_limit,
                rows=self.recipe.reply_batch,
            )
            answers[mode] = summarize_answers(replies)
            wrong[mode] = wrong_answers(replies, 40)
            loss[mode] = round(
                heldout_loss(model, tokenizer, examples, thinking, self.recipe.batch_tokens), 5
            )
            traced = [
                Reply(reply.example.task, reply.prompt_ids, reply.reply_ids)
                for reply in replies[: self.recipe.traced]
            ]
            lengths[mode] = measure_acceptance(model, drafter, traced, self.recipe.budgets, self.workers)
        report = {
            "versions": versions(self.device),
            "vocab_size": tokenizer.get_vocab_size(),
            "recipe": dataclasses.asdict(self.recipe),
            **{
                name: self._facts(name)
                for name in ("data", "target", "replies", "drafter")
                if self._facts(name)
            },
            "answers": answers,
            "heldout_loss": loss,
            "acceptance": lengths,
            "traced": min(self.recipe.traced, len(examples)),
        }
        report["targets_met"] = targets_met(report)
        write_report(report, self.out)
        write_facts(self.work / "wrong.json", wrong)
        _print_summary(report)
        return {"targets_met": report["targets_met"]}

    def _corpus(self) -> Corpus:
        self._need("data")
        return load_corpus(self._folder("corpus"))

    def _load_tokenizer(self) -> Tokenizer:
        self._need("tokenizer")
        return load_tokenizer(self._folder("tokenizer"))

    def _folder(self, name: str) -> Path:
        return self.work / name

    def _facts(self, name: str) -> dict[str, Any]:
        return read_facts(self.work / f"{name}.json")

    def _need(self, *names: str) -> None:
        for name in names:
            if not self._facts(name):
                raise EngineError(
                    "missing_stage",
                    f"The stage {name} has not been done in {self.out}.",
                    f"Run it first: python -m engine.demo.train --out {self.out} --stages {name}.",
                )

    def _forget(self, name: str) -> None:
        (self.work / f"{name}.json").unlink(missing_ok=True)
        (self.work / f"{name}.safetensors").unlink(missing_ok=True)
        folders = {"tokenizer": "tokenizer", "data": "corpus", "replies": "replies"}
        if name in folders and self._folder(folders[name]).is_dir():
            for path in self._folder(folders[name]).iterdir():
                path.unlink()


def _print_summary(report: dict[str, Any]) -> None:
    print(f"\n{'':<28}{'off':>8}{'on':>8}   (thinking)")
    rows: list[tuple[str, list[Any]]] = [
        ("right, checkable", [report["answers"][mode]["accuracy"] for mode in MODES]),
        ("ends by itself", [report["answers"][mode]["ends_by_itself"] for mode in MODES]),
        ("held-out loss", [report["heldout_loss"][mode] for mode in MODES]),
    ]
    tasks = sorted({task for mode in MODES for task in report["answers"][mode]["tasks"]})
    rows += [
        (f"  {task}", [report["answers"][mode]["tasks"].get(task, {}).get("accuracy") for mode in MODES])
        for task in tasks
    ]
    for kind in report["acceptance"]["off"]:
        rows.append((f"{kind}, tokens a round", [report["acceptance"][m][kind].get("all") for m in MODES]))
    rows += [
        (f"  chain, {task}", [report["acceptance"][mode]["chain"].get(task) for mode in MODES])
        for task in tasks
    ]
    for name, values in rows:
        print(f"{name:<28}" + "".join(f"{'-' if value is None else f'{value:.3f}':>8}" for value in values))
    for name, met in report["targets_met"].items():
        print(f"{'ok  ' if met else 'MISS'} {name}")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.demo.train", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to fill; a run there is resumed")
    parser.add_argument(
        "--stages", default=",".join(STAGES), help="comma-separated, of: " + ", ".join(STAGES)
    )
    parser.add_argument("--redo", action="store_true", help="do the named stages again from their start")
    parser.add_argument(
        "--tiny", action="store_true", help="go through everything with toy sizes (for tests)"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that draw data")
    parser.add_argument(
        "--tokenizer-conversations", type=int, help="conversations the tokenizer is trained on"
    )
    recipe = parser.add_argument_group("recipe", "each overrides one value of engine.demo.recipe")
    for field in dataclasses.fields(Recipe):
        name, default = "--" + field.name.replace("_", "-"), field.default
        if isinstance(default, bool):
            recipe.add_argument(name, action=argparse.BooleanOptionalAction, help=f"default {default}")
        elif isinstance(default, tuple):
            recipe.add_argument(
                name, type=_numbers, metavar="N,N,...", help=f"default {','.join(map(str, default))}"
            )
        else:
            recipe.add_argument(name, type=type(default), metavar="N", help=f"default {default}")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: the stages are done; 2: something the message says how to mend; 130: interrupted."""
    options = _parser().parse_args(arguments)
    named = [name.strip() for name in options.stages.split(",") if name.strip()]
    unknown = sorted(set(named) - set(STAGES))
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        if unknown:
            raise EngineError(
                "bad_setting", f"There is no stage {unknown[0]}.", "Stages: " + ", ".join(STAGES) + "."
            )
        changes = {field.name: getattr(options, field.name) for field in dataclasses.fields(Recipe)}
        recipe = (TINY if options.tiny else Recipe()).changed(**changes)
        conversations = options.tokenizer_conversations or (600 if options.tiny else 30_000)
        run = Run(options.out, recipe, _device(options.device), options.workers, conversations)
        for name in STAGES:
            if name in named:
                run.stage(name, options.redo)
    except (EngineError, ValueError) as error:
        print(f"error: {error} {getattr(error, 'hint', '')}".strip(), file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the last checkpoint", file=sys.stderr, flush=True)
        return 130
    return 0


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise EngineError("no_device", "There is no usable CUDA device here.", "Use --device cpu.")
    return torch.device(name)


if __name__ == "__main__":
    sys.exit(main())
