"""The options of ``ddtree-tui bench``, beside those that it shares with the other commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ddtree_tui.bench.configuration import all_conditions, all_configurations, decode_settings
from ddtree_tui.bench.options import BenchOptions
from ddtree_tui.budget import AUTO
from ddtree_tui.option_types import add, choice, number, whole
from engine.errors import EngineError
from engine.settings import MAX_BUDGET, MODES, DecodeSettings, LoadSettings

BENCH_DESCRIPTION = """\
Answer prompts in several modes and budgets, one after the other on one device, and report acceptance
length, speed, stage times, memory, and whether every text is the one that mode ar writes."""

DEFAULT_BUDGETS = (16, 64, 256)
DEFAULT_LIMIT = 20
_T = TypeVar("_T")
_N = TypeVar("_N", int, float)

THINKING = {"off": (False,), "on": (True,), "both": (False, True)}


def add_bench_options(parser: argparse.ArgumentParser) -> None:
    """Add what only ``bench`` has."""
    add(
        parser,
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="prompts: JSON lines or a JSON list whose entries have messages, prompt, question, problem or "
        "text (GSM8K, HumanEval, MBPP, MATH-500 as published), or a text file that is one prompt; default: "
        "held-out questions of the demo's tasks",
    )
    measured = parser.add_argument_group("what is measured")
    add(measured, "--modes", type=_several(choice("mode", MODES)), metavar="A,B", help="default all")
    add(
        measured,
        "--budgets",
        type=_several(_budget),
        metavar="N,N",
        help=f"of mode tree, at most {MAX_BUDGET}, or auto: chosen round by round for speed "
        f"(default {','.join(map(str, DEFAULT_BUDGETS))})",
    )
    add(
        measured,
        "--thinking",
        type=choice("thinking", tuple(THINKING)),
        metavar="NAME",
        help="off, on or both (default off)",
    )
    add(
        measured,
        "--temperatures",
        type=_several(number("temperature")),
        metavar="T,T",
        help="0 is greedy (default 0)",
    )
    add(
        measured,
        "--limit",
        type=whole("limit", "from 0"),
        metavar="N",
        help=f"only the first N prompts of each file; 0 takes all (default {DEFAULT_LIMIT})",
    )
    add(
        measured,
        "--wrap",
        metavar="TEXT",
        help="the message to send, with {prompt} where the prompt goes; not for prompts that are messages",
    )
    add(measured, "--floor", action="store_true", help="measure the bandwidth; report round time / floor")
    judged = parser.add_argument_group("what it is compared with")
    add(
        judged,
        "--baseline",
        type=Path,
        metavar="FILE",
        help="results of an earlier --out, or numbers from elsewhere; exit code 6 when one moved",
    )
    add(
        judged,
        "--tie-gap",
        type=number("tie gap"),
        metavar="G",
        help="change of a token's logit against the others up to which another one is a numerical tie "
        "(default what rounding changes as measured; on a CPU 0 in float32 and float64)",
    )
    output = parser.add_argument_group("output")
    add(
        output,
        "--out",
        type=Path,
        metavar="FILE",
        help="all results as JSON; with it a run that was ended goes on where it was",
    )
    add(output, "--markdown", type=Path, metavar="FILE", help="the tables (default: to standard output)")
    add(output, "--plots", type=Path, metavar="FOLDER", help="acceptance, speed and stage times as SVG")
    add(output, "--quiet", action="store_true", help="no progress on standard error")


def bench_options(
    given: dict[str, Any], load: LoadSettings, common: dict[str, Any], command: Sequence[str]
) -> BenchOptions:
    """Turn what was given on the command line into options.

    Raises:
        EngineError: ``bad_setting``, ``usage``.
    """
    varied = {"mode", "budget", "auto_budget", "thinking", "temperature", "detail"}
    names = set(DecodeSettings.__struct_fields__) - varied
    decode = DecodeSettings(**{name: given[name] for name in names if name in given})
    # The general options, in front of the command, name one value each.
    modes = given.get("modes", [given["mode"]] if "mode" in given else MODES)
    general = [0 if given["auto_budget"] else given["budget"]] if "budget" in given else DEFAULT_BUDGETS
    budgets = given.get("budgets", general)
    temperatures = given.get("temperatures", [given.get("temperature", 0.0)])
    thinking = given.get("thinking", False)
    ways = all_configurations(modes, budgets)
    conditions = all_conditions(THINKING.get(thinking, (thinking,)), temperatures)
    for way in ways:
        for condition in conditions:
            decode_settings(decode, way, condition, decode.seed).check()
    return BenchOptions(
        load=load,
        decode=decode,
        ways=tuple(ways),
        conditions=tuple(conditions),
        files=tuple(given.get("files", ())),
        wrap=_checked_wrap(given.get("wrap")),
        limit=_at_least_zero("limit", given.get("limit", DEFAULT_LIMIT)),
        tie_gap=_at_least_zero("tie gap", given["tie_gap"]) if "tie_gap" in given else None,
        baseline=given.get("baseline"),
        floor=given.get("floor", False),
        out=given.get("out"),
        markdown=given.get("markdown"),
        plots=given.get("plots"),
        quiet=given.get("quiet", False),
        command=tuple(command),
        debug=common["debug"],
        log_path=common["log_path"],
    )


def _budget(value: str) -> int:
    """0 stands for ``auto``."""
    if value == AUTO:
        return 0
    budget = whole("budget", f"from 1 to {MAX_BUDGET}, or {AUTO}")(value)
    DecodeSettings(budget=budget).check()
    return budget


def _several(read: Callable[[str], _T]) -> Callable[[str], list[_T]]:
    return lambda value: [read(part.strip()) for part in value.split(",")]


def _at_least_zero(name: str, value: _N) -> _N:
    if not 0 <= value < float("inf"):
        raise EngineError("bad_setting", f"The {name} cannot be {value}.", "Choose 0 or more.")
    return value


def _checked_wrap(wrap: str | None) -> str | None:
    if wrap is not None and "{prompt}" not in wrap:
        raise EngineError("usage", "The text of --wrap has no place for the prompt.", "Put {prompt} in it.")
    return wrap
