"""A round's draft tree, read for display: states, children in order, weights, what to fold. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from ddtree_tui.glyphs import State
from engine.events import Round

ROOT = -1
BONUS = -2
NEAR_MISS = -3
FOLD = -4
"""Places in a drawing that are no draft node. Nodes are 0, 1, ..."""


@dataclass(frozen=True)
class DraftShape:
    """What a drawing needs to know of a round, whatever its layout.

    Attributes:
        states: one per node.
        children: per node, and last of the root (so ``children[ROOT]`` is the root's): accepted first, then
            by falling path probability.
        weights: natural log of each node's path probability, the product of the drafter's marginals.
        sizes: nodes of each subtree, its top included.
        end: where the accepted path ends, ``ROOT`` if no node was accepted.
    """

    round: Round
    states: list[State]
    children: list[list[int]]
    weights: list[float]
    sizes: list[int]
    end: int

    @classmethod
    def of(cls, round_: Round) -> DraftShape:
        """Read a round in one pass forth (states, weights) and one back (sizes)."""
        nodes = round_.nodes
        count = len(nodes.ids)
        accepted = set(round_.accepted)
        end = round_.accepted[-1] if round_.accepted else ROOT
        # Where the answer ended on the path itself there was no next choice: nothing below was rejected.
        chosen_below_end = round_.bonus_id is not None
        states: list[State] = []
        weights: list[float] = []
        children: list[list[int]] = [[] for _ in range(count + 1)]
        for node, (parent, logprob) in enumerate(zip(nodes.parents, nodes.logprobs, strict=True)):
            weights.append(logprob + (weights[parent] if parent >= 0 else 0.0))
            children[parent].append(node)
            if node in accepted:
                states.append(State.ACCEPTED)
            elif (parent == ROOT or parent in accepted) and (parent != end or chosen_below_end):
                states.append(State.REJECTED)
            else:
                states.append(State.NOT_REACHED)
        sizes = [1] * count
        for node in range(count - 1, -1, -1):
            if (parent := nodes.parents[node]) >= 0:
                sizes[parent] += sizes[node]
        for siblings in children:
            if len(siblings) > 1:
                siblings.sort(key=lambda node: (node not in accepted, -weights[node], node))
        return cls(round_, states, children, weights, sizes, end)

    def extras(self, node: int) -> list[int]:
        """What hangs below a node besides its children: the bonus token, the near miss."""
        if node != self.end or self.round.bonus_id is None:
            return []
        miss = self.round.miss
        return [BONUS] if miss is None or miss.beyond else [BONUS, NEAR_MISS]

    def state(self, place: int) -> State:
        """The state of a node or of another place."""
        if place >= 0:
            return self.states[place]
        return _PLACES[place]

    def depth(self, place: int) -> int:
        """Root 0, its children 1."""
        if place >= 0:
            return self.round.nodes.depths[place]
        if place == ROOT:
            return 0
        return 1 + (self.round.nodes.depths[self.end] if self.end >= 0 else 0)


_PLACES = {
    ROOT: State.ROOT,
    BONUS: State.BONUS,
    NEAR_MISS: State.NEAR_MISS,
    FOLD: State.FOLDED,
}


@dataclass(frozen=True)
class Pruned:
    """Which nodes a drawing shows, and where the others fold.

    Below a node that shows nothing else, hidden nodes fold into an entry at the end of its row. Hidden
    siblings of shown nodes would take a row each, so they gather in one last row.

    Attributes:
        shown: one flag per node; closed under parents.
        rows: how many rows the drawing takes, the gathered one included.
        gathered: how many nodes the last row stands for, and the drafter's probability of them.
    """

    shape: DraftShape
    shown: list[bool]
    rows: int
    gathered: tuple[int, float]

    def entries(self, node: int) -> list[int]:
        """What is drawn below a node, in order: bonus, near miss, shown children; or else the fold."""
        children = self.shape.children[node]
        entries = self.shape.extras(node) + [child for child in children if self.shown[child]]
        return entries or ([FOLD] if children else [])

    def folded(self, node: int) -> tuple[int, float]:
        """How many nodes hide below a node, and the drafter's probability that the text goes through them."""
        return _folded(self.shape, self.shown, node)


def prune(shape: DraftShape, rows: int | None, max_depth: int | None = None) -> Pruned:
    """Fold the least probable branches until the drawing fits ``rows`` (None: no limit), and everything
    beside the accepted path that is deeper than ``max_depth``.

    The accepted path is always shown. Beside it the drawing shows the tree of a smaller budget: the
    nodes of highest path probability, as many as fit. Every leaf takes a row, so a node of n entries adds
    max(0, n - 1) rows. The bonus token's row, the near miss and the gathered row are never given up.
    """
    count = len(shape.states)
    parents = shape.round.nodes.parents
    shown = [state is State.ACCEPTED for state in shape.states]
    depths = shape.round.nodes.depths
    deepest = max_depth if max_depth is not None else max(depths, default=0)
    losers = sorted(
        (node for node in range(count) if not shown[node] and depths[node] <= deepest),
        key=lambda node: (-shape.weights[node], node),
    )
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
    gathered_nodes, gathered_p = 0, 0.0
    for node in range(-1, count):
        if (node == ROOT or shown[node]) and _shows_something(shape, shown, node):
            nodes, p = _folded(shape, shown, node)
            gathered_nodes, gathered_p = gathered_nodes + nodes, gathered_p + p
    return Pruned(shape, shown, best_rows, (gathered_nodes, gathered_p))


def _shows_something(shape: DraftShape, shown: list[bool], node: int) -> bool:
    return bool(shape.extras(node)) or any(shown[child] for child in shape.children[node])


def _folded(shape: DraftShape, shown: list[bool], node: int) -> tuple[int, float]:
    hidden = [child for child in shape.children[node] if not shown[child]]
    return sum(shape.sizes[child] for child in hidden), sum(exp(shape.weights[child]) for child in hidden)
