"""The draft tree of the shown round, painted line by line."""

from __future__ import annotations

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip

from ddtree_tui.draft_shape import FOLD, DraftShape, folded_node
from ddtree_tui.escape import SPACE
from ddtree_tui.glyphs import State
from ddtree_tui.keys import pane_bindings
from ddtree_tui.labels import Labels
from ddtree_tui.tree_layout import lay_out
from ddtree_tui.tree_look import Landmark, TreeLook
from ddtree_tui.tree_parts import Part, TreeLayout
from ddtree_tui.tree_spots import Spot, Way, hit, spots_of, step
from ddtree_tui.widgets import tree_keys
from ddtree_tui.widgets.painted import PLAIN, ScrolledLines


class DraftTreeView(ScrolledLines, can_focus=True):
    """Shows one round at a time. Unless unfolded it folds the least probable branches to fit its height."""

    ROLES = (*(state.value for state in State), "line", "probability", "depth", "note", "space", "cursor")
    COMPONENT_CLASSES = set(ROLES)
    BINDINGS = [
        *pane_bindings(tree_keys.KEYS),
        Binding("shift+left", "scroll_left", "Scroll left", show=False),
        Binding("shift+right", "scroll_right", "Scroll right", show=False),
    ]
    DEFAULT_CSS = """
    DraftTreeView {
        height: 1fr;
        scrollbar-size: 1 1;
    }
    """

    class Pointed(Message):
        """The user clicked on a node, so the cursor is there now."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.look = TreeLook()
        self._shape: DraftShape | None = None
        self._labels: Labels | None = None
        self._layout_made: TreeLayout | None = None
        self._spots_made: dict[int, Spot] | None = None

    @property
    def hidden(self) -> int:
        """Nodes folded away at the moment."""
        return self._layout_made.hidden if self._layout_made else 0

    @property
    def shape(self) -> DraftShape | None:
        """The shown round's tree."""
        return self._shape

    def show(self, shape: DraftShape | None, labels: Labels) -> None:
        """Show a round; None clears the view."""
        if shape is not self._shape:
            self.look.enter_round(shape)
        self._shape, self._labels = shape, labels
        self._draw_anew()

    def toggle_unfolded(self) -> None:
        """Show every node, scrolling, or fold to the height again."""
        self.look.unfold_all()
        self.scroll_to(0, 0, animate=False)
        self._draw_anew()

    def toggle_fold(self, place: int) -> None:
        """Open what hides below a place, or close it."""
        if self._shape is None:
            return
        node = folded_node(place) if place <= FOLD else place
        hides = node >= -1 and any(below not in self._spots() for below in self._shape.subtree(node))
        self.look.toggle_fold(self._shape, place, hides)
        self._draw_anew()

    def put_cursor(self, place: int | None) -> None:
        """Point at a place, or at none. A hidden one is shown."""
        if self._shape is None or place == self.look.cursor:
            return
        drawn = place is None or place in self._spots()
        self.look.cursor = place
        if drawn:
            self.forget_strips()
            self.refresh()
        else:
            self._draw_anew()
        self._scroll_to_cursor()

    def jump(self, landmark: Landmark) -> None:
        """Point at the end of the accepted path, at what was missed there, or at the best refused branch."""
        if self._shape is not None and (place := self.look.landmark(self._shape, landmark)) is not None:
            self.put_cursor(place)

    def move(self, way: Way) -> None:
        """Move the cursor one step; to a child that is folded away by unfolding it."""
        cursor, shape = self.look.cursor, self._shape
        if cursor is None or shape is None:
            return
        reached = step(self._spots(), shape, cursor, way)
        if way == "child" and reached == cursor and shape.below(cursor):
            self.toggle_fold(cursor)
            reached = step(self._spots(), shape, cursor, way)
        self.put_cursor(reached)

    def on_click(self, event: events.Click) -> None:
        lines = self._layout_made.lines if self._layout_made else []
        offset = event.get_content_offset(self)
        line = offset.y + self.scroll_offset.y if offset is not None else len(lines)
        if offset is None or line >= len(lines):
            return
        place = hit(lines[line], offset.x + self.scroll_offset.x)
        if place is None:
            return
        if place <= FOLD:
            self.toggle_fold(place)
            place = folded_node(place)
        self.put_cursor(place)
        self.post_message(self.Pointed())

    def on_resize(self) -> None:
        self._draw_anew()
        self._scroll_to_cursor()

    def draw_line(self, line: int) -> Strip:
        lines = self._layout_made.lines if self._layout_made else []
        if line >= len(lines):
            return Strip.blank(0, self.role_style(PLAIN))
        return Strip([segment for part in lines[line] for segment in self._segments(part)])

    def _segments(self, part: Part) -> list[Segment]:
        role = part.role.value if isinstance(part.role, State) else part.role
        style = self.role_style(role)
        if part.place is not None and part.place == self.look.cursor and isinstance(part.role, State):
            return [Segment(part.text, style + self.role_style("cursor"))]
        if SPACE not in part.text:
            return [Segment(part.text, style)]
        # The sign for a space is there to be looked up, not to be read: it stays in the background.
        quiet = style + self.role_style("space")
        pieces = part.text.split(SPACE)
        segments = [Segment(pieces[0], style)]
        for piece in pieces[1:]:
            segments += [Segment(SPACE, quiet), Segment(piece, style)]
        return segments

    def _spots(self) -> dict[int, Spot]:
        """Where everything is on the drawing."""
        if self._spots_made is None:
            self._spots_made = spots_of(self._layout_made) if self._layout_made else {}
        return self._spots_made

    def _scroll_to_cursor(self) -> None:
        """Bring the cursor into view, with a few lines around it where there is room."""
        cursor = self.look.cursor
        spot = self._spots().get(cursor) if cursor is not None else None
        if spot is None:
            return
        room, at = self.scrollable_content_region.size, self.scroll_offset
        x = min(max(at.x, spot.x + spot.cells - room.width), spot.x)
        y = min(max(at.y, spot.line + 2 - room.height), max(0, spot.line - 1))
        if (x, y) != (at.x, at.y):
            self.scroll_to(x, y, animate=False, immediate=True)

    def _draw_anew(self) -> None:
        room = self.scrollable_content_region.size
        self.forget_strips()
        self._spots_made = None
        if self._shape is None or self._labels is None or not room.width:
            self._layout_made = None
            self.set_extent(0, 0)
        else:
            self._layout_made = layout = lay_out(
                self._shape,
                self._labels,
                room.width,
                None if self.look.unfolded else max(1, room.height),
                arrangement=self.look.arranged(self.app.size.width),
                level=self.look.level,
                folds=self.look.folds(),
            )
            self.set_extent(layout.width, len(layout.lines))
        self.refresh()
