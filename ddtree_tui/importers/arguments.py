"""The options of ``ddtree-tui import``."""

from __future__ import annotations

import argparse
from pathlib import Path

from ddtree_tui.importers.sources import SOURCES
from ddtree_tui.option_types import add, choice, choices

IMPORT_DESCRIPTION = (
    "Make a trace of what the DDTree reference implementation, vLLM, SGLang or a program of yours recorded: "
    "replay, stats and export open it. Nothing in the file is ever run, pickles included. What the file does "
    "not say is shown as unknown."
)


def add_import_options(parser: argparse.ArgumentParser) -> None:
    """What to read and where to write."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a pickle, a file of torch.save, or JSON")
    add(
        parser,
        "--from",
        dest="source",
        type=choice("source", SOURCES),
        metavar="NAME",
        help=f"what wrote it: {choices(SOURCES, SOURCES[0])}",
    )
    add(
        parser,
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="a new file; - is standard output (default: the file's name with .jsonl, in this folder)",
    )
    add(parser, "--debug", action="store_true", help="show tracebacks")
