"""What the last nodes of the budget bought.

Nodes come best-first, and the tree of a smaller budget is the first nodes of the larger one. So a round's
acceptance length at a smaller budget b is known without decoding again: the accepted path up to the first
node whose place is b or beyond, and the target's token there.
"""

from __future__ import annotations

from itertools import accumulate

from ddtree_tui.statistics.observation import Observation


class Marginal:
    """Over rounds in mode ``tree`` of a known budget. ``gains[n]``: tokens that the node in place n added.

    Attributes:
        budget: the largest budget among the rounds.
    """

    def __init__(self) -> None:
        self.rounds = 0
        self.budget = 0
        self.gains: list[int] = []

    def add(self, seen: Observation) -> None:
        """Count a round's accepted places."""
        if seen.mode != "tree" or not seen.drafted or not seen.budget:
            return
        self.rounds += 1
        self.budget = max(self.budget, seen.budget)
        for place in seen.gains:
            if place >= len(self.gains):
                self.gains += [0] * (place + 1 - len(self.gains))
            self.gains[place] += 1

    def tokens_per_round(self, budget: int) -> float:
        """Mean acceptance length of these same rounds, had no tree had more than ``budget`` nodes."""
        return 1 + sum(self.gains[:budget]) / self.rounds if self.rounds else 0.0

    def curve(self) -> list[float]:
        """``tokens_per_round`` of budgets 0 (the root alone) to ``budget``."""
        if not self.rounds:
            return []
        padded = self.gains + [0] * (self.budget - len(self.gains))
        return [1 + total / self.rounds for total in accumulate(padded, initial=0)]
