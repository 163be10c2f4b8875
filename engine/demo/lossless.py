"""Are the modes the target's own text? ``python -m engine.demo.lossless --prompts 200 --out FILE``.

Answers questions in every mode, thinking off and on, and compares token ids: greedy at several budgets, then
sampled. The reference is transformers' own greedy ``generate``, or ``ar`` with ``--reference ar``. In float32
every text must be the same. In shorter dtypes every first difference from ``ar`` is listed, and is a defect
unless the measured noise of the kernels explains it. One JSON line per text; a killed run goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch

from engine.decode import generate
from engine.demo.conversation import prompt_messages
from engine.demo.tasks import heldout_examples
from engine.divergence import Choice, Divergence, choices, first_difference, first_divergence
from engine.kernel_noise import Noise
from engine.load import load_pair
from engine.pair import Pair
from engine.prompt_file import read_prompt_file
from engine.settings import Message
from engine.static.runner import bucket_of
from engine.train.progress import Progress

BUDGETS = (1, 16, 64, 256)
GREEDY: dict[str, dict[str, Any]] = {
    "ar": {"mode": "ar"},
    "chain": {"mode": "chain"},
    **{f"tree({budget})": {"mode": "tree", "budget": budget} for budget in BUDGETS},
}
SAMPLED: dict[str, dict[str, Any]] = {
    "sampled ar": {"mode": "ar"},
    "sampled chain": {"mode": "chain"},
    "sampled tree(64)": {"mode": "tree", "budget": 64},
}
SAMPLING = {"temperature": 0.8, "top_p": 0.95}
NAIVE: dict[str, dict[str, Any]] = {"naive tree(64)": {"mode": "tree", "budget": 64, "verify": "naive"}}
SEED = 2026
EXACT = ("float32", "float64")
"""Dtypes in which every mode must write the same text."""


@dataclass(frozen=True)
class Question:
    """What to ask. ``thinking_messages``: with thinking on, where turns before the question have thoughts."""

    name: str
    task: str
    messages: list[Message]
    thinking_messages: list[Message]

    def turns(self, thinking: bool) -> list[Message]:
        return self.thinking_messages if thinking else self.messages


@dataclass(frozen=True)
class Comparison:
    """What is compared with what.

    Attributes:
        limit: most tokens of an answer.
        reference: ``transformers`` or ``ar``.
        sampled, naive: whether these ways are compared too.
    """

    limit: int
    reference: str = "transformers"
    sampled: bool = True
    naive: bool = False


def questions(count: int, files: Sequence[Path]) -> list[Question]:
    """The demo's held-out questions, or as many from each file as ``count`` takes."""
    if not files:
        return [
            Question(str(number), example.task, *([*prompt_messages(example, on)] for on in (False, True)))
            for number, example in enumerate(heldout_examples(count, SEED))
        ]
    found = []
    for place, path in enumerate(files):
        share = (count + place) // len(files)
        for number, messages in enumerate(read_prompt_file(path, share) if share else []):
            found.append(Question(f"{path.stem} {number}", path.stem, messages, messages))
    return found


def compare(
    pair: Pair, messages: Sequence[Message], thinking: bool, seed: int, what: Comparison
) -> dict[str, Any]:
    """Token counts, for every way of decoding the place of its first difference from the reference (None:
    identical), tokens and rounds of the greedy ones, and what there is to know about those that are not the
    text of ``ar``."""
    common = {"thinking": thinking, "max_new_tokens": what.limit}
    runs = {name: _run(pair, messages, {**common, **settings}) for name, settings in GREEDY.items()}
    prompt, ar = runs["ar"]
    expected = _ids(ar)
    if what.reference == "transformers":
        expected = _transformers(pair, pair.codec.encode_chat(messages, thinking).ids, what.limit)
    places = {name: first_difference(expected, _ids(text)) for name, (_, text) in runs.items()}
    sampled: list[int] = []
    for name, settings in SAMPLED.items() if what.sampled else ():
        ids = _decode(pair, messages, {**common, **settings, **SAMPLING, "seed": seed})
        sampled = sampled or ids
        places[name] = first_difference(sampled, ids)
    for name, settings in NAIVE.items() if what.naive else ():
        places[name] = first_difference(expected, _decode(pair, messages, {**common, **settings}))
    parted = {name: first_divergence(prompt, ar, text) for name, (_, text) in runs.items()}
    return {
        "tokens": len(expected),
        "sampled_tokens": len(sampled),
        "first_difference": places,
        "rounds": {name: _rounds(text) for name, (_, text) in runs.items()},
        "divergences": {name: asdict(where) for name, where in parted.items() if where is not None},
    }


