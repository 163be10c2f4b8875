"""When the app may paint: so many times in any second, and for the user as soon as that allows."""

from __future__ import annotations

from collections import deque

MOST = 15
"""Paints in any second, unless fewer are asked for."""
FOR_NEWS = 11 / 15
"""The part of these that may be for the engine's news alone; the rest is for what the user does."""


class Pace:
    """Remembers the last second's paints. Times are those of one monotonic clock.

    Attributes:
        most: paints in any second.
        gap: seconds between two paints for the engine's news, and between two for the user.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.gap = 0.994 / max(1, most - 1)  # a little less than a second for all gaps but one
        self._news = max(1, round(most * FOR_NEWS))
        self._paints: deque[float] = deque(maxlen=most)
        self._last_for_user = 0.0

    def painted(self, now: float, for_user: bool = False) -> None:
        """Something went to the terminal."""
        self._paints.append(now)
        if for_user:
            self._last_for_user = now

    def news_at(self) -> float:
        """From when on the engine's news may be painted."""
        last = self._paints[-1] + self.gap if self._paints else 0.0
        return max(last, self._free(self._news))

    def user_at(self) -> float:
        """From when on something the user did may be painted. Keys held down are followed evenly."""
        return max(self._last_for_user + self.gap, self._free(self.most))

    def _free(self, most: int) -> float:
        """From when on one more paint makes no more than ``most`` in a second."""
        return self._paints[-most] + 1.0 if len(self._paints) >= most else 0.0
