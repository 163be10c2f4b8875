"""What a link has to tell the app: events, recorded as they come, and sentences. Filled by its threads."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from ddtree_tui.playback import MOST_AT_ONCE
from ddtree_tui.recorder import Recorder
from ddtree_tui.records import Records
from engine.errors import EngineError
from engine.events import AnyEvent, Loaded, Loading

MOST_WAITING = 4000
"""Events that wait for the screen; beyond, whoever sends them has to wait."""


class Outlet:
    """Not locked: its owner sees to that.

    Attributes:
        count: how many events were told so far.

    Raises:
        EngineError: ``trace_write`` if the trace cannot be made.
    """

    def __init__(self, trace: Path | None = None, recorder: Recorder | None = None) -> None:
        self.count = 0
        self._records = Records(trace, recorder)
        self._events: deque[AnyEvent] = deque()
        self._sentences: deque[str] = deque()

    @property
    def full(self) -> bool:
        """Whether too much waits for the screen."""
        return len(self._events) >= MOST_WAITING

    def put(self, event: AnyEvent, *, recorded: bool = True) -> None:
        """Tell an event."""
        if recorded:
            self._records.take(event)
        self._events.append(event)
        self.count += 1

    def say(self, error: EngineError) -> None:
        """Tell in passing what went wrong."""
        self._sentences.append(f"{error.message} {error.hint}".rstrip())

    def drain(self) -> list[AnyEvent]:
        """The events since the last call, in order; not too many at once."""
        return [self._events.popleft() for _ in range(min(len(self._events), MOST_AT_ONCE))]

    def problems(self) -> list[EngineError]:
        """What went wrong with the recording since the last call."""
        return self._records.problems()

    def sentences(self) -> list[str]:
        """What there is to be told in passing, since the last call."""
        return [self._sentences.popleft() for _ in range(len(self._sentences))]

    def forget(self) -> None:
        """Drop the events that wait, of what is watched no more."""
        kept = [event for event in self._events if isinstance(event, Loaded | Loading)]
        self._events.clear()
        self._events.extend(kept)

    def close(self) -> None:
        """Nothing more is recorded. Idempotent."""
        self._records.close()
