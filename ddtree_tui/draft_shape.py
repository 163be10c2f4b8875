"""A round's draft tree, read for display: states, children in order, weights. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass

from ddtree_tui.glyphs import State
from engine.events import Round

ROOT = -1
BONUS = -2
NEAR_MISS = -3
FOLD = -4
"""Places in a drawing that are no draft node. Nodes are 0, 1, ...; from ``FOLD`` down there is one for the
fold below each node."""


@dataclass(frozen=True)
class DraftShape:
    """What a drawing needs to know of a round, whatever its layout.

    Attributes:
        states: one per node.
        children: per node, and last of the root (so ``children[ROOT]`` is the root's): accepted first, then
            by falling path probability.
        weights: natural log of each node's path probability, the product of the drafter's marginals; all 0
            where they are unknown (``weighed``), as in imports.
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
        logprobs = nodes.logprobs or [0.0] * count
        accepted = set(round_.accepted)
        end = round_.accepted[-1] if round_.accepted else ROOT
        # Where the answer ended on the path itself there was no next choice: nothing below was rejected.
        chosen_below_end = round_.bonus_id is not None
        states: list[State] = []
        weights: list[float] = []
        children: list[list[int]] = [[] for _ in range(count + 1)]
        for node, (parent, logprob) in enumerate(zip(nodes.parents, logprobs, strict=True)):
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

    @property
    def weighed(self) -> bool:
        """Whether the drafter's probabilities are known."""
        return bool(self.round.nodes.logprobs)

    def extras(self, node: int) -> list[int]:
        """What hangs below a node besides its children: the bonus token, the near miss. Where the tree is
        unknown, so is what the bonus token hangs below."""
        if node != self.end or self.round.bonus_id is None or not self.round.tree_known:
            return []
        miss = self.round.miss
        return [BONUS] if miss is None or miss.beyond else [BONUS, NEAR_MISS]

    def state(self, place: int) -> State:
        """The state of a node or of another place."""
        if place >= 0:
            return self.states[place]
        return State.FOLDED if place <= FOLD else _PLACES[place]

    def parent(self, place: int) -> int:
        """What a place hangs below; the root itself below none, so it is its own parent."""
        if place >= 0:
            return self.round.nodes.parents[place]
        return folded_node(place) if place <= FOLD else ROOT if place == ROOT else self.end

    def below(self, place: int) -> list[int]:
        """What hangs below a place, in the order it is drawn."""
        return self.extras(place) + self.children[place] if place >= ROOT else []

    def token(self, place: int) -> int | None:
        """The token of a place; None of a fold."""
        if place >= 0:
            return self.round.nodes.ids[place]
        if place == ROOT:
            return self.round.root_id
        return self.round.bonus_id if place in (BONUS, NEAR_MISS) else None

    def subtree(self, place: int) -> list[int]:
        """Everything below a place, nearest first."""
        found = self.below(place)
        for below in found:  # grows on the way
            found.extend(self.below(below))
        return found

    def path(self, place: int) -> list[int]:
        """From the root down to a place."""
        path = [place]
        while path[-1] != ROOT:
            path.append(self.parent(path[-1]))
        return path[::-1]

    def target_logprob(self, place: int) -> float | None:
        """The target's log-probability of a place's token where it was to choose it; None if it is not known,
        as for tokens it did not choose in a round without details."""
        if place == ROOT or (token := self.token(place)) is None:
            return None
        row = self.parent(place) + 1
        if self.round.target.logprobs and self.round.target.ids[row] == token:
            return self.round.target.logprobs[row]
        top = self.round.target_topk
        if top is not None and row < len(top.ids) and token in top.ids[row]:
            return top.logprobs[row][top.ids[row].index(token)]
        return None

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
}


def fold_below(node: int) -> int:
    """The place of the fold that stands for what is hidden below a node or the root."""
    return FOLD - 1 - node


def folded_node(fold: int) -> int:
    """The node, or the root, that a fold hangs below: the inverse of ``fold_below``."""
    return FOLD - 1 - fold
