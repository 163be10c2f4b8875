"""Acceptance lengths: how many tokens rounds committed."""

from __future__ import annotations

from ddtree_tui.statistics.observation import Observation


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
        self.histogram += [0] * (seen.length + 1 - len(self.histogram))
        self.histogram[seen.length] += 1

    @property
    def mean(self) -> float:
        """Tokens committed per round; 0 before the first."""
        return self.tokens / self.rounds if self.rounds else 0.0
