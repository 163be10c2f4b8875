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


class Timeline(Lines):
    """A column per round; below the bars a caret and the number of the shown round.

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

    def show(self, session: Session, shown: int | None) -> None:
        """Take the newest rounds and which of them is shown."""
        self._lengths = [round_.acceptance_length for _, round_ in session.rounds]
        self._columns = []
        for index, (answer, _) in enumerate(session.rounds):
            if index and index == answer.first_round:
                self._columns.append(None)
            self._columns.append(index)
        self._scale = max(LEAST_SCALE, *self._lengths) if self._lengths else LEAST_SCALE
        self._shown = shown
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._shown is None:
            return [[] for _ in range(height)]
        bar_rows = max(1, height - 1)
        marked = self._columns.index(self._shown)
        self._first_column = self._window(marked, width)
        window = self._columns[self._first_column : self._first_column + width]
        at = marked - self._first_column
        lines = [self._bars(window, at, row, bar_rows) for row in range(bar_rows - 1, -1, -1)]
        if height > 1:
            lines.append(self._axis(window, at, width))
        return lines

    def on_click(self, event: events.Click) -> None:
        column = self._first_column + event.x - self.styles.padding.left
        if 0 <= column < len(self._columns) and (index := self._columns[column]) is not None:
            self.post_message(self.Chosen(index))

    def _window(self, marked: int, width: int) -> int:
        last_start = max(0, len(self._columns) - width)
        return (
            max(0, min(last_start, marked - width // 2)) if marked < last_start + width // 2 else last_start
        )

    def _bars(self, window: list[int | None], at: int, row: int, rows: int) -> list[Span]:
        """Row ``row`` of the bars, counted from the bottom."""
        text = ""
        for index in window:
            if index is None:
                text += ANSWER_BORDER
                continue
            eighths = max(1, round(self._lengths[index] * 8 * rows / self._scale))
            text += BARS[max(0, min(8, eighths - 8 * row))]
        return [(text[:at], "bar"), (text[at : at + 1], "shown"), (text[at + 1 :], "bar")]

    def _axis(self, window: list[int | None], at: int, width: int) -> list[Span]:
        number = str((self._shown or 0) + 1)
        if at + 1 + len(number) <= width:
            left, mark = at, "▲" + number
        else:
            left, mark = at - len(number), number + "▲"
        first, last = str(window[0] + 1 if window[0] is not None else ""), str(len(self._lengths))
        spans: list[Span] = []
        if left > len(first) + 1:
            spans.append((first + " " * (left - len(first)), "axis"))
        else:
            spans.append((" " * left, "axis"))
        spans.append((mark, "shown"))
        end = left + len(mark)
        place_of_last = len(window) - len(last)
        if place_of_last > end + 1 and window[-1] == len(self._lengths) - 1:
            spans += [(" " * (place_of_last - end), "axis"), (last, "axis")]
        return spans
