"""Which nodes of a draft tree a drawing shows, and where the others fold. Draws nothing."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import exp

from ddtree_tui.draft_shape import FOLD, ROOT, DraftShape
from ddtree_tui.glyphs import State


@dataclass(frozen=True)
class Folds:
    """What the user wants to see, whatever the room. The accepted path is always shown.

    Attributes:
        opened: nodes (or the root) whose whole subtree is shown.
        closed: nodes (or the root) that nothing is shown below; between nested ones the nearer counts.
        kept: nodes that are shown with all above them, as where the cursor is.
    """

    opened: Set[int] = frozenset()
    closed: Set[int] = frozenset()
    kept: Set[int] = frozenset()


NO_FOLDS = Folds()
DECISIVE = 3
"""Of a drawing's rows one in so many goes first of all to what the target refused where the path ended."""


@dataclass(frozen=True)
class Pruned:
    """Which nodes a drawing shows, and where the others fold.

    Below a node that shows nothing else, hidden nodes fold into an entry at the end of its row. Hidden
    siblings of shown nodes would take a row each, so they gather in one last row.

    Attributes:
        shown: one flag per node; closed under parents.
        rows: how many rows the drawing takes, the gathered one included.
        gathered: how many nodes the last row stands for, and the drafter's probability of them.
        barred: nodes that the user has folded away.
    """

    shape: DraftShape
    shown: list[bool]
    rows: int
    gathered: tuple[int, float]
    barred: Set[int] = frozenset()

    def entries(self, node: int) -> list[int]:
        """What is drawn below a node, in order: bonus, near miss, shown children; or else the fold."""
        children = self.shape.children[node]
        entries = self.shape.extras(node) + [child for child in children if self.shown[child]]
        return entries or ([FOLD] if children else [])

    def folded(self, node: int) -> tuple[int, float]:
        """How many nodes hide below a node, and the drafter's probability that the text goes through them."""
        return _folded(self.shape, self.shown, node)

    def lone(self, node: int) -> int | None:
        """The only node that hides below a node, if there is just one and the user has not folded it."""
        children = self.shape.children[node]
        if len(children) == 1 and self.shape.sizes[children[0]] == 1 and children[0] not in self.barred:
            return children[0]
        return None


