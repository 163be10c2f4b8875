"""Where the places of a draft tree are on its drawing: what a click hits, where the arrow keys lead. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

from rich.cells import cell_len

from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.glyphs import State
from ddtree_tui.tree_parts import Line, TreeLayout

Way = Literal["parent", "child", "up", "down"]


class Spot(NamedTuple):
    """A place on a drawing: its line, the column it starts in, its cells without its numbers."""

    line: int
    x: int
    cells: int


def spots_of(layout: TreeLayout) -> dict[int, Spot]:
    """Every place that is drawn, folds too, in reading order."""
    found: dict[int, Spot] = {}
    for number, line in enumerate(layout.lines):
        x = 0
        for part in line:
            cells = cell_len(part.text)
            if part.place is not None and isinstance(part.role, State):
                found[part.place] = Spot(number, x, cells)
            x += cells
    return found


def hit(line: Line, x: int) -> int | None:
    """The place under column ``x`` of a line."""
    start = 0
    for part in line:
        start += cell_len(part.text)
        if x < start:
            return part.place
    return None


def step(spots: dict[int, Spot], shape: DraftShape, place: int, way: Way) -> int:
    """Where a step leads from a place that is drawn; the place itself where it leads nowhere.

    Up and down lead, in reading order, to the next place of the same depth: a sibling where there is one.
    Where none is left, to the next row at all, so that every row can be reached.
    """
    if way == "parent":
        return shape.parent(place)
    if way == "child":
        return next((below for below in shape.below(place) if below in spots), place)
    here, forth = spots[place], way == "down"
    drawn = [(spot, other) for other, spot in spots.items() if is_stop(shape, other)]
    beside = [
        (spot, other)
        for spot, other in drawn
        if shape.depth(other) == shape.depth(place) and (spot > here if forth else spot < here)
    ]
    if beside:
        return (min(beside) if forth else max(beside))[1]
    beyond = [
        (abs(spot.line - here.line), abs(spot.x - here.x), other)
        for spot, other in drawn
        if (spot.line > here.line if forth else spot.line < here.line)
    ]
    return min(beyond)[2] if beyond else place


def is_stop(shape: DraftShape, place: int) -> bool:
    """Whether the cursor can be at a place: anywhere but on folds."""
    return shape.token(place) is not None
