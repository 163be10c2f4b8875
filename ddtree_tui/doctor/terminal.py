"""What the terminal can do, a line each."""

from __future__ import annotations

import locale
import os
import shutil
import sys
from collections.abc import Iterator, Mapping

from engine.diagnosis.lines import Line, Status

FEWEST = (60, 16)
"""Columns and rows below which parts of the screen are left out."""


def terminal_lines(
    environment: Mapping[str, str] | None = None,
    *,
    size: tuple[int, int] | None = None,
    encoding: str | None = None,
    is_terminal: bool | None = None,
) -> Iterator[Line]:
    """All of them. What is not given is looked up."""
    environment = os.environ if environment is None else environment
    columns, rows = size or shutil.get_terminal_size()
    encoding = encoding or getattr(sys.stdout, "encoding", None) or locale.getpreferredencoding(False)
    if is_terminal is None:
        is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    name = environment.get("TERM", "")
    if not is_terminal:
        yield _line("terminal", "ok", "none: standard input or output is a file or a pipe")
    elif name in ("", "dumb"):
        yield _line(
            "terminal",
            "warn",
            f"TERM is {name or 'not set'}",
            "The app cannot draw there.",
            "Use --plain-log, or set TERM.",
        )
    else:
        over = " over SSH" if "SSH_CONNECTION" in environment else ""
        inside = " in tmux" if "TMUX" in environment else " in screen" if "STY" in environment else ""
        small = columns < FEWEST[0] or rows < FEWEST[1]
        yield _line(
            "terminal",
            "warn" if small else "ok",
            f"{name}{inside}{over}, {columns} x {rows}",
            "Parts of the screen are left out." if small else "",
            f"Make it at least {FEWEST[0]} x {FEWEST[1]}; trees have more room from 100 on." if small else "",
        )
    yield _colours(environment)
    if encoding.lower().replace("-", "") in ("utf8", "cp65001"):
        yield _line("characters", "ok", encoding)
    else:
        yield _line(
            "characters",
            "warn",
            encoding,
            "Glyphs and model text need UTF-8.",
            "Set LANG to a UTF-8 locale, or use --ascii.",
        )


def _colours(environment: Mapping[str, str]) -> Line:
    if environment.get("NO_COLOR"):
        return _line("colours", "ok", "none: NO_COLOR is set")
    depth = environment.get("COLORTERM", "")
    if depth in ("truecolor", "24bit"):
        return _line("colours", "ok", "16 million")
    if "256color" in environment.get("TERM", ""):
        return _line("colours", "ok", "256: shades are rounded")
    return _line("colours", "ok", "16, as far as the environment tells")


def _line(name: str, status: Status, seen: str, means: str = "", todo: str = "") -> Line:
    return Line(part="environment", name=name, status=status, seen=seen, means=means, todo=todo)
