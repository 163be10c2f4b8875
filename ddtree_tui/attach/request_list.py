"""The server's requests as a list: in which order, and how each is written in a line. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ddtree_tui.attach.wire import Watched
from ddtree_tui.escape import escape, fit
from ddtree_tui.mode_name import mode_name
from ddtree_tui.runs_list import when
from engine.settings import MODES

COLUMNS = (
    ("state", 8),
    ("when", 10),
    ("mode", 9),
    ("prompt", 7),
    ("tokens", 7),
    ("rounds", 7),
    ("accept", 7),
    ("request", 0),
)
"""Titles and cells; the request's name takes what is left."""
RIGHT = ("prompt", "tokens", "rounds", "accept")
STATES = {
    "running": "running",
    "stop": "done",
    "length": "cut",
    "cancelled": "stopped",
    "failed": "failed",
}
EVERYTHING = "whatever runs, one request after the other"


def in_order(requests: Iterable[Watched]) -> list[Watched]:
    """Those that run first, then the newest."""
    return sorted(requests, key=lambda request: (not request.running, -request.created))


def heading(width: int) -> str:
    """The titles over the lines."""
    return _line({name: name for name, _ in COLUMNS}, width)


def row(request: Watched, width: int, now: float, own: Collection[str] = ()) -> Text:
    """A request in a line of ``width`` cells; ``own``: the names of those sent from here."""
    notes = ["yours"] * (request.id in own) + ["not all kept"] * (request.events_kept < request.events)
    note = f"({', '.join(notes)}) " if notes else ""
    values = {
        "state": STATES.get(request.state, "unknown"),
        "when": when(request.created, now) if 0 <= request.created < 2**40 else "",
        "mode": _mode(request.settings),
        "prompt": str(request.prompt_tokens),
        "tokens": str(request.output_tokens),
        "rounds": str(request.rounds),
        "accept": f"{(request.output_tokens - 1) / request.rounds:.2f}" if request.rounds > 0 else "–",
        "request": note + escape(request.id),
    }
    return Text(_line(values, width), style="bold" if request.running else "", no_wrap=True)


def _mode(settings: dict[str, Any]) -> str:
    mode, budget = settings.get("mode"), settings.get("budget")
    if mode not in MODES:
        return "unknown"
    return mode_name(mode, budget if isinstance(budget, int) else 0)


def _line(values: dict[str, str], width: int) -> str:
    columns = dict(COLUMNS)
    columns["request"] = max(1, width - sum(columns.values()) - len(columns) + 1)
    cells = []
    for name, room in columns.items():
        text = fit(values[name], room)
        cells.append(" " * (room - cell_len(text)) + text if name in RIGHT else set_cell_size(text, room))
    return " ".join(cells)
