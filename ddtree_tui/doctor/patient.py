"""The engine as the doctor asks it: one answer after the other, each with everything that is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.inbox import Inbox
from engine.commands import AnyCommand, Generate, Load, MeasureMemory
from engine.events import AnyEvent, Failed, Loaded, Loading, MemoryUse
from engine.failures import as_error
from engine.settings import DecodeSettings, LoadSettings, Message


class Interrupted(Exception):  # noqa: N818 - no error
    """A signal arrived; ``number`` is its."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Patient:
    """Owns nothing: ``engine`` runs, and puts its events into ``inbox``. ``watch`` is told every event."""

    def __init__(
        self, engine: EngineProcess, inbox: Inbox, watch: Callable[[AnyEvent], None] = lambda _: None
    ) -> None:
        self._engine = engine
        self._inbox = inbox
        self._watch = watch

    def load(self, settings: LoadSettings) -> Loaded:
        """Load a pair.

        Raises:
            EngineError: as the engine reports it.
            Interrupted: a signal arrived.
        """
        self._engine.send(Load(settings=settings))
        while True:
            event = self._next()
            if isinstance(event, Loaded):
                return event
            if isinstance(event, Failed):
                raise as_error(event)

    def answer(self, messages: Sequence[Message], settings: DecodeSettings) -> list[AnyEvent]:
        """One answer with empty caches: its events, up to and with what the oracle says behind its end.

        Raises:
            EngineError: ``engine_died``, ``bad_text``.
            Interrupted: a signal arrived.
        """
        return self.ask(Generate(messages=[*messages], settings=settings, fresh=True))

    def ask(self, command: AnyCommand) -> list[AnyEvent]:
        """Everything a command is answered with, whatever ends it. Raises as ``answer`` does."""
        self._engine.send(command)
        self._engine.send(MeasureMemory())  # carried out after it: all events before its own are of it
        events: list[AnyEvent] = []
        while not isinstance(event := self._next(), MemoryUse):
            if isinstance(event, Failed) and event.error == "engine_died":
                raise as_error(event)
            if isinstance(event, Failed) and event.command == "measurememory":
                break
            if not isinstance(event, Loading):
                events.append(event)
        return events

    def _next(self) -> AnyEvent:
        item = self._inbox.get()
        if item is None or isinstance(item, int):
            raise Interrupted(item or 2)
        self._watch(item)
        return item
