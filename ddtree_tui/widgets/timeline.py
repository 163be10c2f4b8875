"""Acceptance length of every round, as bars; the shown one is marked."""

from __future__ import annotations

from textual import events
from textual.message import Message

from ddtree_tui.glyphs import BARS
from ddtree_tui.run import Session
from ddtree_tui.widgets.painted import Lines, Span

LEAST_SCALE = 8
"""A full bar is at least this acceptance length, so that runs of ones look as low as they are."""
ANSWER_BORDER = "┊"
WIDE = 3
"""Cells of a bar and the gap behind it while all rounds have room for that; else a cell each."""


class Timeline(Lines):
    """A bar per round; below the bars a caret and the number of the shown round.

    Answers are parted by a dotted column. When there are more rounds than columns, the window moves
    with the shown round.
    """

    ROLES = ("bar", "shown", "axis", "border")
    COMPONENT_CLASSES = set(ROLES)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Timeline {
        height: 3;
        padding: 0 1;
        .bar { color: $bar; }
        .shown { color: $shown; text-style: bold; }
        .axis { color: $faint; }
        .border { color: $line; }
    }
    """

    class Chosen(Message):
        """The user clicked on a round."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._columns: list[int | None] = []
        self._lengths: list[int] = []
        self._shown: int | None = None
        self._scale = LEAST_SCALE
        self._first_column = 0
        self._cells = 1

    def show(self, session: Session, shown: int | None) -> None:
        """Take the newest rounds and which of them is shown."""
        self._lengths = []
        self._columns = []
        for answer in session.answers:
            if self._lengths and len(answer.rounds):
                self._columns.append(None)
            self._columns += range(len(self._lengths), len(self._lengths) + len(answer.rounds))
            self._lengths += [summary.acceptance_length for summary in answer.rounds.summaries]
        self._scale = max(LEAST_SCALE, *self._lengths) if self._lengths else LEAST_SCALE
        self._shown = shown
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._shown is None:
            return [[] for _ in range(height)]
        bar_rows = max(1, height - 1)
        self._cells = WIDE if len(self._columns) * WIDE <= width else 1
        fitting = width // self._cells
        marked = self._columns.index(self._shown)
        self._first_column = min(max(0, marked - fitting // 2), max(0, len(self._columns) - fitting))
        window = self._columns[self._first_column : self._first_column + fitting]
        at = marked - self._first_column
        lines = [self._bars(window, at, row, bar_rows) for row in range(bar_rows - 1, -1, -1)]
        if height > 1:
            lines.append(self._axis(window, at, width))
        return lines

    def on_click(self, event: events.Click) -> None:
        column = self._first_column + (event.x - self.styles.padding.left) // self._cells
        if 0 <= column < len(self._columns) and (index := self._columns[column]) is not None:
            self.post_message(self.Chosen(index))

    def _bars(self, window: list[int | None], at: int, row: int, rows: int) -> list[Span]:
        """Row ``row`` of the bars, counted from the bottom."""
        wide = self._cells == WIDE
        pieces: list[str] = []
        for index in window:
            if index is None:
                pieces.append(ANSWER_BORDER)
                continue
            eighths = max(1, round(self._lengths[index] * 8 * rows / self._scale))
            pieces.append(BARS[max(0, min(8, eighths - 8 * row))] * (WIDE - 1 if wide else 1))
        if wide:
            pieces = [piece.ljust(WIDE) for piece in pieces]
        return [("".join(pieces[:at]), "bar"), (pieces[at], "shown"), ("".join(pieces[at + 1 :]), "bar")]

    def _axis(self, window: list[int | None], at: int, width: int) -> list[Span]:
        """First and last round of the window, and the shown one with a caret under its bar."""
        number = str((self._shown or 0) + 1)
        place = at * self._cells
        left, mark = place, f"▲{number}"
        if place + len(mark) > width:
            left, mark = place - len(number), f"{number}▲"
        axis = [" "] * width
        numbers = [index + 1 for index in window if index is not None]
        last = str(numbers[-1])
        end = (len(window) - 1) * self._cells + 1
        for text, start in ((str(numbers[0]), 0), (last, max(0, end - len(last)))):
            if start + len(text) < left or start > left + len(mark):
                axis[start : start + len(text)] = text
        return [
            ("".join(axis[:left]), "axis"),
            (mark, "shown"),
            ("".join(axis[left + len(mark) :]), "axis"),
        ]
