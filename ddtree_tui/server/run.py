"""One request on its way through the engine, seen from both ends: events come in, a reader takes them out."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator

from engine.commands import Generate
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Finished


class Run:
    """Belongs to the event loop's thread.

    Attributes:
        id: of the answer, as the client is told it.
        client: whose it is, for the queue.
        received, started, heard: ``time.monotonic`` of the arrival, of the start in the engine (None while it
            waits), and of the engine's last event.
        ended: whether the engine has said the last of what the reader is told.
        done: set when it has said all of it, so that what it says next is about the next one.
        timer: ends it when it takes too long.
        over: whether the reader has seen, or will see, the last event.
    """

    def __init__(self, id: str, command: Generate, client: str) -> None:  # noqa: A002
        self.id = id
        self.command = command
        self.client = client
        self.received = time.monotonic()
        self.started: float | None = None
        self.heard = self.received
        self.ended = False
        self.done = asyncio.Event()
        self.timer: asyncio.TimerHandle | None = None
        self.over = False
        self._events: deque[AnyEvent] = deque()
        self._news = asyncio.Event()

    @property
    def unread(self) -> int:
        """Events that the reader has not taken out yet."""
        return len(self._events)

    @property
    def waited(self) -> float:
        """Seconds in the queue, so far or in all."""
        return (self.started or time.monotonic()) - self.received

    def take(self, event: AnyEvent) -> None:
        """The engine says something about it; with an oracle also when the answer is finished."""
        unwatched = self.command.settings.oracle == "off"
        self.ended = self.ended or isinstance(event, Failed) or (unwatched and isinstance(event, Finished))
        self._tell(event, last=self.ended)

    def fail(self, error: EngineError) -> None:
        """Nothing will come of it: have the reader told so at once, whatever the engine still does."""
        self._tell(Failed(error=error.kind, message=error.message, hint=error.hint), last=True)

    def measured(self) -> None:
        """The memory was measured, or could not be, as asked for right behind this answer."""
        self.ended = self.over = True
        self.done.set()
        self._news.set()

    async def events(self) -> AsyncIterator[AnyEvent]:
        """All events, as they come."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self.over:
                return
            self._news.clear()
            await self._news.wait()

    def _tell(self, event: AnyEvent, *, last: bool) -> None:
        if self.over:
            return
        self.over = last
        self._events.append(event)
        self._news.set()
