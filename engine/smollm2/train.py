"""Makes the drafter that comes with this package: ``python -m engine.smollm2.train``.

The recipe of ``engine.train`` with the numbers below. The result is ``OUT/run/drafter``; what lies in
``engine/smollm2/drafter`` is a copy of it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path

import engine.cpu  # noqa: F401 - before what imports transformers' models
from engine.errors import EngineError
from engine.smollm2.card import write_card
from engine.smollm2.convert import converted_target
from engine.smollm2.prompts import MEASURED, write_prompts
from engine.train.answers import AnswerSettings
from engine.train.plan import ShapeWish, TrainPlan
from engine.train.run import TrainRun
from engine.train.settings import TrainSettings

SHAPE = ShapeWish(layers=3, intermediate_size=672, taps=(1, 10, 19, 28))
"""Under 14.5 MiB in bfloat16."""


def plan(options: argparse.Namespace, target: Path, prompts: Path) -> TrainPlan:
    """What the shipped drafter was trained by, unless the options say otherwise."""
    return TrainPlan(
        target=str(target),
        prompts=(str(prompts / "training.jsonl"),),
        measure=tuple(str(prompts / f"{name}.jsonl") for name in MEASURED),
        out=options.out / "run",
        heldout=128,
        per_source=options.per_source,
        device=options.device,
        shape=SHAPE,
        answers=AnswerSettings(limit=options.max_new_tokens, seconds=60 * options.answer_minutes),
        rows=options.rows,
        training=TrainSettings(
            seconds=60 * options.minutes, steps=options.steps, slot_decay=5.0, max_length=1024
        ),
        budgets=(16, 64),
        timed=options.timed,
        workers=options.workers,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: the drafter is made; 2: something the message says how to mend; 130: interrupted."""
    options = _parser().parse_args(arguments)

    def report(stage: str) -> None:
        print(f"target   {stage}", flush=True)

    try:
        target = converted_target(options.gguf, options.out, report)
        write_prompts(options.published, options.out / "prompts", options.demo)
        run = TrainRun(plan(options, target, options.out / "prompts"))
        found = run.run()
        write_card(found, run.folder)
    except EngineError as error:
        print(f"error: {error} {error.hint} {error.detail}".strip(), file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the last checkpoint", file=sys.stderr, flush=True)
        return 130
    for mode, lengths in found["acceptance"].items():
        print(f"{mode:<10}" + "  ".join(f"{group} {length:.2f}" for group, length in lengths.items()))
    for mode, speed in found.get("speed", {}).items():
        print(f"{mode:<10}{speed['tokens_per_second']:,} tokens/s, {speed['acceptance']} tokens a round")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine.smollm2.train", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--gguf", type=Path, required=True, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument(
        "--published",
        type=Path,
        required=True,
        help="folder with gsm8k_train.jsonl, gsm8k_test.jsonl, humaneval.jsonl, mbpp_sanitized.json",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to fill; a run there is resumed")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--demo", type=int, default=1500, help="questions of the demo's tasks to train on")
    parser.add_argument("--max-new-tokens", type=int, default=320)
    parser.add_argument("--answer-minutes", type=float, default=2.0)
    parser.add_argument("--rows", type=int, help="answers at once; what fits unless given")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--steps", type=float, default=inf)
    parser.add_argument("--per-source", type=int, default=150, help="answers measured per set of prompts")
    parser.add_argument("--timed", type=int, default=24)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
