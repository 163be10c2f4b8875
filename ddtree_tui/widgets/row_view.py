"""Rows of a report, scrolled."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from ddtree_tui.ascii_forms import ascii_form
from ddtree_tui.rows import Row
from ddtree_tui.widgets.painted import ScrolledLines


class RowView(ScrolledLines, can_focus=True):
    """Draws rows in the styles of their roles, which subclasses name.

    Args:
        plain: with ASCII alone.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    RowView { height: 1fr; padding: 1 2; scrollbar-size: 1 1; scrollbar-gutter: stable; }
    """

    def __init__(self, *, plain: bool, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._plain = plain
        self._rows: list[Row] = []

    def take(self, rows: Sequence[Row]) -> None:
        """Show other rows, of which none is wider than the view."""
        self._rows = list(rows)
        self.forget_strips()
        self.set_extent(self.scrollable_content_region.width, len(rows))
        self.refresh()

    def role_of(self, row: Row) -> str:
        """The role a row is drawn in."""
        return row.role

    def draw_line(self, line: int) -> Strip:
        if line >= len(self._rows):
            return self.strip([])
        row = self._rows[line]
        return self.strip([(ascii_form(row.text) if self._plain else row.text, self.role_of(row))])
