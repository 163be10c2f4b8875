"""Signals as something to be read, for commands that end in their own time."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def signals_to(take: Callable[[int], object]) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP handed to ``take`` instead of ending the process."""

    def deliver(number: int, frame: FrameType | None) -> None:
        take(number)

    before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
    number: int
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup: stay deaf
            before[number] = signal.signal(number, deliver)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
