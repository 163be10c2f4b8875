"""Acceptance lengths: how many tokens rounds committed."""

from __future__ import annotations

from ddtree_tui.statistics.observation import Observation
from engine.events import Finished


class Acceptance:
    """``tokens``: those that rounds committed; ``written``: with the prefill's, one an answer.

    ``histogram[n]``: rounds that committed n tokens. ``last``: the newest's, None before the first."""

    def __init__(self) -> None:
        self.rounds = 0
        self.tokens = 0
        self.written = 0
        self.last: int | None = None
        self.histogram: list[int] = [0]

    def add(self, seen: Observation) -> None:
        """Count one more round."""
        self.rounds += 1
        self.tokens += seen.length
        self.written += seen.length + seen.first
        self.last = seen.length
        self._room(seen.length + 1)
        self.histogram[seen.length] += 1

    def add_totals(self, end: Finished) -> None:
        """Count the rounds of an imported answer that says only what they came to together."""
        self.rounds += end.rounds
        self.tokens += round(end.mean_acceptance_length * end.rounds)
        self.written += end.tokens
        self._room(len(end.acceptance_histogram))
        for length, rounds in enumerate(end.acceptance_histogram):
            self.histogram[length] += rounds

    def _room(self, lengths: int) -> None:
        self.histogram += [0] * (lengths - len(self.histogram))

    @property
    def mean(self) -> float:
        """Tokens committed per round; 0 before the first."""
        return self.tokens / self.rounds if self.rounds else 0.0
