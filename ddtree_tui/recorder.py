"""Records every run by itself, in a thread of its own: neither the engine nor the screen waits for a disk."""

from __future__ import annotations

import contextlib
import errno
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from ddtree_tui.runs_folder import LIMIT_BYTES, new_path, remove_oldest
from engine.diagnosis.ranking import begins_answer
from engine.errors import EngineError
from engine.events import (
    AnyEvent,
    Checked,
    Checking,
    Divergence,
    Failed,
    Finding,
    Finished,
    Lane,
    Loaded,
    Loading,
    Prefilled,
    Racing,
    Round,
    Tokens,
)
from engine.recording import Announced, RunWriter, own

FLUSH_SECONDS = 2.0
"""A round is on the disk that soon after it came, or earlier where its block is full."""
MOST_BEHIND = 2000
"""Rounds that wait for a slow disk, some 150 MB of them; beyond, the recording is given up."""
CLOSE_SECONDS = 5.0
"""How long the end of the app waits for the disk."""


class Recorder:
    """Takes the engine's events and keeps each run, an answer or a race, as a file in ``folder``.

    Whatever goes wrong ends the recording of that run, never the run. It is said once.

    Args:
        folder: made when the first run begins.
        limit_bytes: most that all recordings take; the oldest are removed for new ones.
        clock: seconds since 1970.
    """

    def __init__(
        self, folder: Path, *, limit_bytes: int = LIMIT_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self.folder = folder
        self._limit = limit_bytes
        self._clock = clock
        self._queue: queue.SimpleQueue[AnyEvent | None] = queue.SimpleQueue()
        self._problems: deque[EngineError] = deque()
        self._announced = Announced()
        self._loaded: Loaded | None = None
        self._writer: RunWriter | None = None
        self._flush_at = 0.0
        self._told = False
        self._early: list[Finding] = []  # found before the prefill of the answer they are of
        self._ends = 0  # that the run of the writer still lacks: one, or as many as its race has lanes
        self._taken = self._begun = 0  # runs, as counted by the caller and by the thread
        self._given_up = 0
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def take(self, event: AnyEvent) -> None:
        """Record an event, later. Never waits."""
        self._taken += isinstance(event, Prefilled | Racing)
        if isinstance(own(event), Round) and self._queue.qsize() > MOST_BEHIND:
            self._given_up = self._taken
        else:
            self._queue.put(event)

    def problems(self) -> list[EngineError]:
        """What is to be told since the last call; of kind ``record``, at most one in all."""
        return [self._problems.popleft() for _ in range(len(self._problems))]

    def close(self) -> None:
        """Write what is left and end. Idempotent."""
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while True:
            try:
                event = self._queue.get(timeout=self._patience())
            except queue.Empty:
                self._attempt(self._flush)
                continue
            if event is None:
                self._attempt(self._end)
                return
            self._attempt(lambda: self._record(event))  # noqa: B023
            if self._writer is not None and time.monotonic() >= self._flush_at:
                self._attempt(self._flush)

    def _patience(self) -> float | None:
        """Seconds until what has been gathered is to be written; None while there is nothing."""
        if self._writer is None or not self._writer.pending:
            return None
        return max(0.0, self._flush_at - time.monotonic())

    def _record(self, event: AnyEvent) -> None:
        match event:
            case Loading() | Checking():
                return
            case Loaded():
                self._end()  # of an engine that died
                self._loaded = event
            case Tokens():
                self._announced.learn(event)
            case Prefilled() | Racing():
                self._begun += 1
                self._end()
                self._begin(event)
            case Finding() if (self._writer is None or not self._ends) and begins_answer(event):
                self._early.append(event)
            case Divergence() | Finding() | Checked() | Lane() if self._writer is not None and not self._ends:
                self._writer.write(event)  # found out later
                self._writer.flush()
            case _ if self._writer is not None and self._ends:
                if self._given_up == self._begun:
                    raise OSError(errno.ETIMEDOUT, "the disk is too slow")
                if not self._writer.pending:
                    self._flush_at = time.monotonic() + FLUSH_SECONDS
                self._writer.write(event)
                if self._writer.size > self._limit:
                    raise OSError(errno.EFBIG, "it is larger than all recordings may be")
                if isinstance(event, Failed):  # of all lanes at once
                    self._ends = 0
                elif isinstance(own(event), Finished | Failed):
                    self._ends -= 1

    def _begin(self, event: Prefilled | Racing) -> None:
        if self._loaded is None:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_oldest(self.folder, self._limit)
        self._writer = RunWriter(new_path(self.folder, self._clock()), self._loaded, self._announced)
        self._writer.write(event)
        if isinstance(event, Prefilled):
            for finding in self._early:
                self._writer.write(finding)
            self._early.clear()
        self._ends = len(event.lanes) if isinstance(event, Racing) else 1

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()
            self._flush_at = time.monotonic() + FLUSH_SECONDS

    def _end(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            remove_oldest(self.folder, max(self._limit, writer.size))

    def _attempt(self, step: Callable[[], None]) -> None:
        """Do it; a failure ends this run's recording and is told, the first time."""
        try:
            step()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._end()
            if not self._told:
                self._told = True
                self._problems.append(_problem(self.folder, error))


def _problem(folder: Path, error: OSError) -> EngineError:
    reason = "there is no room left" if error.errno == errno.ENOSPC else (error.strerror or str(error))
    return EngineError(
        "record",
        f"This run is not recorded any further in {folder}: {reason}.",
        "The run goes on. --no-record turns recording off.",
        str(error),
    )
