"""The draft tree of the shown round, painted line by line."""

from __future__ import annotations

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip

from ddtree_tui.draft_shape import FOLD, ROOT, DraftShape, folded_node
from ddtree_tui.escape import SPACE
from ddtree_tui.glyphs import State
from ddtree_tui.keys import pane_bindings
from ddtree_tui.labels import Labels
from ddtree_tui.minimap import MapCell, line_of, minimap
from ddtree_tui.tree_layout import lay_out
from ddtree_tui.tree_look import Landmark, TreeLook
from ddtree_tui.tree_parts import Part, TreeLayout
from ddtree_tui.tree_spots import Spot, Way, hit, spots_of, step
from ddtree_tui.widgets import tree_keys
from ddtree_tui.widgets.painted import PLAIN, ScrolledLines

TURNED: dict[Way, Way] = {"parent": "up", "child": "down", "up": "parent", "down": "child"}
MAP_CELLS = 1
"""Kept free on the right for the map of a tall drawing."""


class DraftTreeView(ScrolledLines, can_focus=True):
    """Shows one round at a time. Unless unfolded it folds the least probable branches to fit its height."""

    ROLES = (
        *(state.value for state in State),
        *("line", "probability", "depth", "note", "space", "cursor", "found", "trail"),
        *("map", "map-cursor", "map-found"),
    )
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
        self._map_made: list[MapCell] | None = None
        self._trail: frozenset[int] = frozenset()
        self._found: frozenset[int] = frozenset()

    @property
    def hidden(self) -> int:
        """Nodes folded away at the moment."""
        return self._layout_made.hidden if self._layout_made else 0

    @property
    def _dense(self) -> bool:
        return self.look.arranged(self.app.size.width) == "dense"

    @property
    def shape(self) -> DraftShape | None:
        """The shown round's tree."""
        return self._shape

    def show(self, shape: DraftShape | None, labels: Labels) -> None:
        """Show a round; None clears the view."""
        if shape is not self._shape:
            self.look.enter_round(shape)
        self._shape, self._labels = shape, labels
        self._find()
        self._draw_anew()
        self._scroll_to_cursor()

    def toggle_unfolded(self) -> None:
        """Show every node, scrolling, or fold to the height again."""
        self.look.unfold_all()
        self.look_changed()

    def look_changed(self) -> None:
        """Draw in another way, from the top unless there is a cursor."""
        if self.look.cursor is None:
            self.scroll_to(0, 0, animate=False)
        self._draw_anew()
        self._scroll_to_cursor()

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
        if place == self.look.cursor or (self._shape is None and place is not None):
            return
        drawn = place is None or place in self._spots()
        self.look.cursor = place
        if drawn:
            self.forget_strips()
            self._map_made = None
            self._mark_trail()
            self.refresh()
        else:
            self._draw_anew()
        self._scroll_to_cursor()

    def point(self, place: int | None) -> None:
        """Mark the place whose token is selected in the text, or none."""
        if place != self.look.pointed:
            self.look.pointed = place
            self.forget_strips()
            self.refresh()
            self._scroll_to_cursor()

    def jump(self, landmark: Landmark) -> None:
        """Point at the end of the accepted path, at what was missed there, or at the best refused branch."""
        if self._shape is not None and (place := self.look.landmark(self._shape, landmark)) is not None:
            self.put_cursor(place)

    def search(self, text: str) -> None:
        """Mark what matches, and point at the first match from the cursor on."""
        self.look.needle = text
        before = self.look.cursor
        self._find()
        if before not in self.look.found:
            self.next_match(1)
        self._draw_anew()
        self._scroll_to_cursor()

    def next_match(self, by: int) -> None:
        """Point at the match after or before the cursor."""
        if (place := self.look.next_found(by)) is not None:
            self.put_cursor(place)

    def move(self, way: Way) -> None:
        """Move the cursor one step; to a child that is folded away by unfolding it. In the overview, where
        depth goes down and not to the right, the ways are turned."""
        cursor, shape = self.look.cursor, self._shape
        if cursor is None or shape is None or cursor not in self._spots():
            return
        if self._dense:
            way = TURNED[way]
        reached = step(self._spots(), shape, cursor, way)
        if way == "child" and reached == cursor and shape.below(cursor):
            self.toggle_fold(cursor)
            reached = step(self._spots(), shape, cursor, way)
        self.put_cursor(reached)

    def on_click(self, event: events.Click) -> None:
        lines = self._layout_made.lines if self._layout_made else []
        offset = event.get_content_offset(self)
        room = self.scrollable_content_region.size
        if offset is not None and offset.x == room.width - MAP_CELLS and self._map():
            middle = line_of(offset.y, room.height, len(lines)) - room.height // 2
            self.scroll_to(y=middle, animate=False)
            return
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

    def render_line(self, y: int) -> Strip:
        cells = self._map()
        if y >= len(cells):
            return super().render_line(y)
        width = self.scrollable_content_region.width - MAP_CELLS
        cell = Segment(cells[y].glyph, self.role_style(cells[y].role))
        scroll_x, scroll_y = self.scroll_offset
        strip = self.drawn(y + scroll_y)
        if scroll_x or strip.cell_length > width:
            strip = strip.crop(scroll_x, scroll_x + width)
        space = Segment(" " * (width - strip.cell_length), self.role_style(PLAIN))
        return Strip([*strip, space, cell], width + MAP_CELLS)

    def draw_line(self, line: int) -> Strip:
        lines = self._layout_made.lines if self._layout_made else []
        if line >= len(lines):
            return Strip.blank(0, self.role_style(PLAIN))
        return Strip([segment for part in lines[line] for segment in self._segments(part)])

    def _segments(self, part: Part) -> list[Segment]:
        role = part.role.value if isinstance(part.role, State) else part.role
        style = self.role_style(role)
        if part.place is not None and isinstance(part.role, State):
            if part.place in (self.look.cursor, self.look.pointed):
                return [Segment(part.text, style + self.role_style("cursor"))]
            if part.place in self._found:
                style += self.role_style("found")
            elif part.place in self._trail:
                style += self.role_style("trail")
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

    def _map(self) -> list[MapCell]:
        """The map beside a drawing that is taller than its window; nothing beside others."""
        if self._map_made is None:
            self._map_made = []
            layout, shape, height = self._layout_made, self._shape, self.scrollable_content_region.height
            if layout is not None and shape is not None and len(layout.lines) > height > 0:
                look = self.look
                self._map_made = minimap(layout, shape, height, cursor=look.cursor, found=look.found)
        return self._map_made

    def _find(self) -> None:
        """Look for what was searched for in the shown round."""
        shape, labels = self._shape, self._labels
        tokens: dict[int, int | None] = {}
        if shape is not None and self.look.needle:
            places = [ROOT, *range(len(shape.states)), *shape.extras(shape.end)]
            tokens = {place: shape.token(place) for place in places}
        if labels is not None:
            self.look.find({place: labels(token)[0] for place, token in tokens.items() if token is not None})
        self._found = frozenset(self.look.found)

    def _mark_trail(self) -> None:
        """In the dense drawing, where no lines do: what the cursor's node hangs below, and what below it."""
        cursor, shape = self.look.cursor, self._shape
        marked: list[int] = []
        if self._dense and shape is not None and cursor is not None:
            marked = [*shape.path(cursor), *shape.below(cursor)]
        self._trail = frozenset(marked)

    def _scroll_to_cursor(self) -> None:
        """Bring the cursor into view, with a few lines around it where there is room."""
        cursor = self.look.cursor if self.look.cursor is not None else self.look.pointed
        spot = self._spots().get(cursor) if cursor is not None else None
        if spot is None:
            return
        room, at = self.scrollable_content_region.size, self.scroll_offset
        x = min(max(at.x, spot.x + spot.cells - room.width + MAP_CELLS), spot.x)
        y = min(max(at.y, spot.line + 2 - room.height), max(0, spot.line - 1))
        if (x, y) != (at.x, at.y):
            self.scroll_to(x, y, animate=False, immediate=True)

    def _draw_anew(self) -> None:
        room = self.scrollable_content_region.size
        self.forget_strips()
        self._spots_made = self._map_made = None
        self._mark_trail()
        if self._shape is None or self._labels is None or not room.width:
            self._layout_made = None
            self.set_extent(0, 0)
        else:
            self._layout_made = layout = lay_out(
                self._shape,
                self._labels,
                room.width - MAP_CELLS,
                None if self.look.unfolded else max(1, room.height),
                arrangement=self.look.arranged(self.app.size.width),
                level=self.look.level,
                folds=self.look.folds(),
            )
            self.set_extent(layout.width, len(layout.lines))
        self.refresh()
