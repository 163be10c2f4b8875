"""One round, read for statistics: what the sums of every scope take from it."""

from __future__ import annotations

from bisect import bisect_right
from math import exp
from typing import NamedTuple

from engine.events import Round, StageTimes
from engine.settings import MAX_BUDGET, Mode

EDGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""Between the bins of path probabilities. Most nodes of a tree are improbable, so the low bins are narrow."""


class Step(NamedTuple):
    """What the target chose at one depth that the accepted path came to.

    Attributes:
        depth: 1 below the root.
        rank: the drafter's rank of that token at that depth; 0 is its first choice.
        spine: whether the path before it was the drafter's first choices only.
    """

    depth: int
    rank: int
    spine: bool


class Observation(NamedTuple):
    """What one round tells.

    Attributes:
        first: whether it is its answer's first round, in front of which the prefill wrote one token.
        budget: most nodes the tree could have; outside mode ``tree`` as many as it had; 0 where unknown.
        drafted: nodes of the tree.
        accepted: nodes of the accepted path.
        steps: the target's choices along the accepted path, and the one it missed, if its rank is known.
        gains: places in best-first order of the nodes that made the round one token longer each.
        complete: whether the target's choice ended the path. Where the end of the text cut it instead, nobody
            knows which nodes below would have been accepted.
        weighed: whether the drafter's probabilities of what it drafted are known; imports may not say them.
        expected: the drafter's own guess of ``accepted``: the sum of all path probabilities.
        bins: per bin of path probability (``EDGES``): nodes and the sum of their probabilities. Empty unless
            complete.
        hits: per accepted node, its bin. Empty unless complete.
    """

    mode: Mode
    first: bool
    budget: int
    length: int
    drafted: int
    accepted: int
    ms: StageTimes
    steps: tuple[Step, ...]
    gains: tuple[int, ...]
    complete: bool
    weighed: bool
    expected: float
    bins: tuple[list[int], list[float]]
    hits: tuple[int, ...]

    @classmethod
    def of(cls, round_: Round) -> Observation:
        """Read a round in one pass over its nodes (0.1 ms at 256)."""
        nodes, accepted = round_.nodes, round_.accepted
        complete = round_.bonus_id is not None
        expected, bins = 0.0, ([0] * (len(EDGES) + 1), [0.0] * (len(EDGES) + 1))
        hits: tuple[int, ...] = ()
        if complete and nodes.logprobs:
            # The path probability of a node is the product of the drafter's marginals along its path.
            weights: list[float] = []
            for parent, logprob in zip(nodes.parents, nodes.logprobs, strict=True):
                weights.append(logprob + weights[parent] if parent >= 0 else logprob)
            probabilities = [exp(min(0.0, weight)) for weight in weights]  # a file may hold anything
            expected = sum(probabilities)
            counts, sums = bins
            for p in probabilities:
                place = bisect_right(EDGES, p)
                counts[place] += 1
                sums[place] += p
            hits = tuple(bisect_right(EDGES, probabilities[node]) for node in accepted)
        return cls(
            mode=round_.mode,
            first=round_.index == 0,
            budget=_budget(round_),
            length=round_.acceptance_length,
            drafted=len(nodes.ids),
            accepted=len(accepted),
            ms=round_.ms,
            steps=_steps(round_),
            # With fewer nodes the target's own token stands where the first missing node stood: that node is
            # no loss when the text ended on it.
            gains=tuple(accepted if complete else accepted[:-1]),
            complete=complete,
            weighed=round_.tree_known and len(nodes.logprobs) == len(nodes.ids),
            expected=expected,
            bins=bins,
            hits=hits,
        )


def _budget(round_: Round) -> int:
    drafted = len(round_.nodes.ids)
    if round_.mode == "tree" and not round_.budget:
        return 0
    return max(drafted, min(round_.budget, MAX_BUDGET)) if round_.mode == "tree" else drafted


def _steps(round_: Round) -> tuple[Step, ...]:
    steps: list[Step] = []
    spine = True
    if not (round_.nodes.ranks and round_.target.gaps):  # an import: what was missed, and how far, is unknown
        return ()
    for node in round_.accepted:
        rank = max(0, round_.nodes.ranks[node])
        steps.append(Step(round_.nodes.depths[node], rank, spine))
        spine = spine and rank == 0
    if round_.miss is not None and round_.miss.depth == len(steps) + 1:
        steps.append(Step(round_.miss.depth, round_.miss.rank, spine))
    return tuple(steps)
