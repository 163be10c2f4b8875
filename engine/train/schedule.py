"""How far a training run is, and the learning rate that follows from it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


@dataclass
class Schedule:
    """A run limited by steps and by seconds; the seconds of earlier, killed runs count.

    Attributes:
        steps, seconds: the limits, infinite for none.
        warmup: steps over which the rate rises; not a time, which compiling at the start would eat.
        step: steps taken.
        spent: seconds spent before this process took over.
    """

    steps: float
    seconds: float
    warmup: int
    step: int = 0
    spent: float = 0.0

    def __post_init__(self) -> None:
        self._started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds spent in all."""
        return self.spent + time.monotonic() - self._started

    @property
    def fraction(self) -> float:
        """0 at the start, 1 when the run is over."""
        by_steps = self.step / self.steps if self.steps else 1.0
        by_time = self.elapsed / self.seconds if self.seconds else 1.0
        return min(1.0, max(by_steps, by_time))

    @property
    def over(self) -> bool:
        return self.fraction >= 1.0

    def factor(self) -> float:
        """Learning rate over its peak: half a cosine down to zero at the end, times a linear warm-up."""
        risen = min(1.0, (self.step + 1) / max(self.warmup, 1))
        return risen * 0.5 * (1 + math.cos(math.pi * self.fraction))
