"""What all drawings of a draft tree are made of: styled parts, and how much of a node they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal, NamedTuple

from ddtree_tui.draft_shape import FOLD, NEAR_MISS, ROOT, DraftShape, fold_below
from ddtree_tui.escape import fit
from ddtree_tui.glyphs import GLYPHS, State, probability, small_probability
from ddtree_tui.tree_folds import Pruned

Label = Callable[[int], tuple[str, int]]
"""Token id -> its label and the cells it takes."""

Role = Literal["line", "probability", "depth", "note"] | State
MAX_LABEL = 24


class Part(NamedTuple):
    """A piece of a line in one style. ``place``: the node (or ROOT, BONUS, a fold ...) it belongs to."""

    text: str
    role: Role
    place: int | None = None


Line = list[Part]
Step = tuple[int, int]
"""A place of a chain, and its parent."""


@dataclass(frozen=True)
class TreeLayout:
    """A drawing: ``lines`` from the top, ``width`` the longest in cells, ``hidden`` the nodes folded away.

    ``told``: so many of the lines stand above the tree and say in full what it has to cut of its accepted
    path, whose places are in both."""

    lines: list[Line]
    width: int
    hidden: int
    told: int = 0


class Numbers:
    """How many numbers stand behind a token. ``ALL``: p and rank of the drafter, p of the target."""

    NONE, P, ALL = range(3)


class Detail(NamedTuple):
    """How much of a node is shown: cells in front of it for lines, whether a space parts glyph and label,
    which ``Numbers``, and the longest label."""

    gap: int
    spaced: bool
    numbers: int
    label: int


def numbers_text(shape: DraftShape, place: int, numbers: int) -> str:
    """What the drafter and the target thought of a place's token, as ``Numbers`` says, led by a space."""
    if numbers == Numbers.NONE:
        return ""
    if place == NEAR_MISS and shape.round.miss is not None:
        return " " + small_probability(exp(shape.round.miss.logprob))  # its rank is part of its label
    nodes = shape.round.nodes
    drafter = f" {probability(exp(nodes.logprobs[place]))}" if place >= 0 and nodes.logprobs else ""
    if numbers == Numbers.P:
        return drafter
    rank = f" #{nodes.ranks[place]}" if place >= 0 and nodes.ranks else ""
    target = shape.target_logprob(place)
    return drafter + rank + (f" t{probability(exp(target))}" if target is not None else "")


def fold_text(shape: DraftShape, nodes: int, p: float) -> str:
    """What a fold says behind its glyph: how many nodes it hides, and how probable they are, if known."""
    return f"+{nodes} (p {small_probability(p)})" if shape.weighed else f"+{nodes}"


def gathered_line(pruned: Pruned) -> Line:
    """The last row: hidden siblings of what is shown."""
    text = f"{GLYPHS[State.FOLDED]} {fold_text(pruned.shape, *pruned.gathered)}"
    return [Part(text, State.FOLDED, FOLD), Part(" in more branches", "note")]


class Drawing:
    """What layouts with labels share: the entries below each shown node, and the parts of one place."""

    def __init__(self, pruned: Pruned, label: Label, width: int) -> None:
        self.pruned = pruned
        self.shape = pruned.shape
        self.label = label
        self.width = width
        self.longest = 0
        self.ids = pruned.shape.round.nodes.ids
        self.entries: dict[int, list[int]] = {}
        stack = [ROOT]
        while stack:
            node = stack.pop()
            entries = self.entries[node] = self._entries(node)
            stack.extend(entry for entry in entries if entry >= 0)
        self.detail = self.choose_detail()

    def choose_detail(self) -> Detail:
        """The richest detail that fits the width."""
        raise NotImplementedError

    def lines(self) -> Iterator[Line]:
        """The drawing, from the top; sets ``longest`` on the way."""
        raise NotImplementedError

    def layout(self, told: Sequence[Line] = ()) -> TreeLayout:
        """The lines, the gathered row behind them; above them what is ``told`` of the path in full."""
        lines = [*told, *self.lines()]
        longest = self.longest
        if self.pruned.gathered[0]:
            lines.append(gathered_line(self.pruned))
            longest = max(longest, sum(len(part.text) for part in lines[-1]))
        return TreeLayout(lines, longest, len(self.pruned.shown) - sum(self.pruned.shown), len(told))

    def paragraph(
        self, chain: Sequence[Step], details: Sequence[Detail], most: int, first: str, then: str
    ) -> list[Line]:
        """Places one behind the other, in the richest of the details in which they take at most ``most``
        lines. In the last of them nothing gives way any more: the last line runs on.

        Args:
            first, then: what the first line begins with, and the others.
        """
        for detail in details:
            self.detail = detail
            lines: list[Line] = [[Part(first, "note")] if first else []]
            used, longest = len(first), 0
            for number, (place, parent) in enumerate(chain):
                numbers = max(detail.numbers, Numbers.P) if place == NEAR_MISS else detail.numbers
                parts, cells = self.parts(place, parent, detail.label, numbers)
                gap = detail.gap if number else 0
                full = used + gap + cells > self.width
                if number and full and not (detail is details[-1] and len(lines) == most):
                    lines.append([Part(then, "line")])
                    used, gap = len(then), 0
                if gap:
                    lines[-1].append(Part(" " * gap, "line"))
                lines[-1] += parts
                used += gap + cells
                longest = max(longest, used)
            if longest <= self.width and len(lines) <= most:
                break
        self.longest = max(self.longest, longest)
        return lines

    def text(self, place: int, parent: int, room: int) -> tuple[str, int]:
        """A place's label, without glyph and numbers, and its cells. ``room`` limits the token alone:
        neither a near miss's rank nor a fold's numbers are ever cut."""
        round_ = self.shape.round
        if place == FOLD:
            text = fold_text(self.shape, *self.pruned.folded(parent))
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

    def parts(self, place: int, parent: int, room: int, numbers: int) -> tuple[list[Part], int]:
        """Glyph, label of at most ``room`` cells and numbers of a place, and the cells they take."""
        state = self.shape.state(place)
        text, cells = self.text(place, parent, room)
        spaced = self.detail.spaced and place != NEAR_MISS
        glyph = GLYPHS[state]
        marked = fold_below(parent) if place == FOLD else place
        parts = [Part(f"{glyph} {text}" if spaced else glyph + text, state, marked)]
        cells += len(glyph) + spaced
        if numbers and place != FOLD and (said := numbers_text(self.shape, place, numbers)):
            parts.append(Part(said, "probability", place))
            cells += len(said)
        return parts, cells

    def _entries(self, node: int) -> list[int]:
        """What is drawn below a node. A single node that takes no more room than its fold is no fold."""
        entries = self.pruned.entries(node)
        if entries == [FOLD] and (lone := self.pruned.lone(node)) is not None:
            fold_cells = len(fold_text(self.shape, *self.pruned.folded(node)))
            if self.label(self.ids[lone])[1] <= fold_cells:
                self.pruned.shown[lone] = True
                return [lone]
        return entries
