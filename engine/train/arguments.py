"""The command line of ``python -m engine.train``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from math import inf
from pathlib import Path

from engine.settings import MAX_BUDGET
from engine.train.answers import AnswerSettings
from engine.train.plan import ShapeWish, TrainPlan
from engine.train.settings import TrainSettings

_THINKING = {"off": (False,), "on": (True,), "both": (False, True)}


def read_plan(arguments: Sequence[str] | None) -> TrainPlan:
    """What the arguments ask for; ends the process with a usage message where they make no sense.

    Raises:
        EngineError: ``bad_setting``.
    """
    options = build_parser().parse_args(arguments)
    return TrainPlan(
        target=options.target,
        prompts=tuple(options.prompts),
        out=options.out,
        measure=tuple(options.measure),
        heldout=options.heldout,
        per_source=options.per_source,
        thinking=_THINKING[options.thinking],
        device=options.device,
        dtype=options.dtype,
        mask_token_id=options.mask_token_id,
        shape=ShapeWish(
            layers=options.layers,
            intermediate_size=options.intermediate,
            heads=options.heads,
            key_value_heads=options.key_value_heads,
            head_dim=options.head_dim,
            block_size=options.block_size,
            taps=options.taps or options.tap_count,
        ),
        answers=AnswerSettings(
            limit=options.max_new_tokens,
            samples=options.samples,
            temperature=options.temperature,
            seed=options.seed,
            seconds=60 * options.answer_minutes,
        ),
        rows=options.rows,
        training=TrainSettings(
            seed=options.seed,
            steps=options.steps,
            seconds=60 * options.minutes,
            batch_tokens=options.batch_tokens,
            max_length=options.max_length,
            rate=options.rate,
            warmup_steps=options.warmup,
            blocks_per_row=options.blocks,
            curve_steps=options.curve_steps,
            checkpoint_seconds=options.checkpoint_seconds,
        ),
        budgets=options.budgets,
        timed=options.timed,
        workers=options.workers,
    )


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine.train",
        description="Train a DFlash drafter for a target: the target answers prompts, and the drafter learns "
        "to foresee these answers. The same command goes on with a run that was ended.",
    )
    _add_what(parser.add_argument_group("what to train"))
    _add_answers(parser.add_argument_group("the target's answers"))
    _add_shape(parser.add_argument_group("the drafter; sizes are the target's own unless given"))
    _add_training(parser.add_argument_group("training; --minutes, --steps or both"))
    _add_measuring(parser.add_argument_group("measuring"))
    return parser


def _add_what(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--target", required=True, help="preset, folder or hub id")
    group.add_argument(
        "--prompts",
        required=True,
        nargs="+",
        metavar="FILE[:FIELD]",
        help="JSON lines or a JSON list with prompt, question, problem, text, messages or FIELD in each "
        "entry, or .txt with a prompt a line; demo:COUNT draws questions of the demo's tasks",
    )
    group.add_argument("--out", type=Path, required=True, help="folder to fill; a run there is resumed")
    group.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    group.add_argument("--dtype", default="auto", help="of the target")
    group.add_argument("--seed", type=_whole, default=17)


def _add_answers(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--thinking", choices=_THINKING, default="off")
    group.add_argument("--max-new-tokens", type=_positive, default=512, metavar="N")
    group.add_argument(
        "--samples", type=_whole, default=1, metavar="N", help="sampled answers beside the greedy one"
    )
    group.add_argument("--temperature", type=_more_than_zero, default=0.8, help="of the sampled answers")
    group.add_argument("--rows", type=_positive, metavar="N", help="answers at once; what fits unless given")
    group.add_argument("--answer-minutes", type=_more_than_zero, default=inf, metavar="M", help="at most")


def _add_shape(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--layers", type=_positive, default=5, metavar="N")
    group.add_argument("--intermediate", type=_positive, metavar="N", help="width of the MLP")
    group.add_argument("--heads", type=_positive, metavar="N")
    group.add_argument("--key-value-heads", type=_positive, metavar="N")
    group.add_argument("--head-dim", type=_positive, metavar="N")
    group.add_argument(
        "--block-size", type=_positive, default=16, metavar="N", help="the root and the drafts"
    )
    group.add_argument("--taps", type=_numbers, metavar="N,N,...", help="target layers to read")
    group.add_argument(
        "--tap-count", type=_positive, default=5, metavar="N", help="or so many, spread over the target"
    )
    group.add_argument("--mask-token-id", type=_whole, metavar="ID", help="a spare token unless given")


def _add_training(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--minutes", type=_more_than_zero, default=inf, metavar="M")
    group.add_argument("--steps", type=_positive, default=inf, metavar="N")
    group.add_argument("--batch-tokens", type=_positive, default=16_384, metavar="N", help="per step")
    group.add_argument(
        "--max-length",
        type=_positive,
        metavar="N",
        help="leave out answers that are longer with their prompts; what a step has room for unless given",
    )
    group.add_argument("--blocks", type=_positive, default=24, metavar="N", help="per answer and step")
    group.add_argument("--rate", type=_more_than_zero, default=1.5e-3, help="peak learning rate")
    group.add_argument("--warmup", type=_whole, default=100, metavar="STEPS")
    group.add_argument("--curve-steps", type=_positive, default=100, metavar="N", help="between two points")
    group.add_argument("--checkpoint-seconds", type=_more_than_zero, default=60.0, metavar="S")


def _add_measuring(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--heldout", type=_positive, default=64, metavar="N", help="prompts kept out of the training"
    )
    group.add_argument(
        "--measure",
        nargs="+",
        default=(),
        metavar="FILE[:FIELD]",
        help="measure on these prompts at the end, not on the held-out ones; they are never trained on",
    )
    group.add_argument(
        "--per-source", type=_positive, default=100, metavar="N", help="of each of these files"
    )
    group.add_argument(
        "--budgets",
        type=_budgets,
        default=(16, 64),
        metavar="N,N,...",
        help=f"of the trees that are measured, 1 to {MAX_BUDGET}",
    )
    group.add_argument(
        "--timed", type=_whole, default=8, metavar="N", help="answers whose speed is measured; 0 for none"
    )
    group.add_argument(
        "--workers", type=_positive, default=os.cpu_count() or 1, help="processes that walk trees"
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def _whole(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def _more_than_zero(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _budgets(text: str) -> tuple[int, ...]:
    budgets = _numbers(text)
    for budget in budgets:
        if not 1 <= budget <= MAX_BUDGET:
            raise argparse.ArgumentTypeError(f"{budget} is not from 1 to {MAX_BUDGET}")
    return budgets


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_whole(part) for part in text.split(","))
