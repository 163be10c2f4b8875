"""How long something took by itself, whatever else the machine had to do."""

from __future__ import annotations

import time
from pathlib import Path


class OwnTime:
    """Counts from its making on. ``process``: of whose main thread, the own thread by default."""

    def __init__(self, process: int | None = None) -> None:
        self._file = Path("/proc", str(process) if process else "thread-self", "schedstat")
        self._begin = time.monotonic() - self._kept_waiting()

    def seconds(self) -> float:
        """All but what the thread was kept waiting by others that had the processors; on Linux."""
        return time.monotonic() - self._kept_waiting() - self._begin

    def _kept_waiting(self) -> float:
        try:
            return int(self._file.read_text().split()[1]) / 1e9
        except OSError:
            return 0.0
