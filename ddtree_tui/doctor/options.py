"""The options of ``ddtree-tui doctor``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ddtree_tui.option_types import add, choice
from engine.settings import DecodeSettings, LoadSettings, Message

Until = Literal["environment", "pair", "answers"]
UNTIL: tuple[Until, ...] = ("environment", "pair", "answers")
ENDINGS = (".html", ".md", ".json")
DEFAULT_TOKENS = 96
"""Of an answer to the doctor's own prompts: enough to go wrong in, and short."""

DOCTOR_DESCRIPTION = """\
Look at the machine, at the pair, and at answers of it: those to a prompt, to a few of the doctor's own, or
those of a recorded run. Names what garbles the text or makes drafting worthless, from which round on, and
what to do. Exit code 0 is healthy."""


@dataclass(frozen=True)
class DoctorOptions:
    """What ``ddtree-tui doctor`` is to do.

    Attributes:
        load: which pair to load, and where.
        chosen: whether the pair was named; else that of the trace is taken.
        decode: the way to decode that is diagnosed.
        messages: the conversation to answer; None takes the doctor's own prompts, or the trace's.
        trace: a recorded run to diagnose.
        until: how far to go.
        report: a new file to write the report into, by its ending HTML, Markdown or JSON.
        with_text: prompts, answers and tokens are in the report.
        json: write the report to standard output as JSON, and nothing else.
        list_faults: list the faults that can be planted, and nothing else.
    """

    load: LoadSettings
    decode: DecodeSettings
    log_path: Path
    chosen: bool = False
    messages: list[Message] | None = None
    trace: Path | None = None
    until: Until = "answers"
    report: Path | None = None
    with_text: bool = False
    json: bool = False
    list_faults: bool = False
    debug: bool = False


def add_doctor_options(parser: argparse.ArgumentParser) -> None:
    """Add what only ``doctor`` has."""
    add(parser, "file", nargs="?", metavar="FILE", help="a recorded run to diagnose")
    add(parser, "--prompt", metavar="TEXT", help="diagnose the answer to this")
    what = parser.add_argument_group("what is looked at")
    add(
        what,
        "--until",
        type=choice("part", UNTIL),
        metavar="PART",
        help="stop after environment, pair or answers (default answers)",
    )
    add(
        what,
        "--list-faults",
        action="store_true",
        help="list the causes the doctor knows, and which of them --inject can plant",
    )
    report = parser.add_argument_group("report")
    add(
        report,
        "--report",
        type=Path,
        metavar="FILE",
        help="write all that was found into a new file: " + ", ".join(ENDINGS),
    )
    add(
        report,
        "--with-text",
        action="store_true",
        help="put prompts, answers and tokens into the report too; without it none is in there",
    )
    add(report, "--json", action="store_true", help="write the report to standard output as JSON")
