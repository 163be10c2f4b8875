"""Another server with OpenAI's interface in the engine's place: it gets the prompts, we get events."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from ddtree_tui.attach.client import Client, Line
from ddtree_tui.attach.plain_chat import Chat
from ddtree_tui.attach.plain_server import look_at
from ddtree_tui.attach.probe import named
from ddtree_tui.recorder import Recorder
from ddtree_tui.records import Records
from engine.commands import AnyCommand, Cancel, Generate
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loading
from engine.failures import as_event
from engine.settings import LoadSettings

REPORT = "Please report it."
log = logging.getLogger("ddtree_tui")
STOP_SECONDS = 5.0
"""How long the end of the app waits for a server that was hung up on."""


class PlainLink:
    """Satisfies ``ddtree_tui.controller.Engine``, as far as such a server can: it takes prompts, and ends
    answers before their end.

    A thread looks at the server, another has an answer written; the app takes events in its own time. Only
    the newest thread is heard: what was given up may still wait for its server.

    Args:
        model: one of those the server has; None takes its first.
        trace: a file to record every event into.

    Attributes:
        place: where the server is.
    """

    def __init__(
        self,
        client: Client,
        *,
        model: str | None = None,
        trace: Path | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.place = client.address.authority
        self._client = client
        self._model = model
        self._queue: deque[AnyEvent] = deque()
        self._notices: deque[str] = deque()
        self._records = Records(trace, recorder)
        self._chat: Chat | None = None
        self._line = Line()
        self._thread: threading.Thread | None = None

    def start(self, load: LoadSettings | None = None) -> None:
        """Look at the server, anew if it was looked at before; an answer under way is given up.

        Args:
            load: means nothing here.
        """
        self._line.hang_up()
        self._run(self._look)

    def send(self, command: AnyCommand) -> None:
        """Have a conversation answered, or end the answer under way. Other commands mean nothing here."""
        match command:
            case Generate() if self._chat is not None:
                chat, self._line = self._chat, Line()
                line = self._line
                self._run(lambda: chat.answer(command, line))
            case Cancel():
                self._line.hang_up()

    def drain(self) -> list[AnyEvent]:
        """The events since the last call, in order."""
        return [self._queue.popleft() for _ in range(len(self._queue))]

    def problems(self) -> list[EngineError]:
        """What went wrong beside the answer since the last call, such as a full disk under the trace."""
        return self._records.problems()

    def notices(self) -> list[str]:
        """Sentences for the user since the last call."""
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def stop(self) -> None:
        """Hang up, and close what is recorded. Idempotent."""
        self._line.hang_up()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(STOP_SECONDS)
        self._records.close()

    def _run(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except EngineError as error:
                self._put(as_event(error))
            except Exception as error:
                log.exception("what came from %s", self.place)
                self._put(Failed(error="internal", message=f"The app has failed: {error!r}.", hint=REPORT))

        self._thread = threading.Thread(target=run, name="plain-server", daemon=True)
        self._thread.start()

    # In a thread

    def _look(self) -> None:
        begun = time.monotonic()
        self._put(Loading(stage=f"Asking {self.place}", done=0, total=1))
        server = look_at(self._client, self._model)
        seconds = time.monotonic() - begun
        if self._heard:
            self._chat = Chat(self._client, server, self._put, self._tell)
        self._put(msgspec.structs.replace(server.loaded(seconds), t=seconds))
        if len(server.models) > 1 and self._model is None:
            others = named([name for name in server.models if name != server.model])
            self._tell(f"The server has other models too: {others}. --model chooses one.")

    @property
    def _heard(self) -> bool:
        return threading.current_thread() is self._thread

    def _put(self, event: AnyEvent) -> None:
        if not self._heard:
            return
        self._records.take(event)
        self._queue.append(event)

    def _tell(self, sentence: str) -> None:
        if self._heard:
            self._notices.append(sentence)
