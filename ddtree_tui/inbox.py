"""What a command without a screen waits for: the engine's events, and signals."""

from __future__ import annotations

import contextlib
import queue
import time

from engine.events import AnyEvent

CANCEL_SECONDS = 30.0
"""How long the engine may take to report the end of what was cancelled."""


class Inbox:
    """Filled by the engine's reader thread and by signal handlers, emptied by one reader."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[AnyEvent | int] = queue.SimpleQueue()
        self._deadline: float | None = None

    @property
    def ending(self) -> bool:
        """Whether the end is being waited for."""
        return self._deadline is not None

    def put(self, item: AnyEvent | int) -> None:
        """An event of the engine, or the number of a signal that arrived."""
        self._items.put(item)

    def expect_end(self) -> None:
        """All was cancelled just now."""
        self._deadline = time.monotonic() + CANCEL_SECONDS

    def get(self) -> AnyEvent | int | None:
        """The next one; None once a cancelled end is overdue."""
        if self._deadline is None:
            return self._items.get()
        with contextlib.suppress(queue.Empty):
            return self._items.get(timeout=max(0.0, self._deadline - time.monotonic()))
        return None