def prune(
    shape: DraftShape, rows: int | None, max_depth: int | None = None, folds: Folds = NO_FOLDS
) -> Pruned:
    """Fold the least probable branches until the drawing fits ``rows`` (None: no limit), and everything
    beside the accepted path that is deeper than ``max_depth``. What the user wants to see comes on top, so
    that to open one branch folds no other.

    The accepted path is always shown. Beside it come the best of what the target refused where the path
    ended, for they say why it did; then the tree of a smaller budget: the nodes of highest path probability,
    as many as fit. Every leaf takes a row, so a node of n entries adds max(0, n - 1) rows. The bonus token's
    row, the near miss and the gathered row are never given up.
    """
    count = len(shape.states)
    parents, depths = shape.round.nodes.parents, shape.round.nodes.depths
    shown = [state is State.ACCEPTED for state in shape.states]
    deepest = max_depth if max_depth is not None else max(depths, default=0)
    forced, barred = _wanted(shape, folds)
    losers = sorted(
        (node for node in range(count) if not shown[node] and depths[node] <= deepest and node not in barred),
        key=lambda node: (-shape.weights[node], node),
    )
    if rows is not None and (refused := _refused_at_the_end(shape, barred)[: rows // DECISIVE]):
        losers = refused + [node for node in losers if node not in refused]
    entries = [0] * (count + 1)  # drawn below each node; the root is last
    hidden = [0] * (count + 1)
    for node in range(-1, count):
        visible = sum(shown[child] for child in shape.children[node])
        entries[node] = visible + len(shape.extras(node))
        hidden[node] = len(shape.children[node]) - visible
    on_path = [ROOT, *shape.round.accepted]
    taken = 1 + sum(max(0, entries[node] - 1) for node in on_path)
    gathering = sum(entries[node] > 0 and hidden[node] > 0 for node in on_path)
    best, best_rows = 0, taken + (gathering > 0)
    for added, node in enumerate(losers, 1):
        parent = parents[node]
        gathering -= entries[parent] > 0 and hidden[parent] > 0
        taken += entries[parent] > 0
        entries[parent] += 1
        hidden[parent] -= 1
        gathering += hidden[parent] > 0
        if rows is None or taken + (gathering > 0) <= rows:
            best, best_rows = added, taken + (gathering > 0)
    for node in losers[:best]:
        shown[node] = True
    if not all(shown[node] for node in forced):
        for node in forced:
            shown[node] = True
        best_rows = _rows(shape, shown)
    return Pruned(shape, shown, best_rows, _gather(shape, shown, barred), barred)


def _refused_at_the_end(shape: DraftShape, barred: Set[int]) -> list[int]:
    """What was drafted in the bonus token's stead, the most probable first."""
    below = shape.children[shape.end] if shape.round.bonus_id is not None and shape.round.tree_known else []
    return [node for node in below if node not in barred]


def _wanted(shape: DraftShape, folds: Folds) -> tuple[set[int], set[int]]:
    """The nodes that must be shown, and those that must not be."""
    forced: set[int] = set()
    for node in folds.kept:
        forced.update(shape.path(node)[1:])
    barred: set[int] = set()
    if not folds.opened and not folds.closed:
        return forced, barred
    kept, opens, closes = frozenset(forced), 1, 2
    below = [0] * (len(shape.states) + 1)  # what holds for a node's children; the root is last
    for node in range(-1, len(shape.states)):
        above = below[shape.round.nodes.parents[node]] if node >= 0 else 0
        if node >= 0 and above == opens:
            forced.add(node)
        elif node >= 0 and above == closes and shape.states[node] is not State.ACCEPTED and node not in kept:
            barred.add(node)
        inside = node not in barred
        if node in folds.opened and inside:
            forced.update(shape.path(node)[1:])
        below[node] = opens if node in folds.opened and inside else closes if node in folds.closed else above
    return forced, barred


def _rows(shape: DraftShape, shown: list[bool]) -> int:
    """How many rows the shown nodes take: one a leaf, and the gathered one."""
    rows, gathering = 1, False
    for node in range(-1, len(shape.states)):
        if node == ROOT or shown[node]:
            visible = sum(shown[child] for child in shape.children[node])
            entries = visible + len(shape.extras(node))
            rows += max(0, entries - 1)
            gathering |= entries > 0 and visible < len(shape.children[node])
    return rows + gathering


def _gather(shape: DraftShape, shown: list[bool], barred: Set[int]) -> tuple[int, float]:
    """Hidden siblings of what is shown: how many nodes and how probable. A single one takes the gathered row
    itself, so it is shown instead."""
    gathered, p = 0, 0.0
    hidden: list[int] = []
    for node in range(-1, len(shape.states)):
        if (node == ROOT or shown[node]) and _shows_something(shape, shown, node):
            more, probability = _folded(shape, shown, node)
            gathered, p = gathered + more, p + probability
            if more:
                hidden += [child for child in shape.children[node] if not shown[child]]
    if gathered == 1 and hidden[0] not in barred:
        shown[hidden[0]] = True
        return 0, 0.0
    return gathered, p


def _shows_something(shape: DraftShape, shown: list[bool], node: int) -> bool:
    return bool(shape.extras(node)) or any(shown[child] for child in shape.children[node])


def _folded(shape: DraftShape, shown: list[bool], node: int) -> tuple[int, float]:
    hidden = [child for child in shape.children[node] if not shown[child]]
    return sum(shape.sizes[child] for child in hidden), sum(exp(shape.weights[child]) for child in hidden)
