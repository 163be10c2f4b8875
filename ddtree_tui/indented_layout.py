"""A draft tree down: the accepted path on the first row, then a row per branch.

A branch has the depth it leaves at on its line. Unary chains stay on one row; that of the accepted path,
which must be readable, goes on below where it is long.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_tui.draft_shape import NEAR_MISS, ROOT, DraftShape
from ddtree_tui.tree_folds import Folds, Pruned, prune
from ddtree_tui.tree_parts import (
    MAX_LABEL,
    Detail,
    Drawing,
    Label,
    Line,
    Numbers,
    Part,
    Step,
    TreeLayout,
)

CHAINS = (
    Detail(2, True, Numbers.P, MAX_LABEL),
    Detail(1, True, Numbers.P, MAX_LABEL),
    Detail(1, True, Numbers.NONE, MAX_LABEL),
    Detail(1, True, Numbers.NONE, 8),
    Detail(1, False, Numbers.NONE, 6),
    Detail(1, False, Numbers.NONE, 4),
)
"""From rich to terse; each row takes the first that fits the width, the last scrolls."""
LEVELS = (
    Detail(1, False, Numbers.NONE, 4),
    Detail(1, True, Numbers.NONE, 8),
    Detail(2, True, Numbers.P, 12),
    Detail(2, True, Numbers.ALL, MAX_LABEL),
)
"""What the user can ask for instead, however wide that gets."""
MOST_LINES = 3
ROWS_A_LINE = 4
"""The accepted path takes a line more for so many rows, up to the most."""


def indented(
    shape: DraftShape, label: Label, width: int, rows: int | None, level: int, folds: Folds
) -> TreeLayout:
    """Draw a round down; see ``ddtree_tui.tree_layout.lay_out``."""
    if level:
        return _Indented(prune(shape, rows, folds=folds), label, width, LEVELS[level - 1 : level]).layout()
    most = MOST_LINES if rows is None else max(1, min(MOST_LINES, rows // ROWS_A_LINE))
    drawing = _Indented(prune(shape, rows, folds=folds), label, width, CHAINS, most)
    layout = drawing.layout()
    if rows is not None and drawing.more_lines and len(layout.lines) > rows:
        pruned = prune(shape, rows - drawing.more_lines, folds=folds)
        layout = _Indented(pruned, label, width, CHAINS, most).layout()
    return layout


class _Indented(Drawing):
    """A row per leaf. Rows need no common columns, so each takes the richest detail that fits it.

    Attributes:
        more_lines: how many the accepted path takes below its first.
    """

    def __init__(
        self, pruned: Pruned, label: Label, width: int, details: tuple[Detail, ...], most: int = 1
    ) -> None:
        self._details, self._most = details, most
        self.more_lines = 0
        super().__init__(pruned, label, width)

    def choose_detail(self) -> Detail:
        return self._details[0]

    def lines(self) -> Iterator[Line]:
        # (first place, its parent, indentation of the row, connector, indentation of rows below)
        stack: list[tuple[int, int, str, str, str]] = [(ROOT, ROOT, "", "", "")]
        while stack:
            place, parent, indent, connector, below = stack.pop()
            chain = self._chain(place, parent)
            branches = [
                (entry, node) for node, _ in chain if node >= ROOT for entry in self.entries.get(node, [])[1:]
            ]
            if place == ROOT:
                beside = "│   " if branches else "    "
                path = self.paragraph(chain, self._details, self._most, "", beside)
                self.more_lines = len(path) - 1
                yield from path
            else:
                yield self._row(chain, indent, connector)
            for number in range(len(branches) - 1, -1, -1):
                entry, node = branches[number]
                last = number == len(branches) - 1
                corner = "└" if last else "├"
                stack.append(
                    (
                        entry,
                        node,
                        below,
                        f"{corner}{self.shape.depth(node) + 1:─>2}─",
                        below + (" " if last else "│") + "   ",
                    )
                )

    def _chain(self, place: int, parent: int) -> list[Step]:
        """A place and, along first entries, all that follows it on its row; each with its parent."""
        chain = [(place, parent)]
        while place >= ROOT and (entries := self.entries.get(place)):
            place, parent = entries[0], place
            chain.append((place, parent))
        return chain

    def _row(self, chain: list[Step], indent: str, connector: str) -> Line:
        depth = connector.strip("├└─")
        before, behind = connector.split(depth)
        line: Line = [Part(indent + before, "line"), Part(depth, "depth"), Part(behind, "line")]
        for detail in self._details:
            self.detail = detail
            separator = Part(" " * detail.gap, "line")
            row = list(line)
            used = len(indent) + len(connector)
            for number, (place, parent) in enumerate(chain):
                if number:
                    row.append(separator)
                    used += len(separator.text)
                numbers = max(detail.numbers, Numbers.P) if place == NEAR_MISS else detail.numbers
                parts, cells = self.parts(place, parent, detail.label, numbers)
                row.extend(parts)
                used += cells
            if used <= self.width:
                break
        self.longest = max(self.longest, used)
        return row
