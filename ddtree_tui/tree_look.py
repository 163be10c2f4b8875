"""How the user looks at a draft tree: arrangement, level of detail, folds, cursor, search. Pure state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ddtree_tui.draft_shape import FOLD, ROOT, DraftShape, folded_node
from ddtree_tui.glyphs import State
from ddtree_tui.tree_folds import Folds
from ddtree_tui.tree_layout import ARRANGEMENTS, MOST_DETAIL, Arrangement, arrangement_for

Landmark = Literal["leaf", "miss", "rejected"]


@dataclass
class TreeLook:
    """What holds from round to round, and what is of the shown round alone.

    Attributes:
        arrangement: None goes by the width.
        level: of detail, 0 is what fits.
        unfolded: every node is shown, but for branches that are closed.
        cursor: the place it is at, or None while there is none.
        pointed: the place whose token is selected in the text, if one is.
        opened, closed: nodes of this round whose subtrees were opened or closed by hand.
        found: nodes of this round that match the search, in order.
    """

    arrangement: Arrangement | None = None
    level: int = 0
    unfolded: bool = False
    cursor: int | None = None
    pointed: int | None = None
    opened: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    needle: str = ""
    found: list[int] = field(default_factory=list)

    def enter_round(self, shape: DraftShape | None) -> None:
        """Another round is shown: folds and matches were those of the old one, and the cursor, if there is
        one, goes to where the accepted path ends."""
        self.opened.clear()
        self.closed.clear()
        self.found = []
        self.pointed = None
        if self.cursor is not None:
            self.cursor = shape.end if shape is not None else ROOT

    def folds(self) -> Folds:
        """What the drawing has to show and to hide."""
        kept = frozenset({self.cursor} if self.cursor is not None and self.cursor >= 0 else ())
        return Folds(frozenset(self.opened), frozenset(self.closed), kept)

    def arranged(self, columns: int) -> Arrangement:
        """The arrangement on a terminal of so many columns."""
        return self.arrangement or arrangement_for(columns)

    def next_arrangement(self, columns: int) -> None:
        """Go through the arrangements, starting behind the one that is used; then back to going by width."""
        others = [None, *(name for name in ARRANGEMENTS if name != arrangement_for(columns))]
        used = others.index(self.arrangement) if self.arrangement in others else 0
        self.arrangement = others[(used + 1) % len(others)]

    def set_level(self, level: int) -> None:
        """A level of detail, 0 for what fits."""
        self.level = max(0, min(level, MOST_DETAIL))

    def toggle_fold(self, shape: DraftShape, place: int, hides: bool) -> None:
        """Open the whole subtree of a place, or close it; of a fold, open what it hides.

        ``hides``: whether anything below the place is hidden at the moment."""
        node = folded_node(place) if place <= FOLD else place
        if node < ROOT or not shape.children[node]:
            return
        self.opened = {other for other in self.opened if node not in shape.path(other)}
        self.closed = {other for other in self.closed if node not in shape.path(other)}
        (self.opened if hides else self.closed).add(node)

    def fold_all(self) -> None:
        """Show the accepted path alone."""
        self.unfolded = False
        self.opened.clear()
        self.closed = {ROOT}

    def unfold_all(self) -> None:
        """Show every node, or, if that is so already, fold to the height again."""
        self.unfolded = not self.unfolded or bool(self.closed)
        self.opened.clear()
        self.closed.clear()

    def landmark(self, shape: DraftShape, which: Landmark) -> int | None:
        """A place worth jumping to, None where the round has none.

        ``leaf``: where the accepted path ends. ``miss``: what the target wanted there and the tree had not.
        ``rejected``: of the nodes the target refused, the one the drafter took for the most probable path."""
        if which == "leaf":
            return shape.end
        if which == "miss":
            return next(reversed(shape.extras(shape.end)), None)
        refused = [node for node, state in enumerate(shape.states) if state is State.REJECTED]
        return max(refused, key=lambda node: shape.weights[node], default=None)

    def find(self, label_of: dict[int, str]) -> None:
        """Look for the needle among the labels of the tree's tokens: root, nodes, bonus and near miss."""
        needle = self.needle.casefold().replace(" ", "␣")
        self.found = [place for place, text in label_of.items() if needle and needle in text.casefold()]

    def next_found(self, by: int) -> int | None:
        """The match after (or before) the cursor, in the tree's order, around the end."""
        if not self.found:
            return None
        if self.cursor in self.found:
            return self.found[(self.found.index(self.cursor) + by) % len(self.found)]
        return self.found[0 if by > 0 else -1]
