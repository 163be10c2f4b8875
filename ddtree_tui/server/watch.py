"""The engine's events for those who watch: kept for a while, and sent on as they come.

Nobody who watches can hold the engine up. A viewer that is too slow gets summaries of the rounds it missed;
the rounds themselves can be fetched later.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ddtree_tui.server.run import Run
from engine.event_lines import encode_event
from engine.events import AnyEvent, Failed, Finished, Loaded, Prefilled, Round, Tokens

VIEWER_BYTES = 4 * 2**20
"""Of events that wait for one viewer; beyond, its rounds are summed up."""
MOST_VIEWER_BYTES = 32 * VIEWER_BYTES
"""Beyond, the viewer is let go."""
_KEPT = (Tokens, Finished, Failed)
MAX_VIEWERS = 32
MAX_REQUESTS = 1000
"""So many are kept at most: what is known of each takes memory too, however few its events."""


@dataclass(eq=False)
class Watched:
    """A request and its events so far.

    Attributes:
        events: each by its number, as a JSON line without line break. Where there were too many for the room
            it is the first ones, and of the others what spells tokens and what ends the answer.
        count: how many events there were.
        state: ``running``, or how it ended: ``stop``, ``length``, ``cancelled`` or ``failed``.
    """

    id: str
    kind: str
    started: float
    settings: dict[str, Any]
    events: list[tuple[int, bytes]] = field(default_factory=list)
    count: int = 0
    size: int = 0
    state: str = "running"
    rounds: int = 0
    tokens: int = 0
    prompt_tokens: int = 0

    def add(self, event: AnyEvent, line: bytes, limit: int) -> None:
        """Take in an event; its line is kept while all of them fit into ``limit`` bytes, and what the others
        cannot be read without while it fits into as much again."""
        number, size = self.count, self.size + len(line)
        self.count += 1
        whole = size <= limit and len(self.events) == number
        if whole or (isinstance(event, _KEPT) and size <= 2 * limit):
            self.events.append((number, line))
            self.size = size
        match event:
            case Prefilled():
                self.prompt_tokens, self.tokens = len(event.prompt_ids), 1
            case Round():
                self.rounds += 1
                self.tokens += event.acceptance_length
            case Finished():
                self.state = event.reason
            case Failed():
                self.state = "failed"

    def summary(self) -> dict[str, Any]:
        """What a list of requests says of it."""
        return {
            "id": self.id,
            "object": "ddtree.request",
            "kind": self.kind,
            "created": int(self.started),
            "state": self.state,
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.tokens,
            "rounds": self.rounds,
            "events": self.count,
            "events_kept": len(self.events),
            "settings": self.settings,
        }


@dataclass
class Skipped:
    """Events ``first`` to ``last`` of a request, which a viewer was too slow for."""

    watched: Watched
    first: int
    last: int


Waiting = tuple[str | None, int, bytes] | bytes
"""An event, by request, number and the line that is kept of it; or something that is ready to be sent."""


class Viewer:
    """Somebody who watches; what waits for them is bounded."""

    def __init__(self, only: str | None) -> None:
        self.only = only
        self._waiting: deque[Waiting] = deque()
        self._bytes = 0
        self._skipped: dict[str, Skipped] = {}
        self._news = asyncio.Event()
        self.ended = False

    def put(self, watched: Watched | None, number: int, event: AnyEvent, line: bytes) -> None:
        """One event, unless there is no room for it."""
        request = watched.id if watched else None
        if self.ended or self.only not in (None, request):
            return
        ends = isinstance(event, Finished | Failed)
        if watched is None:
            self._append((request, number, line))
        elif ends:
            if watched.id in self._skipped:
                self._append(self._sum_up(watched.id))
            self._append((request, number, line))
            if request == self.only:
                self.ended = True
        elif watched.id in self._skipped:
            self._skipped[watched.id].last = number
        elif self._bytes > VIEWER_BYTES:
            self._skipped[watched.id] = Skipped(watched, number, number)
        else:
            self._append((request, number, line))
        self._news.set()

    def replay(self, request: str | None, events: Sequence[tuple[int, bytes]], first: int = 0) -> None:
        """Events that were before, from number ``first`` on."""
        for number, line in events:
            if number >= first:
                self._append((request, number, line))

    def end(self) -> None:
        """Nothing more comes."""
        self.ended = True
        self._news.set()

    async def lines(self, patience: float) -> AsyncIterator[bytes | None]:
        """What there is to send, as it comes; None after ``patience`` seconds without any."""
        while True:
            while self._waiting or self._skipped:
                if self._waiting:
                    waiting = self._waiting.popleft()
                    self._bytes -= _length(waiting)
                    yield waiting if isinstance(waiting, bytes) else framed(*waiting)
                else:
                    yield self._sum_up(next(iter(self._skipped)))
            if self.ended:
                return
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), patience)
            except TimeoutError:
                yield None

    def _sum_up(self, request: str) -> bytes:
        """What is sent instead of the events that were skipped."""
        skipped = self._skipped.pop(request)
        watched = skipped.watched
        summary = {
            "first": skipped.first,
            "last": skipped.last,
            "rounds": watched.rounds,
            "tokens": watched.tokens,
        }
        return msgspec.json.encode({"request": request, "seq": skipped.last, "summary": summary})

    def _append(self, waiting: Waiting) -> None:
        self._waiting.append(waiting)
        self._bytes += _length(waiting)
        if self._bytes > MOST_VIEWER_BYTES:  # even ends of answers are too much for this one
            self._waiting.clear()
            self._skipped.clear()
            self.end()


class Watch:
    """Keeps events of ``MAX_REQUESTS`` within ``limit`` bytes, the oldest going first; feeds the viewers."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._requests: OrderedDict[str, Watched] = OrderedDict()
        self._size = 0
        self._viewers: set[Viewer] = set()
        self.loaded: bytes | None = None
        """The last ``loaded`` event, with which a viewer and a fetched run begin."""

    @property
    def viewers(self) -> int:
        """How many watch."""
        return len(self._viewers)

    def begin(self, run: Run) -> None:
        """The engine starts with a request."""
        settings = msgspec.to_builtins(run.command.settings)
        kind = "completion" if run.command.plain else "chat"
        self._requests[run.id] = Watched(run.id, kind, time.time(), settings)

    def take(self, event: AnyEvent, run: Run | None) -> None:
        """An event of the engine, of ``run`` or of none."""
        line = encode_event(event)
        if isinstance(event, Loaded):
            self.loaded = line
        watched = self._requests.get(run.id) if run else None
        number = 0
        if watched is not None:
            number, size = watched.count, watched.size
            watched.add(event, line, self._limit)
            self._size += watched.size - size
            self._forget()
        for viewer in self._viewers:
            viewer.put(watched, number, event, line)

    def join(self, only: str | None = None, first: int = 0) -> Viewer:
        """A new viewer: of the request under way and all that follow, or of one alone; from its event
        ``first`` on."""
        viewer = Viewer(only)
        if self.loaded is not None:
            viewer.replay(None, [(0, self.loaded)])
        for watched in self._requests.values():
            if only == watched.id or (only is None and watched.state == "running"):
                viewer.replay(watched.id, watched.events, first)
                viewer.ended = watched.state != "running"
        self._viewers.add(viewer)
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """A viewer is gone."""
        self._viewers.discard(viewer)

    def end(self) -> None:
        """The server ends: so do all viewers."""
        for viewer in self._viewers:
            viewer.end()

    def requests(self) -> list[Watched]:
        """Those whose events are kept, newest first."""
        return [*reversed(self._requests.values())]

    def find(self, id: str) -> Watched | None:  # noqa: A002
        """One of them."""
        return self._requests.get(id)

    def _forget(self) -> None:
        while len(self._requests) > MAX_REQUESTS or (self._size > self._limit and len(self._requests) > 1):
            _, oldest = self._requests.popitem(last=False)
            self._size -= oldest.size


def _length(waiting: Waiting) -> int:
    return len(waiting if isinstance(waiting, bytes) else waiting[2])


def framed(request: str | None, number: int, line: bytes) -> bytes:
    """One event as viewers get it."""
    return b'{"request":%s,"seq":%d,"event":%s}' % (msgspec.json.encode(request), number, line)
