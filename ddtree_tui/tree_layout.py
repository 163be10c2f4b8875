"""A draft tree as lines of styled parts. Pure: a round goes in, text comes out; widgets only paint it.

Two layouts. *Horizontal*: a column per depth, the accepted path on the first row, every losing branch on
rows below, tied to its parent by box-drawing lines. *Indented*: the accepted path on the first row, then one
row per branch, named by the depth it leaves at; unary chains stay on one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp
from typing import Literal, NamedTuple

from ddtree_tui.draft_shape import FOLD, NEAR_MISS, ROOT, DraftShape, Pruned, prune
from ddtree_tui.escape import fit
from ddtree_tui.glyphs import GLYPHS, State, probability, small_probability

Label = Callable[[int], tuple[str, int]]
"""Token id -> its label and the cells it takes."""

Role = Literal["line", "probability", "depth", "note"] | State
MAX_LABEL = 24
DEPTHS_BEYOND = 2
"""How far beyond the accepted path losing branches are shown before columns get terse."""
FOLD_CELLS = len("▸ +17 (p .003)")


class Part(NamedTuple):
    """A piece of a line in one style. ``place``: the node (or ROOT, BONUS, ...) it belongs to, if any."""

    text: str
    role: Role
    place: int | None = None


Line = list[Part]


@dataclass(frozen=True)
class TreeLayout:
    """A drawing: ``lines`` from the top, ``width`` the longest in cells, ``hidden`` the nodes folded away."""

    lines: list[Line]
    width: int
    hidden: int


class Detail(NamedTuple):
    """How much of a node is shown: cells in front of it for lines, whether a space parts glyph and label,
    whether the probability is shown, and the longest label."""

    gap: int
    spaced: bool
    probabilities: bool
    label: int


COLUMNS = (
    (Detail(4, True, True, MAX_LABEL), Detail(4, True, True, 12), Detail(3, True, True, 8)),
    (Detail(3, True, False, 12), Detail(3, True, False, 8)),
    (Detail(2, False, False, 8), Detail(2, False, False, 6), Detail(2, False, False, 4)),
)
CHAINS = (
    Detail(2, True, True, MAX_LABEL),
    Detail(1, True, True, MAX_LABEL),
    Detail(1, True, False, MAX_LABEL),
    Detail(1, True, False, 8),
    Detail(1, False, False, 6),
    Detail(1, False, False, 4),
)
"""From rich to terse, for either layout; the first that fits the width is taken, the last scrolls. Between
the groups of ``COLUMNS`` deep losing nodes are folded before columns get terser."""


def lay_out(
    shape: DraftShape, label: Label, width: int, rows: int | None, *, horizontal: bool = True
) -> TreeLayout:
    """Draw a round into ``width`` columns and, folding what it must, ``rows`` rows.

    ``rows`` None draws every node, however many rows and columns that takes.
    """
    drawing: _Drawing
    if horizontal:
        drawing = _fit_columns(shape, label, width, rows)
    else:
        drawing = _Indented(prune(shape, rows), label, width)
    pruned = drawing.pruned
    lines = list(drawing.lines())
    longest = drawing.longest
    if pruned.gathered[0]:
        lines.append(_gathered_line(pruned))
        longest = max(longest, sum(len(part.text) for part in lines[-1]))
    return TreeLayout(lines, longest, len(pruned.shown) - sum(pruned.shown))


def _fit_columns(shape: DraftShape, label: Label, width: int, rows: int | None) -> _Horizontal:
    """Rich columns if need be at the price of the losers' deepest nodes, which say least; else terse ones."""
    whole = _Horizontal(prune(shape, rows), label, width)
    path = shape.depth(shape.end)
    for rank, details in enumerate(COLUMNS):
        if rows is None or (whole.fits and whole.rank <= rank):
            return whole
        least = path + (DEPTHS_BEYOND if details is not COLUMNS[-1] else 1)
        for detail in details:
            deepest = whole.depth_that_fits(detail)
            for depth in range(deepest, max(least, deepest - 1) - 1, -1):
                candidate = _Horizontal(prune(shape, rows, depth), label, width)
                if candidate.fits and candidate.rank <= rank:
                    return candidate
    return whole


def _gathered_line(pruned: Pruned) -> Line:
    nodes, p = pruned.gathered
    fold = Part(f"{GLYPHS[State.FOLDED]} +{nodes} (p {small_probability(p)})", State.FOLDED, FOLD)
    return [fold, Part(" in more branches", "note")]


