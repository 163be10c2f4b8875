"""How a race stands, derived from its events alone."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_tui.race.lanes import lane_name
from ddtree_tui.run import Answer, Session
from engine import events
from engine.events import AnyEvent, Checking, Failed, Finished, Loaded, Noise, Prefilled, Round
from engine.settings import DecodeSettings

SHORTEST_TRACK = 32
"""Tokens; the track doubles when somebody reaches its end."""


class Lane:
    """One way to decode the prompt.

    Attributes:
        session: the lane's answer and nothing else, as a run has it.
        ids: the answer's tokens so far.
    """

    def __init__(self, number: int, prompt: str, settings: DecodeSettings, loaded: Loaded) -> None:
        self.number = number
        self.settings = settings
        self.name = lane_name(settings)
        self.ids: list[int] = []
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

    @property
    def decode_seconds(self) -> float:
        """Time in its own rounds: what the other lanes took meanwhile is not in it."""
        return self.answer.statistics.speed.ms / 1000

    @property
    def tokens_per_second(self) -> float:
        """Of the rounds, as of an answer decoded alone."""
        return self.answer.statistics.speed.mean


class Race:
    """Lanes side by side.

    Attributes:
        failed: why there is no race: nothing was decoded, or the engine has ended.
        noise: how much rounding changes leads here; None where it was not measured.
        measuring: it is being measured.
    """

    def __init__(self, prompt: str, lanes: Sequence[DecodeSettings], loaded: Loaded) -> None:
        self.prompt = prompt
        self.loaded = loaded
        self.lanes = [Lane(number, prompt, settings, loaded) for number, settings in enumerate(lanes)]
        self.failed: Failed | None = None
        self.noise: float | None = None
        self.measuring = False

    def apply(self, event: AnyEvent) -> bool:
        """Take in one event; whether it is of this race."""
        match event:
            case events.Lane() if 0 <= event.lane < len(self.lanes):
                self.lanes[event.lane].apply(event.event)
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

    def ratio(self, lane: Lane) -> float | None:
        """How many times faster than the reference the lane decodes; None while that cannot be said."""
        slow, fast = self.reference.tokens_per_second, lane.tokens_per_second
        return fast / slow if slow and fast else None

    @property
    def places(self) -> list[Lane]:
        """Lanes that are through, the first one first, by the time in their own rounds."""
        return sorted((lane for lane in self.lanes if lane.complete), key=lambda lane: lane.decode_seconds)

    @property
    def leader(self) -> Lane | None:
        """The winner; until there is one, the lane with the most tokens, if there is one alone."""
        if self.places:
            return self.places[0]
        first, second = sorted(self.lanes, key=lambda lane: -len(lane.ids))[:2]
        return first if len(first.ids) > len(second.ids) else None

    @property
    def track(self) -> int:
        """Tokens from one end of the course to the other; all that was written, once the race is over."""
        longest = max(len(lane.ids) for lane in self.lanes)
        if self.over:
            return max(1, longest)
        length = SHORTEST_TRACK
        while length <= longest:
            length *= 2
        return length
