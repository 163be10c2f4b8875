"""Acceptance length of every round, as bars; the shown one is marked. Below, what the oracle said of each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import groupby

from rich.cells import cell_len
from textual import events
from textual.message import Message

from ddtree_tui.comparison_lane import LANE, Compared
from ddtree_tui.glyphs import BARS
from ddtree_tui.overview import ANSWER_BORDER, MARK_NAMES, MARKS, Mark, Overview
from ddtree_tui.session import Session
from ddtree_tui.timeline_columns import WIDE, Column, Columns, arrange
from ddtree_tui.widgets.painted import Lines, Span

LEAST_SCALE = 8
"""A full bar is at least this acceptance length, so that runs of ones look as low as they are."""
LABELLED_FROM = 90
"""Cells of a timeline from which on its lines have labels in front of them."""
BARS_LABEL, MARKS_LABEL, LANE_LABEL, AXIS_LABEL = "tokens", "miss", "check", "round"
LABEL_CELLS = 7
_LANE_ROLES = {
    Compared.NOT: "axis",
    Compared.IDENTICAL: "identical",
    Compared.TIE: "tie",
    Compared.DEFECT: "divergence",
}


class Timeline(Lines):
    """Bars; from four rows on, below them how the rounds missed, then how they stand against the target alone
    if any was compared; then the numbers, a caret at the shown one.

    Answers are parted by a dotted column as long as every round has a column. Where there is room, each line
    has a label in front of it, and behind the marks stands what they mean.
    """

    ROLES = (
        "bar",
        "shown",
        "axis",
        "near-miss",
        "beyond",
        "divergence",
        "finding",
        "identical",
        "tie",
        "label",
    )
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Timeline {
        height: 4;
        padding: 0 1;
        &.-lane { height: 5; }
        .bar { color: $bar; }
        .shown { color: $shown; text-style: bold; }
        .axis { color: $faint; }
        .label { color: $quiet; }
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
        self._names: list[str] = []
        self._label_cells = 0
        self._shown: int | None = None
        self._arranged: Columns | None = None
        self.close_up = False

    def show(self, session: Session, shown: int | None) -> None:
        """Take the newest rounds and which of them is shown."""
        self._overview = session.overview
        told = [(number, answer) for number, answer in enumerate(session.answers, 1) if len(answer.rounds)]
        self._starts = [answer.first_round for _, answer in told]
        self._names = [f"answer {number}" if len(session.answers) > 1 else "" for number, _ in told]
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
        self._label_cells = LABEL_CELLS if width >= LABELLED_FROM else 0
        width -= self._label_cells
        self._arranged = arranged = arrange(
            len(self._overview), self._starts, self._shown, width, close_up=self.close_up
        )
        marks = height >= 4
        lane = marks and self._overview.lane.known
        rows = max(1, height - 1 - marks - lane)
        lines = [self._bars(arranged, row, rows) for row in range(rows - 1, -1, -1)]
        labels = [BARS_LABEL] + [""] * (rows - 1)
        if marks:
            signs = self._signs(arranged, self._mark)
            told = self._meanings({role for _, role in signs}, width - len(arranged.columns) * arranged.cells)
            lines.append([*signs, *told])
            labels.append(MARKS_LABEL)
        if lane:
            lines.append(self._signs(arranged, self._compared))
            labels.append(LANE_LABEL)
        if height > 1:
            lines.append(self._axis(arranged, width, with_marks=not marks))
            labels.append(AXIS_LABEL)
        if not self._label_cells:
            return lines
        return [
            [(label.ljust(LABEL_CELLS), "label"), *line] for label, line in zip(labels, lines, strict=True)
        ]

    def _meanings(self, there: set[str], room: int) -> list[Span]:
        """What the marks of these roles mean, if that fits behind them."""
        said: list[Span] = []
        for mark in Mark:
            if mark.value in there:
                said += [("  ", "axis"), (MARKS[mark], mark.value), (f" {MARK_NAMES[mark]}", "axis")]
        return said if sum(cell_len(text) for text, _ in said) <= room else []

    def _place(self, index: int) -> tuple[str, int]:
        """The name of a round's answer, empty where it is the only one, and its number there, from 1."""
        answer = bisect_right(self._starts, index) - 1
        return self._names[answer], index - self._starts[answer] + 1

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
        index = self._arranged.round_at(event.x - self.styles.padding.left - self._label_cells)
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
        """First and last round, or where each of several answers begins, and the shown round with a caret
        under its bar; between them, where there is no line for it, what is marked. A number is a round's in
        its answer."""
        number = str(self._place(self._shown or 0)[1])
        place = arranged.at * arranged.cells
        left, caret = place, f"▲{number}"
        if place + len(caret) > width:
            left, caret = place - len(number), f"{number}▲"
        cells: list[Span] = [(" ", "axis")] * width
        if with_marks:
            for column_number, column in enumerate(arranged.columns):
                cells[column_number * arranged.cells] = self._mark(column)
        columns = [column for column in arranged.columns if column.end > column.first]
        last = str(self._place(columns[-1].end - 1)[1])
        end = (len(arranged.columns) - 1) * arranged.cells + 1
        begins = self._begins(arranged, end - len(last))
        begin = begins[0][0] if begins else ""
        texts = [*begins, (last, max(0, end - len(last)))]
        if arranged.each > 1:
            unit = f"{arranged.each} rounds a bar"
            on_left = left > width // 2
            texts.append((unit, len(begin) + 2 if on_left else end - len(last) - 2 - len(unit)))
        for text, start in texts:
            if start >= 0 and (start + len(text) < left or start > left + len(caret)):
                cells[start : start + len(text)] = [(character, "axis") for character in text]
        cells[left : left + len(caret)] = [(caret, "shown")]
        return cells[: width - len(caret) + 1]

    def _begins(self, arranged: Columns, end: int) -> list[tuple[str, int]]:
        """What stands below the first column and behind each border, and in which cells: the number of the
        first round, or of several answers the names, where they are long enough. ``end``: of the room."""
        begins = [(0, arranged.columns[0].first)]
        for place, column in enumerate(arranged.columns):
            if column.end == column.first:
                begins.append(((place + 1) * arranged.cells, column.first))
        limits = [*(start for start, _ in begins[1:]), end]
        found: list[tuple[str, int]] = []
        for (start, first), limit in zip(begins, limits, strict=True):
            name, number = self._place(first)
            text = name or str(number)
            if start + len(text) < limit or not name:
                found.append((text, start))
        return found