class _Drawing:
    """What both layouts share: the entries below each shown node, and the parts of one place."""

    def __init__(self, pruned: Pruned, label: Label, width: int) -> None:
        self.pruned = pruned
        self.shape = pruned.shape
        self.label = label
        self.width = width
        self.longest = 0
        nodes = pruned.shape.round.nodes
        self.ids, self.logprobs = nodes.ids, nodes.logprobs
        self.entries: dict[int, list[int]] = {}
        stack = [ROOT]
        while stack:
            node = stack.pop()
            entries = self.entries[node] = pruned.entries(node)
            stack.extend(entry for entry in entries if entry >= 0)
        self.detail = self.choose_detail()

    def choose_detail(self) -> Detail:
        """The richest detail that fits the width."""
        raise NotImplementedError

    def lines(self) -> Iterator[Line]:
        """The drawing, from the top; sets ``longest`` on the way."""
        raise NotImplementedError

    def text(self, place: int, parent: int, room: int) -> tuple[str, int]:
        """A place's label, without glyph and probability, and its cells. ``room`` limits the token alone:
        neither a near miss's rank nor a fold's numbers are ever cut."""
        round_ = self.shape.round
        if place == FOLD:
            nodes, p = self.pruned.folded(parent)
            text = f"+{nodes} (p {small_probability(p)})"
            return text, len(text)
        token = self.ids[place] if place >= 0 else round_.root_id if place == ROOT else round_.bonus_id
        assert token is not None
        text, cells = self.label(token)
        if cells > room:
            text, cells = fit(text, room), room
        if place == NEAR_MISS and round_.miss is not None:
            rank = f" #{round_.miss.rank}"
            return text + rank, cells + len(rank)
        return text, cells

    def parts(self, place: int, parent: int, room: int, with_probability: bool) -> tuple[list[Part], int]:
        """Glyph, label of at most ``room`` cells and probability of a place, and the cells they take."""
        state = self.shape.state(place)
        text, cells = self.text(place, parent, room)
        spaced = self.detail.spaced and place != NEAR_MISS
        glyph = GLYPHS[state]
        parts = [Part(f"{glyph} {text}" if spaced else glyph + text, state, place)]
        cells += len(glyph) + spaced
        if with_probability:
            p = ""
            if place >= 0:
                p = " " + probability(exp(self.logprobs[place]))
            elif place == NEAR_MISS and self.shape.round.miss is not None:
                p = " " + small_probability(exp(self.shape.round.miss.logprob))
            if p:
                parts.append(Part(p, "probability", place))
                cells += len(p)
        return parts, cells


class _Horizontal(_Drawing):
    """Columns by depth. A row's last place may run on to the right: only inner places widen a column."""

    def choose_detail(self) -> Detail:
        self._widest: dict[int, int] = {}  # label of an inner place, by depth
        self._last: dict[int, int] = {}  # cells of a row's last place, without its probability
        for node, entries in self.entries.items():
            depth = self.shape.depth(node)
            if entries:
                cells = self.text(node, ROOT, MAX_LABEL)[1]
                self._widest[depth] = max(self._widest.get(depth, 0), cells)
            for entry in entries:
                if entry < 0 or not self.entries[entry]:
                    cells = 3 + self.text(entry, node, MAX_LABEL)[1]
                    self._last[depth + 1] = max(self._last.get(depth + 1, 0), cells)
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

    def _starts(self, detail: Detail) -> dict[int, int]:
        """Where each depth's glyphs start."""
        starts = {0: 0}
        for depth in range(max(self._last, default=0)):
            label = 1 + detail.spaced + min(self._widest.get(depth, 0), detail.label)
            probability_cells = len(" .03") if detail.probabilities and depth else 0
            starts[depth + 1] = starts[depth] + label + probability_cells + (detail.gap >= 4) + detail.gap
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
                if entries
                else max(self.detail.label, min(MAX_LABEL, self.width - start - 2))
            )
            with_probability = self.detail.probabilities if entries else True
            parts, cells = self.parts(
                place, parent, room, with_probability and self._fits(place, start, parent)
            )
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
        probability_cells = len(" <.001") if place == NEAR_MISS else len(" .03")
        return start + 2 + self.text(place, parent, MAX_LABEL)[1] + probability_cells <= self.width


class _Indented(_Drawing):
    """A row per leaf. Rows need no common columns, so each takes the richest detail that fits it."""

    def choose_detail(self) -> Detail:
        return CHAINS[0]

    def lines(self) -> Iterator[Line]:
        # (first place, its parent, indentation of the row, connector, indentation of rows below)
        stack: list[tuple[int, int, str, str, str]] = [(ROOT, ROOT, "", "", "")]
        while stack:
            place, parent, indent, connector, below = stack.pop()
            chain = self._chain(place, parent)
            yield self._row(chain, indent, connector)
            branches = [
                (entry, node) for node, _ in chain if node >= ROOT for entry in self.entries.get(node, [])[1:]
            ]
            for number in range(len(branches) - 1, -1, -1):
                entry, node = branches[number]
                last = number == len(branches) - 1
                corner = "└" if last else "├"
                stack.append(
                    (
                        entry,
                        node,
                        below,
                        f"{corner}{self.shape.depth(node) + 1:>2} ",
                        below + (" " if last else "│") + "   ",
                    )
                )

    def _chain(self, place: int, parent: int) -> list[tuple[int, int]]:
        """A place and, along first entries, all that follows it on its row; each with its parent."""
        chain = [(place, parent)]
        while place >= ROOT and (entries := self.entries.get(place)):
            place, parent = entries[0], place
            chain.append((place, parent))
        return chain

    def _row(self, chain: list[tuple[int, int]], indent: str, connector: str) -> Line:
        line: Line = []
        if connector:
            line += [Part(indent + connector[0], "line"), Part(connector[1:], "depth")]
        for detail in CHAINS:
            self.detail = detail
            separator = Part(" " * detail.gap, "line")
            row = list(line)
            used = len(indent) + len(connector)
            for number, (place, parent) in enumerate(chain):
                if number:
                    row.append(separator)
                    used += len(separator.text)
                with_probability = detail.probabilities or place == NEAR_MISS
                parts, cells = self.parts(place, parent, detail.label, with_probability)
                row.extend(parts)
                used += cells
            if used <= self.width:
                break
        self.longest = max(self.longest, used)
        return row