def _run(pair: Pair, messages: Sequence[Message], settings: dict[str, Any]) -> tuple[int, list[Choice]]:
    pair.session.reset()
    return choices(generate(pair, messages, **settings))


def _decode(pair: Pair, messages: Sequence[Message], settings: dict[str, Any]) -> list[int]:
    return _ids(_run(pair, messages, settings)[1])


def _ids(text: Sequence[Choice]) -> list[int]:
    return [choice.id for choice in text]


def _rounds(text: Sequence[Choice]) -> tuple[int, int]:
    """Tokens that rounds committed, and how many rounds that took."""
    return len(text) - 1, len({choice.round for choice in text[1:]})


@torch.inference_mode()
def _transformers(pair: Pair, prompt: list[int], limit: int) -> list[int]:
    """The greedy ``generate`` of transformers: its own caches, its own forward."""
    text = pair.target.model.generate(
        torch.tensor([prompt], device=pair.target.device),
        do_sample=False,
        max_new_tokens=limit,
        eos_token_id=sorted(pair.codec.stop_ids),
        pad_token_id=0,
    )
    return cast("list[int]", text[0, len(prompt) :].tolist())


def texts(pair: Pair, asked: Sequence[Question]) -> Iterator[tuple[str, Question, bool]]:
    """Every question with thinking off, and on where the template knows it."""
    for question in asked:
        for thinking in (False, True) if pair.codec.supports_thinking else (False,):
            yield f"{question.name} {'on' if thinking else 'off'}", question, thinking


