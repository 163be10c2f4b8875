"""The engine behind a DDTree server: its events come through the watch route, prompts go as requests."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ddtree_tui.attach.asking import Sent, chunks
from ddtree_tui.attach.client import Client, Line
from ddtree_tui.attach.connection import Connection, Reach, pause_after
from ddtree_tui.attach.outlet import Outlet
from ddtree_tui.attach.routes import Ailment, ailment, items
from ddtree_tui.attach.watching import Shown
from ddtree_tui.attach.wire import Item
from ddtree_tui.escape import escape
from ddtree_tui.recorder import Recorder
from engine.commands import AnyCommand, Cancel, Generate, encode_command
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loaded, Loading
from engine.failures import as_event
from engine.settings import LoadSettings

STEADY_SECONDS = 10.0
"""A connection that held so long was one. What breaks sooner, and again, is asked less and less often."""
SILENCE_SECONDS = 45.0
"""The server says something every 15 s, if only that there is nothing new."""
HEALTH_SECONDS = 5.0
"""How often a server is asked how it is."""
AILING_SECONDS = 1.0
"""The same while it does not serve."""
CHECK = "check-"
"""How the names of requests begin that the server made itself."""
CANCELLED = "remote_cancelled"
"""The kind of the ``failed`` of a prompt that was taken back before the server began with it."""


class RemoteLink:
    """Satisfies ``ddtree_tui.controller.Engine``.

    A thread reads the events of what is watched: whatever runs, one request, or of the prompts sent from here
    the one under way. After a break, or where the server summed up because this end was too slow, it goes on
    with the first event of the request that is missing.

    Args:
        model: what the server calls its model.
        only: the request to watch; None is whatever runs.
        pause: seconds until the next attempt after so many failed ones.
        silence: seconds without a sign of life after which the connection counts as broken.

    Attributes:
        connection: how it is.
        follows: whether whatever runs is watched.
        shown: the request that is watched, or was watched last.
        sent: the prompt from here whose answer is not over.
        sent_ids: what the server called the prompts from here.

    Raises:
        EngineError: ``trace_write`` if the trace cannot be made.
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
        self.connection = Connection(Reach.CONNECTING)
        self.follows = only is None
        self.shown: Shown | None = None if only is None else Shown(only)
        self.sent: Sent | None = None
        self.sent_ids: set[str] = set()
        self._pause, self._silence = pause, silence
        self._changed = threading.Condition()
        """Held by whoever changes what is watched, or what is told of it."""
        self._outlet = Outlet(trace, recorder)
        self._loaded: Loaded | None = None
        self._line = Line()
        self._turn = 0
        """Counts what is to be watched: a reader whose turn is over stops."""
        self._ended = False
        self._reader = threading.Thread(target=self._read, name="remote-events", daemon=True)
        self._nurse = threading.Thread(target=self._look_at_health, name="remote-health", daemon=True)
        self._health_line = Line()

    @property
    def serves(self) -> bool:
        """Whether the server takes prompts, as far as is known."""
        return self.connection.reach is Reach.HEARD and not self.connection.reason

    # As an engine

    def start(self, load: LoadSettings | None = None) -> None:
        """Connect. What is loaded is the server's business."""
        self._reader.start()
        self._nurse.start()

    def send(self, command: AnyCommand) -> None:
        """Send a prompt, or have the answer under way ended; the server takes no other commands.

        Raises:
            EngineError: ``bad_text``.
        """
        encode_command(command)  # refuses text that UTF-8 cannot carry
        match command:
            case Generate():
                self._send(Sent(command))
            case Cancel():
                self._cancel()

    def drain(self) -> list[AnyEvent]:
        """The events since the last call, in order; not too many at once."""
        with self._changed:
            self._changed.notify_all()
            return self._outlet.drain()

    def problems(self) -> list[EngineError]:
        """What went wrong beside the run since the last call, such as a full disk under the trace."""
        return self._outlet.problems()

    def sentences(self) -> list[str]:
        """What there is to be told in passing, since the last call."""
        return self._outlet.sentences()

    def stop(self) -> None:
        """Hang up and close what is recorded. Idempotent. The server ends the answer under way."""
        with self._changed:
            self._ended = True
            self._turn_over()
            self._health_line.hang_up()
            if self.sent is not None:
                self.sent.line.hang_up()
        for thread in (self._reader, self._nurse):
            if thread.is_alive():
                thread.join(2.0)
        self._outlet.close()

    # What is watched

    def watch(self, request: str | None) -> None:
        """From now on watch this request, from its beginning; None is whatever runs."""
        self._watch_anew(None if request is None else Shown(request), follows=request is None)

    def rest(self) -> None:
        """Watch nothing, until a prompt is sent or something is to be watched."""
        self._watch_anew(None, follows=False)

    def reconnect(self) -> None:
        """Do not wait for the next attempt."""
        with self._changed:
            self._turn_over()

    def _watch_anew(self, shown: Shown | None, *, follows: bool, sent: Sent | None = None) -> None:
        with self._changed:
            self.shown, self.follows, self.sent = shown, follows, sent
            self._outlet.forget()
            self._turn_over()

    def _turn_over(self) -> None:
        """Under the lock: something else is to be watched, the reader looks again."""
        self._turn += 1
        self._line.hang_up()
        self._changed.notify_all()

    # Prompts

    def _send(self, sent: Sent) -> None:
        self._watch_anew(None, follows=False, sent=sent)
        threading.Thread(target=self._ask, args=(sent,), name="remote-prompt", daemon=True).start()

    def _ask(self, sent: Sent) -> None:
        """In a thread of its own: until the answer is over. Its text comes through the events."""
        try:
            for chunk in chunks(self.client, sent, self.model):
                if sent.id is None and isinstance(chunk.get("id"), str):
                    self._begun(sent, chunk["id"])
            if sent.id is None:
                raise EngineError("remote_answer", "The server answered with nothing.")
        except EngineError as error:
            self._not_answered(sent, error)

    def _begun(self, sent: Sent, request: str) -> None:
        with self._changed:
            sent.id = request
            self.sent_ids.add(request)
            if sent is self.sent:
                self.shown = Shown(request)
                self._turn_over()

    def _not_answered(self, sent: Sent, error: EngineError) -> None:
        """The request failed. Where it had begun, the events tell its end, and this why."""
        with self._changed:
            if sent is not self.sent:
                return
            if sent.id is None:
                if sent.cancelled:
                    error = EngineError(CANCELLED, "Taken back before the server began with it.")
                self._end_without(error)
            elif not sent.cancelled:
                self._outlet.say(error)

    def _cancel(self) -> None:
        """Hang up: the server ends the answer then. Asked for again, do not wait for it."""
        with self._changed:
            if self.sent is None:
                return
            if self.sent.cancelled:
                self._end_without(EngineError(CANCELLED, "Given up before the server told its end."))
            else:
                self.sent.cancelled = True
                self.sent.line.hang_up()

    def _end_without(self, error: EngineError) -> None:
        """Under the lock: the prompt under way comes to nothing that the events would tell."""
        self.sent = None
        if self.shown is not None:
            self.shown.over = True
        self._outlet.put(as_event(error), recorded=False)
        self._turn_over()

    # The reader's thread

    def _read(self) -> None:
        failures = 0
        while True:
            with self._changed:
                if self._ended:
                    return
                turn, line = self._turn, Line()
                self._line = line
                shown, streams = self.shown, self._wants_stream()
            count, begun = self._outlet.count, time.monotonic()
            try:
                if streams:
                    self._watch(shown if shown is not None and not shown.over else None, turn, line)
                else:
                    self._look_after(turn, line)
            except EngineError as error:
                if turn != self._turn or (streams and self._is_missing(shown, error)):
                    continue
                steady = self._outlet.count > count or time.monotonic() - begun > STEADY_SECONDS
                failures = 1 if steady else failures + 1
                if failures == 1:
                    self._outlet.say(error)
                seconds = self._pause(failures)
                self.connection = Connection(Reach.LOST, error.message, time.monotonic() + seconds)
                self._rest(turn, seconds)

    def _wants_stream(self) -> bool:
        """Whether there is something to be watched now."""
        if self._loaded is None:
            return True
        if self.sent is not None:
            return self.sent.id is not None
        return self.follows or (self.shown is not None and not self.shown.over)

    def _watch(self, shown: Shown | None, turn: int, line: Line) -> None:
        """Take in the events of a request, or of whatever runs, until another stream is to be read.

        Raises:
            EngineError: as ``refusals`` names them; ``remote_lost`` if the server ends it before.
        """
        request, first = (shown.id, shown.next) if shown is not None else (None, 0)
        known = self.serves and self._loaded is not None
        found = Ailment() if known else ailment(self.client, line)
        with items(self.client, request, first, silence=self._silence, line=line) as stream:
            self._is(found)
            for item in stream:
                if not self._take(item, turn, whole=shown is not None):
                    break
            else:
                raise EngineError("remote_lost", f"{self.client.address} ended the connection.")
        if shown is not None and not shown.over and shown.next == first:
            self._rest(turn, self._pause(1))  # it sums up what it could say: give it time

    def _take(self, item: Item, turn: int, *, whole: bool) -> bool:
        """Take in an item; False if another stream is to be read.

        Args:
            whole: the stream is of one request, from the first event on that was not taken. What it leaves
                out, the server does not have.
        """
        with self._changed:
            self._changed.wait_for(lambda: turn != self._turn or not self._outlet.full)
            if turn != self._turn:
                return False
            if item.request is None:
                self._take_general(item.event)
                return self._wants_stream()
            if not self._is_watched(item.request):
                return True
            if (shown := self.shown) is None or shown.id != item.request:
                shown = self.shown = Shown(item.request)
            if shown.lacks(item) and (item.summary is not None or not whole):
                shown.expect(item)
                return False
            for event in shown.take(item):
                self._outlet.put(event)
            if isinstance(item.event, Failed) and item.event.error == "engine_died":
                self._loaded = None  # the stream of whatever runs tells when there is another
                self._ails(item.event.message)
            if shown.over and self.sent is not None and self.sent.id == shown.id:
                self.sent = None
            return not (shown.over and whole)

    def _is_watched(self, request: str) -> bool:
        if self.shown is not None and not self.shown.over and request == self.shown.id:
            return True
        return self.follows and not request.startswith(CHECK)

    def _take_general(self, event: AnyEvent | None) -> None:
        """Of no request: what is loaded, with which every stream begins, or that the engine ended."""
        match event:
            case Loaded() if event != self._loaded:
                self._loaded = event
                self._outlet.put(event)
            case Loading():
                self._ails(event.stage)
                self._outlet.put(event)
            case Failed():
                self._loaded = None
                self._ails(event.message)
                self._outlet.put(event)

    def _look_after(self, turn: int, line: Line) -> None:
        """Nothing is watched: see that the server is there, every now and then, until something is.

        Raises:
            EngineError: as ``refusals`` names them.
        """
        while turn == self._turn:
            self._is(ailment(self.client, line))
            self._rest(turn, HEALTH_SECONDS if self.serves else AILING_SECONDS)

    def _is(self, found: Ailment) -> None:
        self.connection = Connection(Reach.HEARD, found.reason, failed=found.failed)

    def _ails(self, reason: str) -> None:
        """The engine is not there, so that the server cannot serve until it says that it does."""
        if self.serves:
            self._is(Ailment(escape(reason)))

    def _look_at_health(self) -> None:
        """In a thread of its own, as what is loaded need not work, and a stream does not say that it does."""
        while not self._ended:
            if self.connection.reach is Reach.HEARD and self._wants_stream():
                with contextlib.suppress(EngineError):  # the reader tells what is wrong with the connection
                    found = ailment(self.client, self._health_line)
                    if self.connection.reach is Reach.HEARD:
                        self._is(found)
            with self._changed:
                seconds = HEALTH_SECONDS if self.serves else AILING_SECONDS
                self._changed.wait_for(lambda: self._ended, seconds)

    def _is_missing(self, shown: Shown | None, error: EngineError) -> bool:
        """Whether it is that the server does not know the request any more: what is shown of it is all."""
        with self._changed:
            if error.kind != "remote_missing" or shown is None or shown.over or shown is not self.shown:
                return False
            shown.over = True
            message = "The server knows nothing of this request any more."
            self._outlet.put(Failed(error=error.kind, message=message))
            if self.sent is not None and self.sent.id == shown.id:
                self.sent = None
            return True

    def _rest(self, turn: int, seconds: float) -> None:
        """Wait, shorter if something else is to be watched."""
        with self._changed:
            self._changed.wait_for(lambda: turn != self._turn, seconds)
