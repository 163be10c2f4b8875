"""Which of the drafter's choices the target took, by depth and rank, before and after the path left the
drafter's first choices."""

from __future__ import annotations

from bisect import bisect_right

from ddtree_tui.statistics.observation import Observation

RANK_STARTS = (0, 1, 2, 3, 4, 8, 16)
"""Where each row of ranks begins; the last has no end."""


class HitCounts:
    """``taken[d - 1][r]``: how often the target's token at depth d was in row r of ranks, of the times that
    the accepted path came to depth d."""

    def __init__(self) -> None:
        self.taken: list[list[int]] = []

    def add(self, depth: int, rank: int) -> None:
        """Count the target's choice at a depth."""
        while len(self.taken) < depth:
            self.taken.append([0] * len(RANK_STARTS))
        self.taken[depth - 1][bisect_right(RANK_STARTS, rank) - 1] += 1

    def tries(self, depth: int) -> int:
        """How often the accepted path came to a depth."""
        return sum(self.taken[depth - 1]) if depth <= len(self.taken) else 0

    def rate(self, depth: int, row: int) -> float | None:
        """How often the target's token was in row ``row``; None where the path never came."""
        tries = self.tries(depth)
        return self.taken[depth - 1][row] / tries if tries else None

    @property
    def first_choices(self) -> tuple[int, int]:
        """Over all depths: how often the drafter's first choice was right, of how many."""
        return sum(row[0] for row in self.taken), sum(map(sum, self.taken))


class Hits:
    """Apart: the spine, as long as the path is the drafter's first choices, and the branches, once it has
    left them. One drafter forward guesses every depth without knowing the tokens before, so its guesses suit
    the spine best."""

    def __init__(self) -> None:
        self.spine = HitCounts()
        self.branches = HitCounts()

    def add(self, seen: Observation) -> None:
        """Count a round's choices."""
        for depth, rank, spine in seen.steps:
            (self.spine if spine else self.branches).add(depth, rank)

    def spine_at_same_depths(self) -> float | None:
        """The spine's rate of right first choices, its depths weighted as the branches have come to them:
        Σ_d n_d s_d / Σ_d n_d with n_d the branches' tries and s_d the spine's rate, where both have any.
        None where no depth has both."""
        right = tries = 0.0
        for depth in range(1, len(self.branches.taken) + 1):
            rate = self.spine.rate(depth, 0)
            if rate is not None:
                right += self.branches.tries(depth) * rate
                tries += self.branches.tries(depth)
        return right / tries if tries else None
