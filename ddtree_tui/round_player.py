"""Plays rounds that are there already, in the time that they took. Draws nothing, waits for nothing."""

from __future__ import annotations

from collections.abc import Callable

SPEEDS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)


class RoundPlayer:
    """``now`` is any clock in seconds that only moves forward.

    Attributes:
        speed: 1 is as fast as it was decoded.
    """

    def __init__(self) -> None:
        self.speed = 1.0
        self._index: int | None = None
        self._since = 0.0

    @property
    def playing(self) -> bool:
        return self._index is not None

    def start(self, index: int, now: float) -> None:
        """Play from round ``index`` on."""
        self._index, self._since = index, now

    def stop(self) -> None:
        self._index = None

    def due(self, now: float, count: int, ms_of: Callable[[int], float]) -> int | None:
        """The round to show now, None if that has not changed. Ends with the last of ``count`` rounds.

        ``ms_of(i)``: milliseconds that round i took.
        """
        if self._index is None:
            return None
        before = self._index
        while self._index + 1 < count:
            seconds = ms_of(self._index + 1) / 1000.0 / self.speed
            if now - self._since < seconds:
                break
            self._since += seconds
            self._index += 1
        index = self._index
        if index + 1 >= count:
            self.stop()
        return index if index != before else None

    def change_speed(self, by: int, now: float) -> None:
        """The next speed of ``SPEEDS``, up or down. The time that has passed counts at the old one."""
        place = min(max(0, SPEEDS.index(self.speed) + by), len(SPEEDS) - 1)
        self._since = now - (now - self._since) * self.speed / SPEEDS[place]
        self.speed = SPEEDS[place]


def speed_text(speed: float) -> str:
    """``×2``, ``×1/8``."""
    return f"×{speed:.0f}" if speed >= 1 else f"×1/{1 / speed:.0f}"
