"""The panels of numbers, beside and below one another, scrolling where they do not fit."""

from __future__ import annotations

from textual.strip import Strip

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels.arrangement import arrange
from ddtree_tui.panels.panel import ROLES, Line
from ddtree_tui.statistics.report import Report
from ddtree_tui.widgets.painted import ScrolledLines

TALL = 50
"""Lines from which on there is room for higher graphics."""
ROWS, TALL_ROWS = 4, 10


class NumbersView(ScrolledLines, can_focus=True):
    """Draws a report for its own width."""

    ROLES = ROLES
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    NumbersView {
        height: 1fr;
        padding: 0 1;
        scrollbar-size: 1 1;
        scrollbar-gutter: stable;
        .title { color: $foreground; text-style: bold; }
        .how { color: $faint; text-style: italic; }
        .label { color: $quiet; }
        .number { color: $foreground; text-style: bold; }
        .quiet { color: $faint; }
        .bar { color: $bar; }
        .shown { color: $shown; text-style: bold; }
        .mark { color: $bonus; text-style: bold; }
        .heat-0 { color: $quiet; }
        .heat-1 { color: $foreground; background: $bar 25%; }
        .heat-2 { color: $foreground; background: $bar 45%; }
        .heat-3 { color: $foreground; background: $bar 70%; text-style: bold; }
        .heat-4 { color: $foreground; background: $bar; text-style: bold; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._report: Report | None = None
        self._plain = False
        self._lines: list[Line] = []

    def show(self, report: Report, *, plain: bool) -> None:
        """Take a new report. ``plain``: ASCII alone."""
        if report != self._report or plain != self._plain:
            self._report, self._plain = report, plain
            self._arrange()

    def on_resize(self) -> None:
        self._arrange()

    def draw_line(self, line: int) -> Strip:
        return self.strip(self._lines[line]) if line < len(self._lines) else self.strip([])

    def _arrange(self) -> None:
        width, height = self.scrollable_content_region.size
        if self._report is None or width <= 0:
            return
        graphics = Graphics(plain=self._plain, rows=TALL_ROWS if height >= TALL else ROWS)
        self._lines = arrange(self._report, graphics, width)
        self.set_extent(width, len(self._lines))
        self.forget_strips()
        self.refresh()
