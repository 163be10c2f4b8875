"""Acceptance length of every round, as bars; the shown one is marked. Below, what the oracle said of each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from textual import events
from textual.message import Message

from ddtree_tui.comparison_lane import LANE, Compared
from ddtree_tui.glyphs import BARS
from ddtree_tui.overview import MARKS, Overview
from ddtree_tui.session import Session
from ddtree_tui.timeline_columns import WIDE, Column, Columns, arrange
from ddtree_tui.widgets.painted import Lines, Span

LEAST_SCALE = 8
"""A full bar is at least this acceptance length, so that runs of ones look as low as they are."""
ANSWER_BORDER = "┊"
_LANE_ROLES = {
    Compared.NOT: "axis",
    Compared.IDENTICAL: "identical",
    Compared.TIE: "tie",
    Compared.DEFECT: "divergence",
}


class Timeline(Lines):
    """Bars; from four rows on, below them how the rounds missed, then how they stand against the target alone
    if any was compared; then the numbers, a caret at the shown one.

    Answers are parted by a dotted column as long as every round has a column.
    """

    ROLES = ("bar", "shown", "axis", "near-miss", "beyond", "divergence", "finding", "identical", "tie")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Timeline {
        height: 4;
        padding: 0 1;
        &.-lane { height: 5; }
        .bar { color: $bar; }
        .shown { color: $shown; text-style: bold; }
        .axis { color: $faint; }
        .near-miss { color: $near-miss; }
        .beyond { color: $quiet; }
        .identical { color: $accepted; }
        .tie { color: $bonus; text-style: bold; }
        .divergence { color: $on-wrong; background: $wrong; text-style: bold; }
        .finding { color: $wrong; text-style: bold reverse; }
    }
    """

    class Chosen(Message):
        """The user pointed at a round."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Turned(Message):
        """The user turned the wheel: ``by`` rounds back or forth."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._overview = Overview()
        self._starts: list[int] = []
        self._shown: int | None = None
        self._arranged: Columns | None = None
        self.close_up = False

    def show(self, session: Session, shown: int | None) -> None:
        """Take the newest rounds and which of them is shown."""
        self._overview = session.overview
        self._starts = [answer.first_round for answer in session.answers if len(answer.rounds)]
        self._shown = shown
        self.set_class(self._overview.lane.known, "-lane")
        self.redraw()

    def toggle_close_up(self) -> None:
        """All rounds, or a column for each of those around the shown one."""
        self.close_up = not self.close_up
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._shown is None or width < 1:
            self._arranged = None
            return [[] for _ in range(height)]
        self._arranged = arranged = arrange(
            len(self._overview), self._starts, self._shown, width, close_up=self.close_up
        )
        marks = height >= 4
        lane = marks and self._overview.lane.known
        rows = max(1, height - 1 - marks - lane)
        lines = [self._bars(arranged, row, rows) for row in range(rows - 1, -1, -1)]
        if marks:
            lines.append(self._signs(arranged, self._mark))
        if lane:
            lines.append(self._signs(arranged, self._compared))
        if height > 1:
            lines.append(self._axis(arranged, width, with_marks=not marks))
        return lines

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self._point(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button:
            self._point(event)

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.post_message(self.Turned(1))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.post_message(self.Turned(-1))

    def _point(self, event: events.MouseEvent) -> None:
        if self._arranged is None or self._shown is None:
            return
        index = self._arranged.round_at(event.x - self.styles.padding.left)
        if index is not None and index != self._shown:
            self.post_message(self.Chosen(index))

    def _bars(self, arranged: Columns, row: int, rows: int) -> list[Span]:
        """Row ``row`` of the bars, counted from the bottom."""
        scale = max(LEAST_SCALE, self._overview.longest)
        pieces: list[str] = []
        for first, end in arranged.columns:
            if end == first:
                pieces.append(ANSWER_BORDER)
                continue
            eighths = max(1, round(self._overview.mean(first, end) * 8 * rows / scale))
            bar = BARS[max(0, min(8, eighths - 8 * row))]
            pieces.append(bar * max(1, arranged.cells - 1))
        if arranged.cells == WIDE:
            pieces = [piece.ljust(WIDE) for piece in pieces]
        at = arranged.at
        return [("".join(pieces[:at]), "bar"), (pieces[at], "shown"), ("".join(pieces[at + 1 :]), "bar")]

    def _signs(self, arranged: Columns, sign_of: Callable[[Column], Span]) -> list[Span]:
        """A sign per column."""
        return [
            ("".join(text.ljust(arranged.cells) for text, _ in signs), role)
            for role, signs in groupby(map(sign_of, arranged.columns), key=lambda sign: sign[1])
        ]

    def _mark(self, column: Column) -> Span:
        mark = self._overview.mark(*column) if column.end > column.first else None
        return (MARKS[mark], mark.value) if mark is not None else (" ", "axis")

    def _compared(self, column: Column) -> Span:
        if column.end == column.first:
            return (" ", "axis")
        state = self._overview.lane.state(*column)
        return (LANE[state], _LANE_ROLES[state])

    def _axis(self, arranged: Columns, width: int, *, with_marks: bool) -> list[Span]:
        """First and last round, and the shown one with a caret under its bar; between them, where there is no
        line for it, what is marked."""
        number = str((self._shown or 0) + 1)
        place = arranged.at * arranged.cells
        left, caret = place, f"▲{number}"
        if place + len(caret) > width:
            left, caret = place - len(number), f"{number}▲"
        cells: list[Span] = [(" ", "axis")] * width
        if with_marks:
            for column_number, column in enumerate(arranged.columns):
                cells[column_number * arranged.cells] = self._mark(column)
        columns = [column for column in arranged.columns if column.end > column.first]
        begin, last = str(columns[0].first + 1), str(columns[-1].end)
        end = (len(arranged.columns) - 1) * arranged.cells + 1
        texts = [(begin, 0), (last, max(0, end - len(last)))]
        if arranged.each > 1:
            unit = f"{arranged.each} rounds a bar"
            on_left = left > width // 2
            texts.append((unit, len(begin) + 2 if on_left else end - len(last) - 2 - len(unit)))
        for text, start in texts:
            if start >= 0 and (start + len(text) < left or start > left + len(caret)):
                cells[start : start + len(text)] = [(character, "axis") for character in text]
        cells[left : left + len(caret)] = [(caret, "shown")]
        return cells[: width - len(caret) + 1]
