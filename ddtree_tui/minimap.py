"""A drawing that is taller than its window as one column: where what matters is. Pure."""

from __future__ import annotations

from collections.abc import Collection
from math import log
from typing import NamedTuple

from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.glyphs import MAP_CURSOR, MAP_FOUND, MAP_PATH, MAP_SHADES, SHADES_FROM, State
from ddtree_tui.tree_parts import TreeLayout

_SHADES_FROM = tuple(log(p) for p in SHADES_FROM)


class MapCell(NamedTuple):
    """A cell of the map: its glyph, and the role that styles it."""

    glyph: str
    role: str


def minimap(
    layout: TreeLayout, shape: DraftShape, height: int, *, cursor: int | None, found: Collection[int]
) -> list[MapCell]:
    """``height`` cells, each for an equal share of the drawing's lines.

    The cursor comes before a match of the search, that before the accepted path; else the cell tells by its
    shade the path probability of the best branch there."""
    cells: list[MapCell] = []
    count = len(layout.lines)
    matches = set(found)
    for row in range(height):
        start = row * count // height
        lines = layout.lines[start : max(start + 1, (row + 1) * count // height)]
        places = {part.place for line in lines for part in line if part.place is not None}
        cells.append(_cell(shape, places, cursor, matches))
    return cells


def line_of(row: int, height: int, lines: int) -> int:
    """The first line that a row of the map stands for."""
    return min(lines - 1, row * lines // max(1, height))


def _cell(shape: DraftShape, places: set[int], cursor: int | None, found: set[int]) -> MapCell:
    if cursor in places:
        return MapCell(MAP_CURSOR, "map-cursor")
    if places & found:
        return MapCell(MAP_FOUND, "map-found")
    if any(shape.state(place) in (State.ACCEPTED, State.BONUS) for place in places):
        return MapCell(MAP_PATH, State.ACCEPTED.value)
    best = max((shape.weights[place] for place in places if place >= 0), default=None)
    if best is None:
        return MapCell(" ", "map")
    if not shape.weighed:
        return MapCell(MAP_SHADES[1], "map")
    darker = sum(best >= least for least in _SHADES_FROM)
    return MapCell(MAP_SHADES[darker], "map")
