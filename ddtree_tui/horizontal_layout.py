"""A draft tree across: a column per depth, the accepted path on the first row, losing branches below.

Branches are tied to their parents by box-drawing lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape
from ddtree_tui.tree_folds import Folds, Pruned, prune
from ddtree_tui.tree_parts import (
    MAX_LABEL,
    Detail,
    Drawing,
    Label,
    Line,
    Numbers,
    Part,
    TreeLayout,
    numbers_text,
)

DEPTHS_BEYOND = 2
"""How far beyond the accepted path losing branches are shown before columns get terse."""
FOLD_CELLS = len("▸ +17 (p .003)")
P_CELLS = len(" .03")

COLUMNS = (
    (
        Detail(4, True, Numbers.P, MAX_LABEL),
        Detail(4, True, Numbers.P, 12),
        Detail(3, True, Numbers.P, 8),
    ),
    (Detail(3, True, Numbers.NONE, 12), Detail(3, True, Numbers.NONE, 8)),
    (
        Detail(2, False, Numbers.NONE, 8),
        Detail(2, False, Numbers.NONE, 6),
        Detail(2, False, Numbers.NONE, 4),
    ),
)
"""From rich to terse; the first that fits the width is taken, the last scrolls. Between the groups deep
losing nodes are folded before columns get terser."""
LEVELS = (
    Detail(2, False, Numbers.NONE, 4),
    Detail(3, True, Numbers.NONE, 8),
    Detail(4, True, Numbers.P, 12),
    Detail(4, True, Numbers.ALL, MAX_LABEL),
)
"""What the user can ask for instead, however wide that gets."""
TOLD = (
    Detail(2, True, Numbers.P, MAX_LABEL),
    Detail(2, True, Numbers.P, 12),
    Detail(2, True, Numbers.NONE, MAX_LABEL),
    Detail(1, True, Numbers.NONE, 12),
    Detail(1, False, Numbers.NONE, 6),
)
"""Of an accepted path that is told in full above the tree, from rich to terse."""
TOLD_LINES = 2
ROWS_A_LINE = 6
"""It takes a line for so many rows, up to the most."""
PATH = "path  "


def horizontal(
    shape: DraftShape, label: Label, width: int, rows: int | None, level: int, folds: Folds
) -> TreeLayout:
    """Draw a round across; see ``ddtree_tui.tree_layout.lay_out``."""
    if level:
        return _Horizontal(prune(shape, rows, folds=folds), label, width, LEVELS[level - 1]).layout()
    return _that_fits(shape, label, width, rows, folds)


def _that_fits(shape: DraftShape, label: Label, width: int, rows: int | None, folds: Folds) -> TreeLayout:
    """What the width takes. Where columns get so narrow that they cut the accepted path, it stands above them
    in full: what became text must be readable."""
    drawing, deepest = _terse_enough(shape, label, width, rows, folds)
    most = TOLD_LINES if rows is None else min(TOLD_LINES, rows // ROWS_A_LINE)
    if not most or not drawing.cuts_the_path():
        return drawing.layout()
    told = drawing.path_in_full(most)
    if rows is not None and drawing.pruned.rows + len(told) > rows:
        drawing = _Horizontal(prune(shape, rows - len(told), deepest, folds), label, width)
    return drawing.layout(told)


def _terse_enough(
    shape: DraftShape, label: Label, width: int, rows: int | None, folds: Folds
) -> tuple[_Horizontal, int | None]:
    """Rich columns if need be at the price of the losers' deepest nodes, which say least; else terse ones.
    With them the last depth that is shown beside the path, None without a limit."""
    whole = _Horizontal(prune(shape, rows, folds=folds), label, width)
    path = shape.depth(shape.end)
    for rank, details in enumerate(COLUMNS):
        if rows is None or (whole.fits and whole.rank <= rank):
            return whole, None
        least = path + (DEPTHS_BEYOND if details is not COLUMNS[-1] else 1)
        for detail in details:
            deepest = whole.depth_that_fits(detail)
            for depth in range(deepest, max(least, deepest - 1) - 1, -1):
                candidate = _Horizontal(prune(shape, rows, depth, folds), label, width)
                if candidate.fits and candidate.rank <= rank:
                    return candidate, depth
    return whole, None


class _Horizontal(Drawing):
    """Columns by depth. A row's last place may run on to the right: only inner places widen a column."""

    def __init__(self, pruned: Pruned, label: Label, width: int, asked: Detail | None = None) -> None:
        self._asked = asked
        super().__init__(pruned, label, width)

    def choose_detail(self) -> Detail:
        self._widest: dict[int, int] = {}  # label of an inner place, by depth
        self._last: dict[int, int] = {}  # cells of a row's last place, without its numbers
        self._numbers: dict[int, int] = {}  # cells of an inner place's numbers where all are asked for
        for node, entries in self.entries.items():
            depth = self.shape.depth(node)
            if entries:
                cells = self.text(node, ROOT, MAX_LABEL)[1]
                self._widest[depth] = max(self._widest.get(depth, 0), cells)
                if self._asked is not None:
                    said = len(numbers_text(self.shape, node, self._asked.numbers))
                    self._numbers[depth] = max(self._numbers.get(depth, 0), said)
            for entry in entries:
                if entry < 0 or not self.entries[entry]:
                    cells = 3 + self.text(entry, node, MAX_LABEL)[1]
                    self._last[depth + 1] = max(self._last.get(depth + 1, 0), cells)
        self.rank, self.fits = 0, True
        if self._asked is not None:
            self._start = self._starts(self._asked)
            return self._asked
        for self.rank, details in enumerate(COLUMNS):
            for detail in details:
                self._start = self._starts(detail)
                ends = (self._start[depth] + cells for depth, cells in self._last.items())
                self.fits = max(ends, default=0) <= self.width
                if self.fits:
                    return detail
        return COLUMNS[-1][-1]

    def depth_that_fits(self, detail: Detail) -> int:
        """The last depth whose column, and a fold behind it, are inside the width."""
        starts = self._starts(detail)
        return max(
            (depth - 1 for depth, start in starts.items() if start + FOLD_CELLS <= self.width), default=0
        )

    def cuts_the_path(self) -> bool:
        """Whether the columns leave out probabilities of the accepted path, or parts of its tokens."""
        accepted = self.shape.round.accepted
        if accepted and not self.detail.numbers:
            return True
        return any(self.text(node, ROOT, MAX_LABEL)[1] > self.detail.label for node in accepted)

    def path_in_full(self, most: int) -> list[Line]:
        """The accepted path and the bonus token as a paragraph of at most ``most`` lines."""
        detail, shape = self.detail, self.shape
        places = [*shape.round.accepted, *([BONUS] if shape.extras(shape.end) else [])]
        chain = [(place, shape.parent(place)) for place in places]
        lines = self.paragraph(chain, TOLD, most, PATH, " " * len(PATH))
        self.detail = detail
        return lines

    def _starts(self, detail: Detail) -> dict[int, int]:
        """Where each depth's glyphs start."""
        starts = {0: 0}
        for depth in range(max(self._last, default=0)):
            label = 1 + detail.spaced + min(self._widest.get(depth, 0), detail.label)
            numbers = self._numbers.get(depth, 0) if self._asked else P_CELLS * bool(detail.numbers and depth)
            starts[depth + 1] = starts[depth] + label + numbers + (detail.gap >= 4) + detail.gap
        return starts

    def lines(self) -> Iterator[Line]:
        gap = self.detail.gap
        bar_before, bar_after = (1, gap - 2) if gap >= 3 else (0, gap - 1)
        lead = " " * bar_before
        tail = "─" * min(bar_after, 1) + " " * (bar_after - 1)
        first_of_many = ("─" * bar_before) + "┬" + tail
        only_child = ("─" * bar_before) + "─" + tail
        # (place, parent, depth, spaces and bars in front of its own connector, first?, last?)
        stack: list[tuple[int, int, int, str, bool, bool]] = [(ROOT, ROOT, 0, "", True, True)]
        line: Line = []
        x = 0
        while stack:
            place, parent, depth, prefix, first, last = stack.pop()
            start = self._start[depth]
            if depth:
                if first:
                    connector = only_child if last else first_of_many
                    fill = start - gap - x
                    if self.detail.gap >= 4 and fill > 0:
                        connector = " " + "─" * (fill - 1) + connector
                    else:
                        connector = "─" * fill + connector
                else:
                    yield line
                    line = []
                    branch = "╌" if place == NEAR_MISS else "─"
                    connector = prefix + lead + ("└" if last else "├") + tail.replace("─", branch)
                line.append(Part(connector, "line"))
            entries = self.entries.get(place, []) if place >= ROOT else []
            room = (
                self.detail.label
                if entries or self._asked
                else max(self.detail.label, min(MAX_LABEL, self.width - start - 2))
            )
            numbers = self.detail.numbers
            if self._asked is None:
                wanted = numbers if entries else Numbers.P
                numbers = wanted if self._fits(place, start, parent) else Numbers.NONE
            parts, cells = self.parts(place, parent, room, numbers)
            line.extend(parts)
            x = start + cells
            self.longest = max(self.longest, x)
            if not entries:
                continue
            own = prefix + lead + (" " if last else "│") + " " * (gap - len(lead) - 1) if depth else ""
            below = own.ljust(self._start[depth + 1] - gap)
            final = len(entries) - 1
            stack.extend(
                (entries[number], place, depth + 1, below, number == 0, number == final)
                for number in range(final, -1, -1)
            )
        yield line

    def _fits(self, place: int, start: int, parent: int) -> bool:
        """Whether a place and its probability are inside the width."""
        probability_cells = len(" <.001") if place == NEAR_MISS else P_CELLS
        return start + 2 + self.text(place, parent, MAX_LABEL)[1] + probability_cells <= self.width
