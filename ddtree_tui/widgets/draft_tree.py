"""The draft tree of the shown round, painted line by line."""

from __future__ import annotations

from rich.segment import Segment
from textual.binding import Binding
from textual.strip import Strip

from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.escape import SPACE
from ddtree_tui.glyphs import State
from ddtree_tui.labels import Labels
from ddtree_tui.tree_layout import Part, TreeLayout, lay_out
from ddtree_tui.widgets.painted import PLAIN, ScrolledLines

HORIZONTAL_FROM = 100
"""Columns of the terminal from which on the horizontal layout is used."""


class DraftTreeView(ScrolledLines, can_focus=True):
    """Shows one round at a time. Unless unfolded it folds the least probable branches to fit its height."""

    ROLES = (*(state.value for state in State), "line", "probability", "depth", "note", "space")
    COMPONENT_CLASSES = set(ROLES)
    BINDINGS = [
        Binding("left", "app.move_round(-1)", "Round back", show=False),
        Binding("right", "app.move_round(1)", "Round forth", show=False),
        Binding("home", "app.first_round", "First round", show=False),
        Binding("end", "app.follow", "Newest round", show=False),
        Binding("shift+left", "scroll_left", "Scroll left", show=False),
        Binding("shift+right", "scroll_right", "Scroll right", show=False),
    ]
    DEFAULT_CSS = """
    DraftTreeView {
        height: 1fr;
        scrollbar-size: 1 1;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._shape: DraftShape | None = None
        self._labels: Labels | None = None
        self._layout_made: TreeLayout | None = None
        self.unfolded = False

    @property
    def hidden(self) -> int:
        """Nodes folded away at the moment."""
        return self._layout_made.hidden if self._layout_made else 0

    def show(self, shape: DraftShape | None, labels: Labels) -> None:
        """Show a round; None clears the view."""
        self._shape, self._labels = shape, labels
        self._draw_anew()

    def toggle_unfolded(self) -> None:
        """Show every node, scrolling, or fold to the height again."""
        self.unfolded = not self.unfolded
        self.scroll_to(0, 0, animate=False)
        self._draw_anew()

    def on_resize(self) -> None:
        self._draw_anew()

    def draw_line(self, line: int) -> Strip:
        lines = self._layout_made.lines if self._layout_made else []
        if line >= len(lines):
            return Strip.blank(0, self.role_style(PLAIN))
        return Strip([segment for part in lines[line] for segment in self._segments(part)])

    def _segments(self, part: Part) -> list[Segment]:
        role = part.role.value if isinstance(part.role, State) else part.role
        style = self.role_style(role)
        if SPACE not in part.text:
            return [Segment(part.text, style)]
        # The sign for a space is there to be looked up, not to be read: it stays in the background.
        quiet = style + self.role_style("space")
        pieces = part.text.split(SPACE)
        segments = [Segment(pieces[0], style)]
        for piece in pieces[1:]:
            segments += [Segment(SPACE, quiet), Segment(piece, style)]
        return segments

    def _draw_anew(self) -> None:
        room = self.scrollable_content_region.size
        self.forget_strips()
        if self._shape is None or self._labels is None or not room.width:
            self._layout_made = None
            self.set_extent(0, 0)
        else:
            self._layout_made = layout = lay_out(
                self._shape,
                self._labels,
                room.width,
                None if self.unfolded else max(1, room.height),
                horizontal=self.app.size.width >= HORIZONTAL_FROM,
            )
            self.set_extent(layout.width, len(layout.lines))
        self.refresh()
