"""When the app may paint: at most 15 times in any second, and for the user as soon as that allows."""

from __future__ import annotations

from collections import deque

MOST = 15
"""Paints in any second."""
NEWS = 11
"""Of these, at most so many for the engine's news alone; the rest is for what the user does."""
GAP_SECONDS = 0.071
"""Between two paints for the engine's news, and between two for the user: 14 a second."""


class Pace:
    """Remembers the last second's paints. Times are those of one monotonic clock."""

    def __init__(self) -> None:
        self._paints: deque[float] = deque(maxlen=MOST)
        self._last_for_user = 0.0

    def painted(self, now: float, for_user: bool = False) -> None:
        """Something went to the terminal."""
        self._paints.append(now)
        if for_user:
            self._last_for_user = now

    def news_at(self) -> float:
        """From when on the engine's news may be painted."""
        last = self._paints[-1] + GAP_SECONDS if self._paints else 0.0
        return max(last, self._free(NEWS))

    def user_at(self) -> float:
        """From when on something the user did may be painted. Keys held down are followed evenly."""
        return max(self._last_for_user + GAP_SECONDS, self._free(MOST))

    def _free(self, most: int) -> float:
        """From when on one more paint makes no more than ``most`` in a second."""
        return self._paints[-most] + 1.0 if len(self._paints) >= most else 0.0
