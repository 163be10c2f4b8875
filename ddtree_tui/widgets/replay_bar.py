"""Where the prompt box is otherwise: how far a recorded run has been played."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from ddtree_tui.escape import escape, fit
from ddtree_tui.round_player import speed_text
from ddtree_tui.widgets.painted import Lines, Span


@dataclass(frozen=True)
class Progress:
    """Seconds played of how many, whether the clock runs, and how many times as fast as it was recorded."""

    name: str
    position: float
    duration: float
    playing: bool
    over: bool
    speed: float = 1.0


class ReplayBar(Lines):
    """Name, state, bar, times."""

    ROLES = ("name", "state", "done", "left", "quiet")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ReplayBar {
        height: 1;
        padding: 0 1;
        .name { text-style: bold; }
        .state { color: $shown; text-style: bold; }
        .done { color: $shown; }
        .left { color: $line; }
        .quiet { color: $quiet; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._progress: Progress | None = None

    def show(self, progress: Progress) -> None:
        """Take the newest position."""
        if progress != self._progress:
            self._progress = progress
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        progress = self._progress
        if progress is None:
            return [[]]
        state = "▶ playing" if progress.playing else "■ all played" if progress.over else "⏸ paused"
        name = fit(escape(progress.name), max(10, width // 3))
        if progress.speed != 1.0:
            state += f" {speed_text(progress.speed)}"
        times = f" {progress.position:.1f} of {progress.duration:.1f} s"
        room = max(0, width - cell_len(f"recorded run {name}  {state}  ") - len(times))
        done = round(room * progress.position / progress.duration) if progress.duration else room
        return [
            [
                ("recorded run ", "quiet"),
                (name, "name"),
                (f"  {state}  ", "state"),
                ("━" * done, "done"),
                ("─" * (room - done), "left"),
                (times, "quiet"),
            ]
        ]
