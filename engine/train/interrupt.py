"""Ctrl-C as a wish: work ends between two steps, with everything saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Whether the user has pressed Ctrl-C."""

    def __init__(self) -> None:
        self.asked = False


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Note the first Ctrl-C instead of raising; the second raises ``KeyboardInterrupt`` at once.

    Outside the main thread, which alone is told of Ctrl-C, nothing is ever noted.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(number: int, frame: FrameType | None) -> None:
        if interrupt.asked:
            raise KeyboardInterrupt
        interrupt.asked = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
