"""Options that several commands have."""

from __future__ import annotations

import argparse
from pathlib import Path

from ddtree_tui.budget import AUTO_HELP, BudgetAction
from ddtree_tui.config import THEME_NAMES
from ddtree_tui.option_types import add, choice, choices, device, number, whole
from engine.settings import (
    DEVICE_MAPS,
    DTYPES,
    MAX_BUDGET,
    MODES,
    ORACLES,
    QUANTIZATIONS,
    VERIFY_BACKENDS,
    DecodeSettings,
    LoadSettings,
)


def add_messages(group: argparse._ActionsContainer) -> None:
    """Where prompt and system message come from, beside the command line."""
    add(group, "--prompt-file", type=Path, metavar="FILE", help="read the prompt from a file (UTF-8)")
    add(group, "--system", metavar="TEXT", help="system message in front of the conversation")
    add(group, "--system-file", type=Path, metavar="FILE", help="read it from a file (UTF-8)")


def add_shared(parser: argparse.ArgumentParser) -> None:
    """What the app and ``generate`` have in common."""
    decode = DecodeSettings()
    add_models(parser)
    add_decoding(parser)
    recording = parser.add_argument_group("recording and diagnosis")
    add_trace(recording)
    add(recording, "--detail", action="store_true", help="record both models' best candidates too")
    add(
        recording,
        "--oracle",
        type=choice("oracle", ORACLES),
        metavar="NAME",
        help=choices(ORACLES, decode.oracle) + ": compare the text with the target alone",
    )
    add_faults(recording)
    add_diagnosis(recording)


def add_trace(group: argparse._ActionsContainer) -> None:
    """Where to record."""
    add(group, "--trace", type=Path, metavar="FILE", help="record all events into a new file")


def add_decoding(parser: argparse.ArgumentParser) -> None:
    """How one answer is decoded and sampled."""
    decoding = parser.add_argument_group("decoding")
    add_mode(decoding)
    add_budget(decoding)
    add_verification(decoding)
    add_thinking(decoding)
    sampling = parser.add_argument_group("sampling")
    add_temperature(sampling)
    add_sampling(sampling)


def add_mode(group: argparse._ActionsContainer) -> None:
    """Whether and how to draft."""
    add(
        group,
        "--mode",
        type=choice("mode", MODES),
        metavar="NAME",
        help=choices(MODES, DecodeSettings().mode),
    )


def add_prompt(parser: argparse.ArgumentParser) -> None:
    """The prompt, as an argument or otherwise."""
    add(
        parser,
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="the user's message; - reads it from standard input",
    )
    add_messages(parser)


def add_budget(group: argparse._ActionsContainer) -> None:
    """Most nodes of a tree."""
    add(
        group,
        "--budget",
        action=BudgetAction,
        metavar="N",
        help=f"draft nodes a round in mode tree, 1 to {MAX_BUDGET} (default {DecodeSettings().budget}); "
        + AUTO_HELP,
    )


def add_thinking(group: argparse._ActionsContainer) -> None:
    """Whether the model thinks first."""
    add(
        group,
        "--thinking",
        action=argparse.BooleanOptionalAction,
        help="have the model think before it answers (default off)",
    )


def add_temperature(group: argparse._ActionsContainer) -> None:
    """Greedy or sampled."""
    add(group, "--temperature", type=number("temperature"), metavar="T", help="0 is greedy (default 0)")


def add_faults(group: argparse._ActionsContainer) -> None:
    """What to plant."""
    add(group, "--inject", action="append", metavar="NAME", help="plant a fault, to see that it is found")


def add_looks(parser: argparse.ArgumentParser) -> None:
    """What the app looks like."""
    looks = parser.add_argument_group("looks")
    add(
        looks,
        "--theme",
        type=choice("theme", THEME_NAMES),
        metavar="NAME",
        help=choices(THEME_NAMES, THEME_NAMES[0]) + "; NO_COLOR in the environment: no colours",
    )
    add(looks, "--ascii", action="store_true", help="draw with ASCII alone")
    add(looks, "--plain-log", action="store_true", help="no screen but a growing text, for screen readers")


