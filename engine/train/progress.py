"""Progress of long work as printed lines, so that it reads well in a terminal and in a log."""

from __future__ import annotations

import time


class Progress:
    """One stage's lines: done, time left, and what the stage wants to show; one every few seconds at most."""

    def __init__(self, stage: str, every: float = 5.0) -> None:
        self._stage = stage
        self._every = every
        self._started = time.monotonic()
        self._first: float | None = None
        self._shown = float("-inf")

    def update(self, fraction: float, text: str = "") -> None:
        """Say how far the stage is (0 to 1); the last update is always shown."""
        now = time.monotonic()
        if self._first is None:
            self._first = fraction
        if now - self._shown < self._every and fraction < 1:
            return
        self._shown = now
        gained = fraction - self._first
        left = (now - self._started) / gained * (1 - fraction) if gained > 0 else None
        filled = int(min(fraction, 1.0) * 20)
        bar = "#" * filled + "." * (20 - filled)
        wait = "" if left is None else f" {clock(left)} left"
        print(f"{self._stage:<9}[{bar}] {fraction:4.0%}{wait}  {text}", flush=True)


def clock(seconds: float) -> str:
    """Minutes and seconds, as ``3:07``."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"
