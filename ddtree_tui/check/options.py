"""The options of ``ddtree-tui check``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from ddtree_tui.option_types import add
from engine.settings import DecodeSettings, LoadSettings, Message

CHECK_DESCRIPTION = """\
Compare an answer with what the target alone writes: a new answer to a prompt, with all that its caches held
on the way, or the text of a recorded run. Exit code 0: they agree, near ties that rounding explains aside."""


@dataclass(frozen=True)
class CheckOptions:
    """What ``ddtree-tui check`` is to do.

    Attributes:
        load: which pair to load, and where.
        chosen: whether the pair was named; else a recorded run's own is loaded again.
        decode: how to decode a new answer.
        messages: the conversation to answer; None with ``run``.
        run: a recorded run.
        sequential: decode the text one token at a time with the target alone.
        json: one JSON object instead of sentences.
        debug, log_path: as in ``AppOptions``.
    """

    load: LoadSettings
    decode: DecodeSettings
    log_path: Path
    chosen: bool = False
    messages: list[Message] | None = None
    run: Path | None = None
    sequential: bool = False
    json: bool = False
    debug: bool = False


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """Add what only ``check`` has."""
    add(parser, "file", nargs="?", metavar="FILE", help="a recorded run to check")
    add(parser, "--prompt", metavar="TEXT", help="check an answer to this")
    add(
        parser,
        "--messages",
        type=Path,
        metavar="FILE",
        help="an answer to a conversation: a JSON list of objects with role and content",
    )
    what = parser.add_argument_group("how it is checked")
    add(what, "--sequential", action="store_true", help="have the target alone decode one token at a time")
    add(what, "--json", action="store_true", help="write one JSON object instead of sentences")
