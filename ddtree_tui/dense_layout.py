"""A draft tree at a glance: a row per depth, one cell per node, for trees of up to a thousand nodes.

Siblings stand side by side in the order of their parents, the accepted path first in each row; families are
parted by a space where there is room. A node that was not reached shows by its glyph how probable the
drafter took the path to it to be.
"""

from __future__ import annotations

from math import exp, log

from ddtree_tui.draft_shape import ROOT, DraftShape
from ddtree_tui.glyphs import GLYPHS, IN_ONE_CELL, PROBABLE, State, small_probability
from ddtree_tui.plural import counted
from ddtree_tui.tree_parts import Line, Part, TreeLayout

GUTTER = len("15 ")
NOTE = "  1024 nodes, p <.001"
_PROBABLE = tuple((log(p), glyph) for p, glyph in PROBABLE)


def dense(shape: DraftShape, width: int) -> TreeLayout:
    """Draw every node of a round into ``width`` columns; depths with more nodes take more rows."""
    rows = _depths(shape)
    room = max(1, width - GUTTER)
    noted = room > 2 * len(NOTE)
    cells = room - len(NOTE) if noted else room
    lines: list[Line] = []
    for depth, families in enumerate(rows):
        lines += _row(shape, depth, families, cells, noted)
    longest = max(sum(len(part.text) for part in line) for line in lines)
    return TreeLayout(lines, longest, 0)


def _depths(shape: DraftShape) -> list[list[list[int]]]:
    """By depth, the families: what hangs below one place, in the order of the row above."""
    rows = [[[ROOT]]]
    while True:
        families = [below for family in rows[-1] for place in family if (below := shape.below(place))]
        if not families:
            return rows
        rows.append(families)


def _row(shape: DraftShape, depth: int, families: list[list[int]], cells: int, noted: bool) -> list[Line]:
    count = sum(len(family) for family in families)
    parted = count + len(families) - 1 <= cells
    parts: list[Part] = []
    for number, family in enumerate(families):
        if number and parted:
            parts.append(Part(" ", "line"))
        parts += [Part(_glyph(shape, place), shape.state(place), place) for place in family]
    chunks = [parts[start : start + cells] for start in range(0, len(parts), cells)]
    lines: list[Line] = []
    for number, chunk in enumerate(chunks):
        gutter = f"{depth:>2} " if number == 0 else " " * GUTTER
        lines.append([Part(gutter, "depth"), *chunk])
    nodes = [place for family in families for place in family if place >= 0]
    if noted and nodes:
        said = counted(len(nodes), "node")
        if shape.weighed:
            said += f", p {small_probability(sum(exp(shape.weights[node]) for node in nodes))}"
        filled = len(chunks[0])
        lines[0].append(Part(" " * (cells - filled + 2) + said, "note"))
    return lines


def _glyph(shape: DraftShape, place: int) -> str:
    state = shape.state(place)
    if state is State.NOT_REACHED and shape.weighed:
        for least, glyph in _PROBABLE:
            if shape.weights[place] >= least:
                return glyph
    return IN_ONE_CELL.get(state) or GLYPHS[state]
