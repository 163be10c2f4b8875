"""Sums over all rounds of a session, so that any stretch of them is told without a look at each. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from enum import Enum

from ddtree_tui.comparison_lane import ComparisonLane
from engine.events import Miss
from engine.packed import RoundSummary


class Mark(Enum):
    """What is worth a sign under a bar. The value names its style."""

    NEAR_MISS = "near-miss"
    BEYOND = "beyond"
    DIVERGENCE = "divergence"
    FINDING = "finding"


MARKS: dict[Mark, str] = {Mark.NEAR_MISS: "→", Mark.BEYOND: "×", Mark.DIVERGENCE: "≠", Mark.FINDING: "!"}
MARK_NAMES: dict[Mark, str] = {
    Mark.NEAR_MISS: "near miss",
    Mark.BEYOND: "not on the drafter's list",
    Mark.DIVERGENCE: "not the target's own",
    Mark.FINDING: "noticed",
}
MARK_MEANINGS: dict[Mark, str] = {
    Mark.NEAR_MISS: "the path ended at a token on the drafter's list",
    Mark.BEYOND: "it ended at one that was not on the list",
    Mark.DIVERGENCE: "a token that the target alone would not write",
    Mark.FINDING: "something that a detector noticed shows here first",
}

ANSWER_BORDER = "┊"


class Overview:
    """Running totals: entry i of each counts the rounds before round i.

    Attributes:
        longest: the largest acceptance length.
        divergent: rounds with a token that the target alone would not have written, ascending.
        lane: what the oracle said of every round.
        noticed: rounds that something noticed by a detector shows in first, ascending.
    """

    def __init__(self) -> None:
        self.longest = 0
        self.divergent: list[int] = []
        self.lane = ComparisonLane()
        self.noticed: list[int] = []
        self._tokens = array("q", [0])
        self._near = array("q", [0])
        self._beyond = array("q", [0])

    def __len__(self) -> int:
        return len(self._tokens) - 1

    def add(self, acceptance_length: int, miss: Miss | None) -> None:
        """Count the next round."""
        self.longest = max(self.longest, acceptance_length)
        self._tokens.append(self._tokens[-1] + acceptance_length)
        self._near.append(self._near[-1] + (miss is not None and not miss.beyond))
        self._beyond.append(self._beyond[-1] + (miss is not None and miss.beyond))

    def diverges(self, index: int) -> None:
        """Round ``index`` holds a divergence."""
        if index not in self.divergent:
            insort(self.divergent, index)

    def forget_divergences(self, first: int, end: int) -> None:
        """Those of rounds ``first`` to ``end - 1`` are looked for anew."""
        self.divergent = [index for index in self.divergent if not first <= index < end]

    def notices(self, index: int) -> None:
        """Something that a detector noticed shows in round ``index`` first."""
        if index not in self.noticed:
            insort(self.noticed, index)

    def mean(self, first: int, end: int) -> float:
        """Mean acceptance length of rounds ``first`` to ``end - 1``."""
        return (self._tokens[end] - self._tokens[first]) / (end - first)

    def mark(self, first: int, end: int) -> Mark | None:
        """A divergence if there is one, or something noticed; else how at least half of these rounds have
        missed."""
        for rounds, mark in ((self.divergent, Mark.DIVERGENCE), (self.noticed, Mark.FINDING)):
            place = bisect_left(rounds, first)
            if place < len(rounds) and rounds[place] < end:
                return mark
        half = (end - first) / 2
        if self._beyond[end] - self._beyond[first] >= half:
            return Mark.BEYOND
        return Mark.NEAR_MISS if self._near[end] - self._near[first] >= half else None


def worst_first(summaries: Iterable[RoundSummary]) -> list[int]:
    """Rounds of modes that draft, by rising acceptance length. Among equals those that missed come before
    those that the answer's end cut short; then by time. Of mode ar, one token is all that can come."""
    keys = {
        number: (summary.acceptance_length, summary.miss is None)
        for number, summary in enumerate(summaries)
        if summary.drafting
    }
    return sorted(keys, key=keys.__getitem__)


def next_worst(order: Sequence[int], after: int | None) -> int | None:
    """The worst round, or the next worst after round ``after``; behind the last the worst again."""
    if not order:
        return None
    return order[0] if after is None else order[(order.index(after) + 1) % len(order)]