def run(
    pair: Pair, asked: Sequence[Question], what: Comparison, done: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Compare what ``done`` does not have yet: (key, result) each."""
    seeds = {question.name: seed for seed, question in enumerate(asked)}
    for key, question, thinking in texts(pair, asked):
        if key not in done:
            result = compare(pair, question.turns(thinking), thinking, seeds[question.name], what)
            yield key, {"key": key, "task": question.task, **result}


def measure_noise(pair: Pair, asked: Sequence[Question], limit: int, positions: int) -> Noise:
    """The kernels' noise at the numbers of rows that chains and trees have, over so many positions each."""
    noise = Noise()
    places = [bucket_of(budget) if pair.on_device else budget for budget in BUDGETS]
    block = pair.drafter.config.block_size if pair.drafter else 1
    rows = sorted({block, *(count + 1 for count in places)})
    for _, question, thinking in texts(pair, asked):
        if min((len(changes) for changes in noise.changes.values()), default=0) >= positions:
            break
        messages = question.turns(thinking)
        _, ar = _run(pair, messages, {"mode": "ar", "thinking": thinking, "max_new_tokens": limit})
        noise.measure(pair, pair.codec.encode_chat(messages, thinking), ar, rows)
    return noise


def summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many texts were compared, and by way of decoding how many were identical and the mean acceptance
    length."""
    names = results[0]["first_difference"] if results else []
    counts: dict[str, list[tuple[int, int]]] = {}
    for result in results:
        for name, count in result.get("rounds", {}).items():
            counts.setdefault(name, []).append(count)
    return {
        "texts": len(results),
        "tokens": sum(result["tokens"] for result in results),
        "identical": {
            name: sum(result["first_difference"][name] is None for result in results) for name in names
        },
        "acceptance_length": {
            name: sum(tokens for tokens, _ in count) / max(1, sum(rounds for _, rounds in count))
            for name, count in counts.items()
        },
    }


def judged(results: Sequence[dict[str, Any]], noise: float) -> list[dict[str, Any]]:
    """Every first difference from ``ar``, with its verdict."""
    found = []
    for result in results:
        for way, fields in result.get("divergences", {}).items():
            where = Divergence(**fields)
            verdict = {"change": where.change, "verdict": where.verdict(noise)}
            found.append({"text": result["key"], "way": way, **fields, **verdict})
    return found


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m engine.demo.lossless", description=__doc__)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--drafter")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--prompt-file", type=Path, nargs="+", default=[], help="instead of demo questions")
    parser.add_argument(
        "--share",
        type=int,
        nargs=2,
        default=(0, 1),
        metavar=("K", "N"),
        help="of the questions every Nth from K",
    )
    parser.add_argument("--max-new-tokens", type=int, default=400)
    parser.add_argument(
        "--naive", action="store_true", help="also decode with --verify naive, which is wrong"
    )
    parser.add_argument("--greedy", action="store_true", help="no sampled texts")
    parser.add_argument("--reference", choices=["transformers", "ar"], default="transformers")
    parser.add_argument("--noise-positions", type=int, default=4000, help="in dtypes below float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=[*EXACT, "bfloat16", "float16"], default="float32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one per text")
    parser.add_argument("--report", type=Path, help="JSON file for what is found over all")
    options = parser.parse_args(arguments)
    if options.dtype not in EXACT:
        # Another implementation or a sample may differ for reasons that no gap tells.
        options.reference, options.greedy = "ar", True
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _arguments(arguments)
    torch.set_num_threads(options.threads)
    began = time.monotonic()
    pair = load_pair(options.model, options.drafter, device=options.device, dtype=options.dtype)
    first, every = options.share
    asked = questions(options.prompts, options.prompt_file)[first::every]
    what = Comparison(options.max_new_tokens, options.reference, not options.greedy, options.naive)
    results: dict[str, dict[str, Any]] = {}
    if options.out.exists():
        for line in options.out.read_text(encoding="utf-8").splitlines():
            result = json.loads(line)
            results[result["key"]] = result
    progress, total = Progress("lossless"), sum(1 for _ in texts(pair, asked))
    with options.out.open("a", encoding="utf-8") as file:
        for key, result in run(pair, asked, what, results):
            results[key] = result
            file.write(json.dumps(result) + "\n")
            file.flush()
            progress.update(len(results) / total, key)
    noise = Noise()
    if options.dtype not in EXACT:
        noise = measure_noise(pair, asked, options.max_new_tokens, options.noise_positions)
    report = {
        "command": " ".join(sys.argv),
        "model": options.model,
        "device": pair.info.device,
        "dtype": options.dtype,
        "reference": options.reference,
        "asked": [path.stem for path in options.prompt_file] or ["held-out demo questions"],
        **summary(list(results.values())),
        "noise": noise.summary(),
        "largest_noise": noise.largest,
        "divergences": judged(list(results.values()), noise.largest),
        "seconds": round(time.monotonic() - began, 1),
    }
    if options.report:
        options.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return _tell(report)


def _tell(report: dict[str, Any]) -> int:
    """Print what was found; 1 when a text is not what it must be."""
    divergences = report.pop("divergences")
    for one in divergences:
        print(
            f"{one['way']}, text {one['text']}: position {one['position']}, round {one['round']}, "
            f"node {one['node']}: {one['id']} by {one['gap']}, not {one['ar_id']} by {one['ar_gap']}: "
            f"{one['verdict']}"
        )
    print(json.dumps(report, indent=1))
    if report["dtype"] in EXACT:
        wrong = {name for name, same in report["identical"].items() if same < report["texts"]}
        return 1 if wrong - NAIVE.keys() else 0
    return 1 if any(one["verdict"] == "defect" for one in divergences) else 0


if __name__ == "__main__":
    sys.exit(main())
