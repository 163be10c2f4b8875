"""Recorded runs as a list: which of them a search finds, and how each is written in a line. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ddtree_tui.escape import escape, fit
from ddtree_tui.runs_folder import RecordedRun

ENDINGS = {
    "stop": "",
    "length": "cut at max-new-tokens",
    "cancelled": "stopped",
    "failed": "failed",
    "unfinished": "unfinished",
}
COLUMNS = (
    ("when", 12),
    ("model", 12),
    ("mode", 9),
    ("prompt", 0),
    ("tokens", 7),
    ("a round", 7),
    ("tok/s", 7),
)
"""Titles and cells. The prompt takes what is left; the model gives way first where that is little."""
LEAST_PROMPT = 24
ROOMY = 40
"""From so many cells for the prompt on, a note on how it was answered has room before it."""
RIGHT = ("tokens", "a round", "tok/s")
_DAY = 86_400.0


def matching(runs: Iterable[RecordedRun], query: str) -> list[RecordedRun]:
    """The runs in which every word of the query appears, in any case."""
    words = query.casefold().split()
    return [run for run in runs if all(word in _searched(run) for word in words)]


def heading(width: int) -> str:
    """The titles over the lines."""
    return _line({name: name for name, _ in COLUMNS}, width)


def row(run: RecordedRun, width: int, now: float) -> Text:
    """A run in a line of ``width`` cells. Prompts are data: never markup, control characters visible."""
    ending = ENDINGS.get(run.ending, run.ending)
    turns = f"[turn {run.turns + 1}] " if run.turns else ""
    won = [f"{run.winner} won"] if run.winner else []
    how = [*won, *(["thinking"] * run.thinking)]
    notes = [*(how if _cells(width)["prompt"] >= ROOMY else []), *([ending] * bool(ending))]
    note = f"({', '.join(notes)}) " if notes else ""
    values = {
        "when": when(run.when, now),
        "model": escape(run.model),
        "mode": run.name,
        "prompt": turns + note + escape(" ".join(run.prompt.split())),
        "tokens": str(run.tokens),
        "a round": f"{run.mean:.2f}" if run.rounds else "–",
        "tok/s": f"{run.tokens_per_second:.1f}" if run.tokens_per_second is not None else "–",
    }
    return Text(_line(values, width), no_wrap=True)


def when(begun: float, now: float) -> str:
    """Seconds since 1970 as one says it: ``14:05``, ``yesterday``, ``Mon 14:05``, ``2026-03-01``."""
    then, today = time.localtime(begun), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M:%S", then)
    if 0 <= now - begun < 6 * _DAY:
        return time.strftime("%a %H:%M", then)
    return time.strftime("%Y-%m-%d", then)


def _searched(run: RecordedRun) -> str:
    day = time.strftime("%Y-%m-%d", time.localtime(run.when))
    thinking = "thinking" if run.thinking else ""
    return (
        f"{run.prompt} {run.model} {run.name} {' '.join(run.lanes)} {thinking} {run.ending} {day}".casefold()
    )


def _cells(width: int) -> dict[str, int]:
    """The columns that have room, and how much of it."""
    columns = dict(COLUMNS)
    if width - sum(columns.values()) - len(columns) < LEAST_PROMPT:
        del columns["model"]
    columns["prompt"] = max(1, width - sum(columns.values()) - len(columns) + 1)
    return columns


def _line(values: dict[str, str], width: int) -> str:
    cells = []
    for name, room in _cells(width).items():
        text = fit(values[name], room)
        cells.append(" " * (room - cell_len(text)) + text if name in RIGHT else set_cell_size(text, room))
    return " ".join(cells)
