"""One training run: the target's answers, the drafter, the report; each resumed where a killed run left it.

``OUT/drafter`` is the result, a checkpoint in z-lab's format with its report and model card; ``OUT/work`` is
what lies between: shards of answers, the checkpoint of the training, what each stage found out.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from engine.drafter_config import DFlashConfig
from engine.drafter_load import load_drafter
from engine.errors import EngineError
from engine.train.acceptance import measure_acceptance
from engine.train.answers import Answers, Question
from engine.train.batches import none_usable
from engine.train.drafter_shape import drafter_config, export_drafter
from engine.train.drafter_training import DrafterTraining
from engine.train.mask_token import choose_mask_id
from engine.train.plan import TrainPlan
from engine.train.prompts import Prompt, read_prompts, split_prompts
from engine.train.report import versions, write_report
from engine.train.speed import measure_speed
from engine.train.state import read_facts, write_facts
from engine.train.target import FoundTarget, TrainTarget

_STAGES = ("answers", "drafter", "report")
_OF_THE_DRAFTER = ("drafter shape", "mask token", "training")
"""May change until the drafter is begun: the answers serve any."""


class TrainRun:
    """A run and the folder it fills."""

    def __init__(self, plan: TrainPlan) -> None:
        self.plan = plan
        self.work = plan.out / "work"
        self.folder = plan.out / "drafter"
        self._state = self.work / "drafter.safetensors"

    def run(self) -> dict[str, Any]:
        """Go through the stages that are not done yet; the report.

        Raises:
            EngineError: for whatever of the plan cannot be; ``other_run`` when the folder holds another one.
            KeyboardInterrupt: after Ctrl-C; the same run goes on from there.
        """
        self._check()
        self.work.mkdir(parents=True, exist_ok=True)
        self._claim()
        stages: dict[str, Callable[[], dict[str, Any]]] = {
            "answers": self._answer,
            "drafter": self._train,
            "report": self._report,
        }
        for name in _STAGES:
            if self._facts(name):
                print(f"{name:<9}done before", flush=True)
                continue
            started = time.monotonic()
            facts = stages[name]()
            write_facts(
                self.work / f"{name}.json", {**facts, "wall_seconds": round(time.monotonic() - started, 1)}
            )
        return self._facts("report")

    @cached_property
    def _found(self) -> FoundTarget:
        return FoundTarget.find(self.plan.target, self.plan.device, self.plan.dtype)

    @cached_property
    def target(self) -> TrainTarget:
        return self._found.load()

    @cached_property
    def config(self) -> dict[str, Any]:
        """The drafter's ``config.json``.

        Raises:
            EngineError: ``bad_setting`` for sizes or a mask token that no drafter of the target can have,
                ``no_mask_token``.
        """
        target, mask_id = self._found, self.plan.mask_token_id
        shape = self.plan.shape.fitted(target.config)
        if mask_id is None:
            mask_id = choose_mask_id(target.codec)
        config = drafter_config(shape, target.config, mask_id)
        try:
            DFlashConfig.from_dict(config)
        except EngineError as error:
            raise EngineError(
                "bad_setting",
                error.message,
                "Choose another size or another --mask-token-id; --help lists the drafter's sizes.",
            ) from error
        return config

    def _check(self) -> None:
        """Refuse what would fail later, or could not be mended in a folder that is taken."""
        _ = self.config
        longest = self.plan.training.longest
        if all(len(question.ids) >= longest for question in self._asked[0]):
            raise none_usable(longest)

    @cached_property
    def _sources(self) -> tuple[list[Prompt], list[Prompt]]:
        """All that the plan names: to train on, to measure on."""
        return read_prompts(self.plan.prompts), read_prompts(self.plan.measure)

    @cached_property
    def _prompts(self) -> tuple[list[Prompt], list[Prompt], list[Prompt]]:
        """To train on, for the curves, to measure on at the end."""
        given, to_measure = self._sources
        training, heldout = split_prompts(given, self.plan.heldout, self.plan.answers.seed)
        if not self.plan.measure:
            return training, heldout, heldout
        measured: dict[str, list[Prompt]] = defaultdict(list)
        for prompt in to_measure:
            measured[prompt.source].append(prompt)
        keys = {prompt.key for group in measured.values() for prompt in group}
        training = [prompt for prompt in training if prompt.key not in keys]
        chosen = [_spread(group, self.plan.per_source) for group in measured.values()]
        return training, heldout, [prompt for group in chosen for prompt in group]

    @cached_property
    def _asked(self) -> tuple[list[Question], list[Question], list[Question]]:
        """The same three as the target reads them."""
        training, heldout, measured = (self._questions(prompts) for prompts in self._prompts)
        return training, heldout, measured

    @cached_property
    def _answers(self) -> tuple[Answers, Answers, Answers]:
        """Of the three kinds of prompts; only those to train on are sampled."""
        training, heldout, measured = self._asked
        longest = max(len(question.ids) for question in (*training, *heldout, *measured))
        limit = self.plan.answers.limit
        rows = self.plan.rows or self._known_rows(longest + limit)
        settings = dataclasses.replace(self.plan.answers, rows=rows)
        greedy = dataclasses.replace(settings, samples=0, seconds=float("inf"))
        folder = self.work / "answers"
        return (
            Answers(folder, "training", training, settings),
            Answers(folder, "heldout", heldout, greedy),
            Answers(folder, "measured", measured, greedy),
        )

    def _known_rows(self, tokens: int) -> int:
        """As many rows as fit, remembered: a run that goes on must cut its batches as before."""
        path = self.work / "rows.json"
        known = read_facts(path)
        if not known:
            known = {"rows": self.target.rows_at_once(tokens)}
            write_facts(path, known)
        return int(known["rows"])

    def _questions(self, prompts: Sequence[Prompt]) -> list[Question]:
        codec, longest = self._found.codec, self._found.config.max_position_embeddings
        questions = []
        for prompt in prompts:
            for thinking in self.plan.thinking:
                ids = codec.encode_chat(prompt.messages, thinking).ids
                group = f"{prompt.source}, thinking" if thinking else prompt.source
                if len(ids) + self.plan.answers.limit <= longest:
                    questions.append(Question(group, tuple(ids)))
        if not questions:
            raise EngineError(
                "bad_setting",
                "No prompt is short enough for the target's context.",
                "Give a smaller --max-new-tokens, or shorter prompts.",
            )
        return questions

    def _answer(self) -> dict[str, Any]:
        training, heldout, measured = self._answers
        for answers in (heldout, measured, training):  # only the last has a time limit
            answers.write(self.target)
        corpus = training.corpus()
        return {
            "answers": len(corpus),
            "tokens": int(corpus.answer.sum()),
            "mean_tokens": round(float(corpus.answer.sum()) / max(len(corpus), 1), 1),
            "heldout": len(heldout.replies()),
            "measured": len(measured.replies()),
        }

    def _train(self) -> dict[str, Any]:
        training, heldout, _ = self._answers
        run = DrafterTraining(
            self.target.model,
            training.corpus(),
            self.plan.training,
            self.config,
            pad_id=self.target.pad_id,
            state=self._state,
            heldout=heldout.corpus(),
        )
        facts = run.run()
        export_drafter(run.drafter, self.config, self.folder)
        return {**facts, "config": self.config}

    def _report(self) -> dict[str, Any]:
        torch.set_float32_matmul_precision("highest")
        report = {
            "target": self.target.name,
            "versions": versions(self.target.device),
            "plan": _shown(self.plan, self.target.name),
            "answers": self._facts("answers"),
            "drafter": self._facts("drafter"),
            **self._acceptance(),
        }
        if self.plan.timed:
            prompts = _spread(self._prompts[2], self.plan.timed)
            self.__dict__.pop("target")  # the decoder loads its own
            report["speed"] = measure_speed(self.plan, self.folder, prompts)
        write_report(report, self.folder)
        return report

    def _acceptance(self) -> dict[str, Any]:
        target, replies = self.target, self._answers[2].replies()
        drafter = load_drafter(self.folder, device=target.device, dtype=target.place.dtype)
        return {
            "acceptance": measure_acceptance(
                target.model, drafter, replies, self.plan.budgets, self.plan.workers
            ),
            "measured": dict(Counter(reply.group for reply in replies)),
        }

    def _facts(self, name: str) -> dict[str, Any]:
        return read_facts(self.work / f"{name}.json")

    def _claim(self) -> None:
        """Refuse a folder in which other work was begun; what only says how long may change."""
        given, to_measure = self._sources
        wanted = _identity(self.plan, [*given, *to_measure])
        path = self.work / "plan.json"
        known = read_facts(path)
        begun = self._state.is_file() or self._facts("drafter")
        fixed = [name for name in wanted if begun or name not in _OF_THE_DRAFTER]
        different = sorted(name for name in fixed if known.get(name) != wanted[name])
        if known and different:
            raise EngineError(
                "other_run",
                f"{self.plan.out} holds a run with other {', '.join(different)}.",
                "Give the same options to go on with it, or choose another --out.",
            )
        write_facts(path, wanted)


def _identity(plan: TrainPlan, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """What must not change when a run goes on; ``prompts``: to train on, then to measure on."""
    plain = _plain(plan)
    sources = [(prompt.source, prompt.key) for prompt in prompts]
    free = ("steps", "seconds", "checkpoint_seconds", "curve_steps")
    return {
        "target": plan.target,
        "prompts": hashlib.blake2b(json.dumps(sources).encode(), digest_size=8).hexdigest(),
        "answers": {name: value for name, value in plain["answers"].items() if name != "seconds"},
        "training": {name: value for name, value in plain["training"].items() if name not in free},
        "held-out prompts": [plan.heldout, plan.per_source, len(plan.measure)],
        "thinking modes": list(plan.thinking),
        "drafter shape": plain["shape"],
        "mask token": plan.mask_token_id,
        "rows": plan.rows,
    }


def _plain(plan: TrainPlan) -> dict[str, Any]:
    """The plan as JSON has it: paths as text, null for infinite numbers."""
    text = json.dumps(dataclasses.asdict(plan), default=str).replace("Infinity", "null")
    plain: dict[str, Any] = json.loads(text)
    return plain


def _shown(plan: TrainPlan, target: str) -> dict[str, Any]:
    """The plan for the report, which goes with the drafter: names, and not where they lie here."""
    names = {key: [Path(name).name for name in getattr(plan, key)] for key in ("prompts", "measure")}
    plain = _plain(plan) | {"target": target, **names}
    del plain["out"]
    return plain


def _spread(prompts: Sequence[Prompt], count: int) -> list[Prompt]:
    """``count`` of them, evenly from first to last."""
    if len(prompts) <= count:
        return list(prompts)
    return [prompts[i * len(prompts) // count] for i in range(count)]
