"""Notices an engine that should report something and does not. Pure: the caller has the clock."""

from __future__ import annotations

SILENCE_SECONDS = 30.0
"""A round takes milliseconds, a long prompt on a slow device seconds."""


class Watchdog:
    """Looked at regularly. ``barked``: the silence has been told of, and goes on."""

    def __init__(self, patience: float = SILENCE_SECONDS) -> None:
        self.patience = patience
        self.barked = False
        self._since: float | None = None

    def look(self, now: float, *, waiting: bool, heard: bool) -> bool:
        """Whether there has been silence for too long; said once until something is heard again.

        Args:
            now: seconds of a monotonic clock.
            waiting: the engine is at work, and not asked to pause.
            heard: it has reported something since the last look.
        """
        if not waiting or heard or self._since is None:
            self._since = now if waiting else None
            self.barked = False
            return False
        if self.barked or now - self._since < self.patience:
            return False
        self.barked = True
        return True

    def wait_longer(self, now: float) -> None:
        """Tell of the silence again when it has lasted as long once more."""
        self._since, self.barked = now, False