def add_models(parser: argparse.ArgumentParser, *, divided: bool = True) -> None:
    """Which pair, and where. ``divided``: the target may be in several processes; where not, ``--tp`` is read
    for a refusal of its own, and the help does not offer it."""
    load = LoadSettings()
    models = parser.add_argument_group("models")
    add(models, "--model", metavar="NAME", help=f"target: preset, hub id or folder (default {load.model})")
    add(models, "--drafter", metavar="NAME", help="drafter: the same (default: the preset's own)")
    add(models, "--device", type=device, metavar="NAME", help="auto, cpu, cuda or cuda:N (default auto)")
    add(models, "--dtype", type=choice("dtype", DTYPES), metavar="NAME", help=choices(DTYPES, load.dtype))
    add(
        models,
        "--context",
        type=whole("context", "of at least 1"),
        metavar="N",
        help="most tokens of prompt and answer together (default: the target's own, or what fits)",
    )
    add(
        models,
        "--device-map",
        type=choice("device map", DEVICE_MAPS),
        metavar="NAME",
        help="auto: the target's layers on all GPUs, and in main memory where these are too small",
    )
    add(
        models,
        "--tp",
        type=whole("number of processes", "of at least 1"),
        metavar="N",
        help="divide every layer of the target among N GPUs, one process each (default 1)"
        if divided
        else argparse.SUPPRESS,
    )
    add(
        models,
        "--quantize",
        type=choice("quantisation", QUANTIZATIONS),
        metavar="NAME",
        help="make the target's weights smaller as they are loaded: " + ", ".join(QUANTIZATIONS),
    )
    add(
        models,
        "--threads",
        type=whole("number of threads", "of at least 1"),
        metavar="N",
        help="to compute with on a CPU (default: 1 for small pairs, else one for each core)",
    )


def add_verification(group: argparse._ActionsContainer) -> None:
    """How drafts are verified."""
    decode = DecodeSettings()
    add(
        group,
        "--verify",
        type=choice("verify", VERIFY_BACKENDS),
        metavar="NAME",
        help=choices(VERIFY_BACKENDS, decode.verify) + "; naive is wrong on hybrid targets, to see it fail",
    )
    add(
        group,
        "--block-size",
        type=whole("block size", "of at least 2"),
        metavar="N",
        help="drafter block, at most what it was trained with (default that)",
    )


def add_sampling(group: argparse._ActionsContainer) -> None:
    """How tokens are drawn, and where the answer ends."""
    decode = DecodeSettings()
    add(group, "--top-p", type=number("top-p"), metavar="P", help="smallest set of that probability")
    add(
        group,
        "--top-k",
        type=whole("top-k", "from 0"),
        metavar="K",
        help="only the K likeliest; 0 is off",
    )
    add(group, "--min-p", type=number("min-p"), metavar="P", help="only what has P of the likeliest's")
    add(
        group,
        "--seed",
        type=whole("seed", "from 0 to 2^63 - 1"),
        metavar="N",
        help="of the sampling (default 0)",
    )
    add(
        group,
        "--max-new-tokens",
        type=whole("max-new-tokens", "of at least 1"),
        metavar="N",
        help=f"end the answer there (default {decode.max_new_tokens})",
    )
    add(
        group,
        "--stop",
        action="append",
        metavar="TEXT",
        help="end the answer before TEXT; may be repeated",
    )


def add_diagnosis(group: argparse._ActionsContainer) -> None:
    """Logs."""
    add(group, "--log", type=Path, metavar="FILE", help="log file (default: a new one in the log folder)")
    add(group, "--debug", action="store_true", help="show tracebacks and log more")
