"""Starts, pauses and stops races, and hands them their events, of the engine or of a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ddtree_tui.conversation import last_prompt
from ddtree_tui.playback import Playback
from ddtree_tui.race.course import Race
from ddtree_tui.race.showing import RaceShowing
from engine.commands import AnyCommand, Cancel, Pause, Resume, Step
from engine.commands import Race as RaceCommand
from engine.events import AnyEvent, Failed, Lane, Loaded, Racing
from engine.settings import DecodeSettings, Message


class Steward:
    """One race at a time.

    Args:
        send: hands a command to the engine.
        playback: the recording, where one is shown.
        tick: takes in what has come of that.

    Attributes:
        showing: where one looks in the race under way, or in the last one.
        paused: it waits between two rounds.
        ended: is told of every race once it is over.
    """

    def __init__(
        self,
        send: Callable[[AnyCommand], None],
        playback: Playback | None,
        tick: Callable[[float], bool],
    ) -> None:
        self._send, self._playback, self._tick = send, playback, tick
        self._loaded: Loaded | None = None
        self._asked = False  # for the race that is shown, of which the engine has said nothing yet
        self.showing: RaceShowing | None = None
        self.paused = False
        self.stopping = False
        self.ended: Callable[[Race], object] | None = None

    @property
    def race(self) -> Race | None:
        """The one under way, or the last one."""
        return self.showing.race if self.showing is not None else None

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
        self._show(Race(prompt, lanes, loaded))
        self._asked = True

    def toggle_pause(self) -> None:
        """Have all lanes wait before their next round, or let them go on."""
        if self.racing and not self.stopping:
            self.paused = not self.paused
            self._send(Pause() if self.paused else Resume())

    def step(self) -> None:
        """Decode one round of one lane, then pause."""
        if self.racing and not self.stopping:
            self.paused = True
            self._send(Step())

    def stop(self) -> None:
        """End all lanes before their next round, also while they wait."""
        if self.racing:
            self.paused, self.stopping = False, True
            self._send(Cancel())

    def apply(self, event: AnyEvent) -> bool:
        """Take in an event; whether it is of a race, and of nothing else."""
        if isinstance(event, Loaded):
            self._loaded = event
        elif isinstance(event, Racing):
            self._begin(event)
        of_lane = isinstance(event, Lane)  # may come behind the end: what was compared with the target alone
        if self.race is None or (self._asked if of_lane else self.race.over):
            return False
        over = self.race.over
        if not self.race.apply(event):
            return False
        if self.ended is not None and self.race.over and not over:
            self.ended(self.race)
        return not (isinstance(event, Failed) and event.error == "engine_died")

    def _begin(self, event: Racing) -> None:
        """The race that was asked for, or one of a recording."""
        if not self._asked and self._loaded is not None:
            self._show(Race(last_prompt(event.messages) or "", event.lanes, self._loaded))
        self._asked = False

    def _show(self, race: Race) -> None:
        self.showing = RaceShowing(race, self._playback, self._tick)
        self.paused = self.stopping = False

    def engine_restarted(self) -> None:
        """A race under way will not go on."""
        self._asked = False
        if self.race is not None and self.racing:
            self.race.apply(Failed(error="engine_restarted", message="The engine was started anew."))
