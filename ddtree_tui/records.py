"""What is kept of the events a link gets: the trace file that was asked for, and the app's own recording."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from ddtree_tui.recorder import Recorder
from engine.errors import EngineError
from engine.events import AnyEvent
from engine.trace import TraceWriter


class Records:
    """Fed by a link's thread; what goes wrong waits for the app, and the run goes on.

    Raises:
        EngineError: ``trace_write`` if the trace cannot be made.
    """

    def __init__(self, trace: Path | None = None, recorder: Recorder | None = None) -> None:
        self._trace = TraceWriter(trace) if trace is not None else None
        self._recorder = recorder
        self._problems: deque[EngineError] = deque()

    def take(self, event: AnyEvent) -> None:
        """Keep an event."""
        if self._recorder is not None:
            self._recorder.take(event)
        if self._trace is not None:
            try:
                self._trace.write(event)
            except EngineError as error:
                self._problems.append(error)

    def problems(self) -> list[EngineError]:
        """What went wrong since the last call, such as a full disk under the trace."""
        recording = self._recorder.problems() if self._recorder is not None else []
        return [*recording, *(self._problems.popleft() for _ in range(len(self._problems)))]

    def close(self) -> None:
        """Nothing more is kept. Idempotent."""
        if self._recorder is not None:
            self._recorder.close()
        if self._trace is not None:
            self._trace.close()
