"""Tokens per second, now, on average, and over time."""

from __future__ import annotations

from collections import deque

from ddtree_tui.statistics.observation import Observation

RECENT_MS = 1000.0
"""Speed "now" looks back over this much time in rounds."""
MOST_BUCKETS = 128
"""Of the history. A full one is halved, two buckets to one, so that a long run takes no more room."""


class Speed:
    """Time is that of the rounds: neither prefill nor waiting is in it. Those without a time do not count."""

    def __init__(self) -> None:
        self.tokens = 0
        self.ms = 0.0
        self._recent: deque[tuple[int, float]] = deque()
        self._recent_tokens = 0
        self._recent_ms = 0.0
        self._buckets: list[tuple[int, float]] = []
        self._per_bucket = 1
        self._in_last = 0

    def add(self, seen: Observation) -> None:
        """Count one more round."""
        tokens, ms = seen.length, seen.ms.total
        if not ms:
            return
        self.tokens += tokens
        self.ms += ms
        self._recent.append((tokens, ms))
        self._recent_tokens += tokens
        self._recent_ms += ms
        while self._recent_ms - self._recent[0][1] >= RECENT_MS:
            old_tokens, old_ms = self._recent.popleft()
            self._recent_tokens -= old_tokens
            self._recent_ms -= old_ms
        self._keep(tokens, ms)

    @property
    def mean(self) -> float:
        """Over all rounds."""
        return per_second(self.tokens, self.ms)

    @property
    def now(self) -> float:
        """Over the last second of decoding."""
        return per_second(self._recent_tokens, self._recent_ms)

    def history(self) -> list[float]:
        """Oldest first; each of as many rounds, the last of at most as many."""
        return [per_second(tokens, ms) for tokens, ms in self._buckets]

    def _keep(self, tokens: int, ms: float) -> None:
        if self._buckets and self._in_last < self._per_bucket:
            last_tokens, last_ms = self._buckets[-1]
            self._buckets[-1] = (last_tokens + tokens, last_ms + ms)
            self._in_last += 1
            return
        if len(self._buckets) == MOST_BUCKETS:
            pairs = zip(self._buckets[::2], self._buckets[1::2], strict=True)
            self._buckets = [(a + c, b + d) for (a, b), (c, d) in pairs]
            self._per_bucket *= 2
        self._buckets.append((tokens, ms))
        self._in_last = 1


def per_second(tokens: int, ms: float) -> float:
    """Tokens per second; 0 where no time has passed that a clock could tell."""
    return 1000.0 * tokens / ms if ms > 1e-6 else 0.0
