"""How a race stands, derived from its events alone."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_tui.answer import Answer
from ddtree_tui.race.lanes import lane_name
from ddtree_tui.race.standing import Standings
from ddtree_tui.session import Session
from engine import events
from engine.events import (
    AnyEvent,
    Checking,
    Failed,
    Finished,
    Loaded,
    Noise,
    Prefilled,
    Racing,
    Round,
    Tokens,
)
from engine.packed import PackedEvents
from engine.settings import DecodeSettings


class Lane:
    """One way to decode the prompt.

    Attributes:
        session: the lane's answer and nothing else, as a run has it.
        ids: the answer's tokens so far.
        steps: which rounds of the race, counted over all lanes, are its own.
        committed, ms: tokens and milliseconds of its rounds, up to and with each.
    """

    def __init__(self, number: int, prompt: str, settings: DecodeSettings, loaded: Loaded) -> None:
        self.number = number
        self.settings = settings
        self.name = lane_name(settings)
        self.ids: list[int] = []
        self.steps: list[int] = []
        self.committed: list[int] = []
        self.ms: list[float] = []
        self.session = Session()
        self.session.apply(loaded)
        self.answer: Answer = self.session.ask(prompt, settings)

    def apply(self, event: AnyEvent) -> None:
        """Take in one of the lane's own events."""
        self.session.apply(event)
        match event:
            case Prefilled():
                self.ids = [event.first_id]
            case Round():
                self.ids += event.committed_ids
                self.committed.append(event.acceptance_length + (self.committed or [0])[-1])
                self.ms.append(event.ms.total + (self.ms or [0.0])[-1])
            case Finished():
                self.ids = event.output_ids

    @property
    def over(self) -> bool:
        return self.answer.over

    @property
    def complete(self) -> bool:
        """Whether the answer came to its end by itself."""
        return self.answer.finished is not None and self.answer.finished.reason != "cancelled"

    @property
    def prefill_seconds(self) -> float:
        return self.answer.prefilled.seconds if self.answer.prefilled else 0.0


class Race:
    """Lanes side by side.

    Attributes:
        steps: the lane of every round, in the order in which they came.
        events: all of it, as a trace has it.
        failed: why there is no race: nothing was decoded, or the engine has ended.
        noise: how much rounding changes leads here; None where it was not measured.
        measuring: it is being measured.
    """

    def __init__(self, prompt: str, lanes: Sequence[DecodeSettings], loaded: Loaded) -> None:
        self.prompt = prompt
        self.loaded = loaded
        self.lanes = [Lane(number, prompt, settings, loaded) for number, settings in enumerate(lanes)]
        self.steps: list[int] = []
        self.events = PackedEvents([loaded])
        self.failed: Failed | None = None
        self.noise: float | None = None
        self.measuring = False

    def apply(self, event: AnyEvent) -> bool:
        """Take in one event; whether it is of this race."""
        known = self._take(event)
        if isinstance(event, Tokens) or (known and not isinstance(event, Checking)):
            self.events.append(event)
        return known

    def _take(self, event: AnyEvent) -> bool:
        match event:
            case Racing():
                pass  # these lanes are the ones it tells
            case Tokens():  # of a recording, which spells ids for all lanes together
                for lane in self.lanes:
                    lane.apply(event)
                return False
            case events.Lane() if 0 <= event.lane < len(self.lanes):
                lane = self.lanes[event.lane]
                if isinstance(event.event, Round):
                    lane.steps.append(len(self.steps))
                    self.steps.append(lane.number)
                lane.apply(event.event)
            case Checking():
                self.measuring = True
            case Noise():
                self.noise, self.measuring = event.lead, False
            case Failed():
                self.failed = event
                for lane in self.lanes:
                    lane.apply(event)
            case _:
                return False
        return True

    @property
    def over(self) -> bool:
        return all(lane.over for lane in self.lanes)

    @property
    def reference(self) -> Lane:
        """What the others are measured by: ``ar``, or the first lane."""
        return next((lane for lane in self.lanes if lane.settings.mode == "ar"), self.lanes[0])

    def standings(self, upto: int | None = None) -> Standings:
        """How the lanes stand; when round ``upto`` of the race, from 0, was over, if one is named."""
        return Standings(self.lanes, self.reference, upto)
