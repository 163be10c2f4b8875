"""Starts, pauses and stops races, and hands them their events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ddtree_tui.race.course import Race
from engine.commands import AnyCommand, Cancel, Pause, Resume
from engine.commands import Race as RaceCommand
from engine.events import AnyEvent, Failed, Loaded
from engine.settings import DecodeSettings, Message


class Steward:
    """One race at a time.

    Args:
        send: hands a command to the engine.

    Attributes:
        race: the one under way, or the last one.
        paused: it waits between two rounds.
    """

    def __init__(self, send: Callable[[AnyCommand], None]) -> None:
        self._send = send
        self.race: Race | None = None
        self.paused = False
        self.stopping = False

    @property
    def racing(self) -> bool:
        """Whether a race is under way."""
        return self.race is not None and not self.race.over

    def start(
        self, prompt: str, messages: Sequence[Message], lanes: Sequence[DecodeSettings], loaded: Loaded
    ) -> None:
        """Race these lanes.

        Raises:
            EngineError: ``bad_text``.
        """
        self._send(RaceCommand(messages=[*messages], lanes=[*lanes]))
        self.race = Race(prompt, lanes, loaded)
        self.paused = self.stopping = False

    def toggle_pause(self) -> None:
        """Have all lanes wait before their next round, or let them go on."""
        if self.racing and not self.stopping:
            self.paused = not self.paused
            self._send(Pause() if self.paused else Resume())

    def stop(self) -> None:
        """End all lanes before their next round, also while they wait."""
        if self.racing:
            self.paused, self.stopping = False, True
            self._send(Cancel())

    def apply(self, event: AnyEvent) -> bool:
        """Take in an event; whether it is of a race, and of nothing else."""
        if self.race is None or self.race.over or not self.race.apply(event):
            return False
        return not (isinstance(event, Failed) and event.error == "engine_died")

    def engine_restarted(self) -> None:
        """A race under way will not go on."""
        if self.racing and self.race is not None:
            self.race.apply(Failed(error="engine_restarted", message="The engine was started anew."))
