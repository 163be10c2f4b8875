"""The engine behind a DDTree server: its events come through the watch route, prompts go as requests."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from ddtree_tui.attach.asking import Sent, chunks
from ddtree_tui.attach.client import Client, Line
from ddtree_tui.attach.connection import Connection, Reach, pause_after
from ddtree_tui.attach.watching import Shown
from ddtree_tui.attach.wire import Item, Watched, read_item, read_list
from ddtree_tui.escape import escape
from ddtree_tui.playback import MOST_AT_ONCE
from ddtree_tui.recorder import Recorder
from engine.commands import AnyCommand, Cancel, Generate
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loaded, Loading
from engine.settings import LoadSettings
from engine.trace import TraceWriter

EVENTS = "/v1/ddtree/events"
REQUESTS = "/v1/ddtree/requests"
HEALTH = "/health"
STEADY_SECONDS = 10.0
"""A connection that held so long was one. What breaks sooner, and again, is asked less and less often."""
SILENCE_SECONDS = 45.0
"""The server says something every 15 s, if only that there is nothing new."""
HEALTH_SECONDS = 5.0
"""How often a server is asked how it is, while nothing of it is watched."""
MOST_WAITING = 4000
"""Events that wait for the screen; beyond, the server has to wait, which sums up then."""
CHECK = "check-"
"""How the names of requests begin that the server made itself."""
CANCELLED = "remote_cancelled"
"""The kind of the ``failed`` of a prompt that was taken back before the server began with it."""


class RemoteLink:
    """Satisfies ``ddtree_tui.controller.Engine``.

    A thread reads the events of what is watched: whatever runs, one request, or of the prompts sent from here
    the one under way. Each request is its own stream, so that after a break, or where the server summed up
    because this end was too slow, one goes on with the first event that is missing.

    Args:
        model: what the server calls its model.
        only: the request to watch; None is whatever runs.
        pause: seconds until the next attempt after so many failed ones.
    """

    def __init__(
        self,
        client: Client,
        model: str,
        *,
        only: str | None = None,
        trace: Path | None = None,
        recorder: Recorder | None = None,
        pause: Callable[[int], float] = pause_after,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self.client = client
        self.model = model
        self.sent_ids: set[str] = set()
        self._pause, self._silence = pause, silence
        self._trace = TraceWriter(trace) if trace is not None else None
        self._recorder = recorder
        self._changed = threading.Condition()
        self._queue: deque[AnyEvent] = deque()
        self._problems: deque[EngineError] = deque()
        self._notices: deque[str] = deque()
        self._follows = only is None
        self._shown: Shown | None = None if only is None else Shown(only)
        self._sent: Sent | None = None
        self._loaded: Loaded | None = None
        self._connection = Connection(Reach.CONNECTING)
        self._line = Line()
        self._turn = 0
        """Counts what is to be watched: a reader whose turn is over stops."""
        self._events_taken = 0
        self._ended = False
        self._reader: threading.Thread | None = None

    # As an engine

    def start(self, load: LoadSettings | None = None) -> None:
        """Connect. What is loaded is the server's business."""
        self._reader = threading.Thread(target=self._read, name="remote-events", daemon=True)
        self._reader.start()

    def send(self, command: AnyCommand) -> None:
        """Send a prompt, or have the answer under way ended; the server takes no other commands."""
        match command:
            case Generate():
                self._send(Sent(command))
            case Cancel():
                self._cancel()

    def drain(self) -> list[AnyEvent]:
        """The events since the last call, in order; not too many at once."""
        with self._changed:
            count = min(len(self._queue), MOST_AT_ONCE)
            events = [self._queue.popleft() for _ in range(count)]
            self._changed.notify_all()
        return events

    def problems(self) -> list[EngineError]:
        """What went wrong beside the run since the last call, such as a full disk under the trace."""
        recording = self._recorder.problems() if self._recorder is not None else []
        return [*recording, *(self._problems.popleft() for _ in range(len(self._problems)))]

    def stop(self) -> None:
        """Hang up and close what is recorded. Idempotent. The server ends the answer under way."""
        with self._changed:
            self._ended = True
            self._turn_over()
            if self._sent is not None:
                self._sent.line.hang_up()
        if self._reader is not None:
            self._reader.join(2.0)
        if self._recorder is not None:
            self._recorder.close()
        if self._trace is not None:
            self._trace.close()

    # As a window to the server

    @property
    def connection(self) -> Connection:
        """How the connection is."""
        return self._connection

    @property
    def follows(self) -> bool:
        """Whether whatever runs is watched."""
        return self._follows

    @property
    def shown(self) -> Shown | None:
        """The request that is watched, or was watched last."""
        return self._shown

    @property
    def asked(self) -> Sent | None:
        """The prompt sent from here that has no answer yet."""
        return self._sent

    def notices(self) -> list[str]:
        """Sentences to be shown in passing, since the last call."""
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def reconnect(self) -> None:
        """Do not wait for the next attempt."""
        with self._changed:
            self._turn_over()

    def watch(self, request: str | None) -> None:
        """From now on watch this request, from its beginning; None is whatever runs."""
        with self._changed:
            self._follows = request is None
            self._shown = None if request is None else Shown(request)
            self._forget_queue()
            self._turn_over()

    def rest(self) -> None:
        """Watch nothing, until a prompt is sent or something is to be watched."""
        with self._changed:
            self._follows, self._shown = False, None
            self._forget_queue()
            self._turn_over()

    def requests(self) -> list[Watched]:
        """What the server has events of, newest first.

        Raises:
            EngineError: as ``refusals`` names them.
        """
        return read_list(self.client.get(REQUESTS), self.client.address)

    # The reader's thread

    def _read(self) -> None:
        failures = 0
        while True:
            with self._changed:
                if self._ended:
                    return
                turn, line = self._turn, Line()
                self._line = line
                shown, stream = self._shown, self._wants_stream()
                taken, begun = self._events_taken, time.monotonic()
            try:
                if stream:
                    self._watch(shown, turn, line)
                else:
                    self._look_after(turn, line)
            except EngineError as error:
                if turn != self._turn or (stream and self._missing(shown, error)):
                    continue
                steady = self._events_taken > taken or time.monotonic() - begun > STEADY_SECONDS
                failures = 1 if steady else failures + 1
                if failures == 1:
                    self._notices.append(f"{error.message} {error.hint}".rstrip())
                seconds = self._pause(failures)
                self._is(Connection(Reach.LOST, error.message, time.monotonic() + seconds))
                self._rest(turn, seconds)

    def _wants_stream(self) -> bool:
        """Whether there is something to be watched now."""
        if self._loaded is None:
            return True
        if self._sent is not None:
            return self._sent.id is not None
        return self._follows or (self._shown is not None and not self._shown.over)

    def _watch(self, shown: Shown | None, turn: int, line: Line) -> None:
        """Take in the events of a stream, until another one is to be read.

        Args:
            shown: the request that is not over yet, of which the stream is to be then.

        Raises:
            EngineError: as ``refusals`` names them; ``remote_lost`` if the server ends it before.
        """
        path, whole, first = EVENTS, shown is not None and not shown.over, 0
        if shown is not None and whole:
            first = shown.next
            path += f"?request={quote(shown.id, safe='')}&first={first}"
        with self.client.open("GET", path, timeout=self._silence, line=line) as reply:
            self._is(Connection(Reach.HEARD))
            for data in reply.events():
                if not self._take(read_item(data, self.client.address), turn, whole=whole):
                    break
            else:
                raise EngineError("remote_lost", f"{self.client.address} ended the connection.")
        if shown is not None and whole and not shown.over and shown.next == first:
            self._rest(turn, self._pause(1))  # it sums up what it could say: give it time

    def _take(self, item: Item, turn: int, *, whole: bool) -> bool:
        """Take in an item; False if another stream is to be read.

        Args:
            whole: the stream is of one request, from the first event on that was not taken.
        """
        with self._changed:
            while len(self._queue) >= MOST_WAITING and turn == self._turn:
                self._changed.wait()
            if turn != self._turn:
                return False
            if item.request is None:
                self._of_engine(item.event)
                return self._wants_stream()
            if not self._is_watched(item.request):
                return True
            shown = self._shown
            if shown is None or shown.id != item.request:
                shown = self._shown = Shown(item.request)
            again = shown.lacks(item) and (item.summary is not None or not whole)
            for event in shown.take(item) if item.summary is not None or not again else ():
                self._put(event)
            if isinstance(item.event, Failed) and item.event.error == "engine_died":
                self._loaded = None  # the stream of all tells when there is another
            if shown.over and self._sent is not None and self._sent.id == shown.id:
                self._sent = None
            return not again and not (shown.over and whole)

    def _is_watched(self, request: str) -> bool:
        if self._shown is not None and not self._shown.over and request == self._shown.id:
            return True
        return self._follows and self._sent is None and not request.startswith(CHECK)

    def _of_engine(self, event: AnyEvent | None) -> None:
        """Of no request: what the engine is, or that it ended. Every stream begins with the first."""
        match event:
            case Loaded():
                if event != self._loaded:
                    self._loaded = event
                    self._put(event)
            case Loading():
                self._put(event)
            case Failed():
                self._loaded = None
                self._put(event)

    def _look_after(self, turn: int, line: Line) -> None:
        """Nothing is watched: see that the server is there, every now and then, until something is.

        Raises:
            EngineError: as ``refusals`` names them.
        """
        while turn == self._turn:
            self._is(Connection(Reach.HEARD, self._ailment(line)))
            self._rest(turn, HEALTH_SECONDS)

    def _ailment(self, line: Line) -> str:
        """Why the server does not serve; empty if it does."""
        with self.client.open("GET", HEALTH, also=(503,), line=line) as reply:
            found = reply.json()
        if not isinstance(found, dict) or found.get("status") == "ok":
            return ""
        return escape(str(found.get("reason") or found.get("status"))[:200])

    def _missing(self, shown: Shown | None, error: EngineError) -> bool:
        """Whether it is that the server does not know the request any more: what is shown of it is all."""
        with self._changed:
            if error.kind != "remote_missing" or shown is None or shown.over or shown is not self._shown:
                return False
            shown.over = True
            self._put(Failed(error=error.kind, message="The server knows nothing of this request any more."))
            if self._sent is not None and self._sent.id == shown.id:
                self._sent = None
            return True

    def _rest(self, turn: int, seconds: float) -> None:
        """Wait, shorter if something else is to be watched."""
        with self._changed:
            self._changed.wait_for(lambda: turn != self._turn, seconds)

    def _is(self, connection: Connection) -> None:
        self._connection = connection

    # Prompts

    def _send(self, sent: Sent) -> None:
        with self._changed:
            self._sent, self._shown, self._follows = sent, None, False
            self._forget_queue()
            self._turn_over()
        threading.Thread(target=self._ask, args=(sent,), name="remote-prompt", daemon=True).start()

    def _ask(self, sent: Sent) -> None:
        """In a thread of its own: until the answer is over. Its text comes through the events."""
        try:
            for chunk in chunks(self.client, sent, self.model):
                if sent.id is None and isinstance(chunk.get("id"), str):
                    self._begun(sent, chunk["id"])
        except EngineError as error:
            self._not_answered(sent, error)
        else:
            if sent.id is None:
                self._not_answered(sent, EngineError("remote_answer", "The server answered with nothing."))

    def _begun(self, sent: Sent, request: str) -> None:
        with self._changed:
            sent.id = request
            self.sent_ids.add(request)
            if sent is self._sent:
                self._shown = Shown(request)
                self._turn_over()

    def _not_answered(self, sent: Sent, error: EngineError) -> None:
        """The request failed. Where it had begun, the events tell its end, and this why."""
        with self._changed:
            if sent is not self._sent:
                return
            if sent.id is not None:
                if not sent.cancelled:
                    self._notices.append(f"{error.message} {error.hint}".rstrip())
                return
            self._sent = None
            if sent.cancelled:
                error = EngineError(CANCELLED, "Taken back before the server began with it.")
            self._put(
                Failed(error=error.kind, message=error.message, hint=error.hint, detail=error.detail),
                recorded=False,
            )
            self._turn_over()

    def _cancel(self) -> None:
        """Hang up: the server ends the answer then. Asked for again, do not wait for it."""
        with self._changed:
            sent = self._sent
            if sent is None:
                return
            if not sent.cancelled:
                sent.cancelled = True
                sent.line.hang_up()
                return
            self._sent = None
            if self._shown is not None:
                self._shown.over = True
            self._put(Failed(error=CANCELLED, message="Given up before the server told its end."))
            self._turn_over()

    # Under the lock

    def _turn_over(self) -> None:
        """Something else is to be watched: the reader looks again."""
        self._turn += 1
        self._line.hang_up()
        self._changed.notify_all()

    def _forget_queue(self) -> None:
        """Drop the events of what is watched no more."""
        kept = [event for event in self._queue if isinstance(event, Loaded | Loading)]
        self._queue.clear()
        self._queue.extend(kept)

    def _put(self, event: AnyEvent, *, recorded: bool = True) -> None:
        if recorded and self._recorder is not None:
            self._recorder.take(event)
        if recorded and self._trace is not None:
            try:
                self._trace.write(event)
            except EngineError as error:
                self._problems.append(error)
        self._queue.append(event)
        self._events_taken += 1
