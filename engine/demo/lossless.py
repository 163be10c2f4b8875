"""Are the modes the target's own text? ``python -m engine.demo.lossless --prompts 200 --out FILE``.

Answers held-out questions with the demo pair in float32, thinking off and on: greedy by transformers' own
``generate``, by ``ar``, ``chain`` and ``tree`` at several budgets, then sampled by all three, and compares
token ids. One JSON line per question and thinking mode; a killed run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from engine.decode import generate
from engine.demo.conversation import prompt_messages
from engine.demo.progress import Progress
from engine.demo.tasks import heldout_examples
from engine.events import Finished
from engine.load import load_pair
from engine.pair import Pair
from engine.settings import Message

GREEDY: dict[str, dict[str, Any]] = {
    "ar": {"mode": "ar"},
    "chain": {"mode": "chain"},
    **{f"tree({budget})": {"mode": "tree", "budget": budget} for budget in (1, 16, 64, 256)},
}
SAMPLED: dict[str, dict[str, Any]] = {
    "sampled ar": {"mode": "ar"},
    "sampled chain": {"mode": "chain"},
    "sampled tree(64)": {"mode": "tree", "budget": 64},
}
SAMPLING = {"temperature": 0.8, "top_p": 0.95}
NAIVE: dict[str, dict[str, Any]] = {"naive tree(64)": {"mode": "tree", "budget": 64, "verify": "naive"}}
SEED = 2026


def compare(
    pair: Pair, messages: Sequence[Message], thinking: bool, seed: int, limit: int, naive: bool
) -> dict[str, Any]:
    """Token counts, and for every way of decoding the place of its first difference (None: identical)."""
    prompt = pair.codec.encode_chat(messages, thinking).ids
    common = {"thinking": thinking, "max_new_tokens": limit}
    expected = _transformers(pair, prompt, limit)
    places = {}
    for name, settings in GREEDY.items():
        places[name] = first_difference(expected, _decode(pair, messages, {**common, **settings}))
    sampled: list[int] = []
    for name, settings in SAMPLED.items():
        ids = _decode(pair, messages, {**common, **settings, **SAMPLING, "seed": seed})
        sampled = sampled or ids
        places[name] = first_difference(sampled, ids)
    if naive:
        for name, settings in NAIVE.items():
            places[name] = first_difference(expected, _decode(pair, messages, {**common, **settings}))
    return {"tokens": len(expected), "sampled_tokens": len(sampled), "first_difference": places}


def first_difference(expected: Sequence[int], ids: Sequence[int]) -> int | None:
    """Index of the first token at which two texts part, None where they are the same."""
    if list(expected) == list(ids):
        return None
    shared = zip(expected, ids, strict=False)
    return next((place for place, (a, b) in enumerate(shared) if a != b), min(len(expected), len(ids)))


def _decode(pair: Pair, messages: Sequence[Message], settings: dict[str, Any]) -> list[int]:
    pair.session.reset()
    *_, finished = generate(pair, messages, **settings)
    return cast(Finished, finished).output_ids


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


def run(
    pair: Pair, prompts: int, limit: int, naive: bool, done: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Compare what ``done`` does not have yet: (key, result) each."""
    for number, example in enumerate(heldout_examples(prompts, SEED)):
        for thinking in (False, True):
            key = f"{number} {'on' if thinking else 'off'}"
            if key not in done:
                messages = cast("list[Message]", prompt_messages(example, thinking))
                result = compare(pair, messages, thinking, number, limit, naive)
                yield key, {"key": key, "task": example.task, **result}


def summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many texts were compared, and how many were identical by way of decoding."""
    names = results[0]["first_difference"] if results else []
    return {
        "texts": len(results),
        "tokens": sum(result["tokens"] for result in results),
        "identical": {
            name: sum(result["first_difference"][name] is None for result in results) for name in names
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.demo.lossless", description=__doc__)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--drafter")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--max-new-tokens", type=int, default=400)
    parser.add_argument(
        "--naive", action="store_true", help="also decode with --verify naive, which is wrong"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    pair = load_pair(options.model, options.drafter, device=options.device, dtype="float32")
    results: dict[str, dict[str, Any]] = {}
    if options.out.exists():
        for line in options.out.read_text(encoding="utf-8").splitlines():
            result = json.loads(line)
            results[result["key"]] = result
    progress = Progress("lossless")
    with options.out.open("a", encoding="utf-8") as file:
        for key, result in run(pair, options.prompts, options.max_new_tokens, options.naive, results):
            results[key] = result
            file.write(json.dumps(result) + "\n")
            file.flush()
            progress.update(len(results) / (2 * options.prompts), key)
    report = summary(list(results.values()))
    print(json.dumps(report, indent=1))
    wrong = {name for name, same in report["identical"].items() if same < report["texts"]}
    return 1 if wrong - NAIVE.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
