"""A recorded run on a clock: its events come again as they came, one round at a time, or all at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from engine.events import AnyEvent, Lane, Loaded, Loading, Prefilled, Racing, Tokens
from engine.packed import PackedEvents

BETWEEN_ANSWERS = 0.5
"""Seconds between the end of an answer, or a race, and the start of the next; how long the user typed is not
recorded."""
HELD = 1.0
"""Seconds between two rounds from which on the run may have been held in between."""
HELD_ROUNDS = 8
"""So many usual rounds take less time than one in front of which the run was held."""
MOST_AT_ONCE = 400
"""Events of one look at the clock, about 90 ms of work at 256 nodes a round, so that the screen stays alive
while all of a long recording comes."""


class Playback:
    """Times are seconds; ``now`` is any clock that only moves forward. Packed events are taken over: those
    that have come are kept no longer."""

    def __init__(self, events: Sequence[AnyEvent]) -> None:
        self._events = events if isinstance(events, PackedEvents) else PackedEvents(events)
        self._times = timeline(self._events)
        self._next = 0
        self._position = 0.0
        self._since: float | None = None
        self._hurry = False
        self._speed = 1.0

    @property
    def duration(self) -> float:
        """Seconds from the first to the last event."""
        return self._times[-1] if self._times else 0.0

    @property
    def playing(self) -> bool:
        """Whether the clock runs."""
        return self._since is not None

    @property
    def over(self) -> bool:
        """Whether every event has come."""
        return self._next >= len(self._events)

    def position(self, now: float) -> float:
        """Where the clock stands."""
        moved = now - self._since if self._since is not None else 0.0
        return min(self.duration, self._position + moved * self._speed)

    def play(self, now: float) -> None:
        """Let the clock run."""
        if not self.over:
            self._since = now

    def pause(self, now: float) -> None:
        """Stop the clock."""
        self._position = self.position(now)
        self._since = None

    def set_speed(self, speed: float, now: float) -> None:
        """Let the clock run ``speed`` times as fast as when recorded, from now on."""
        self._position = self.position(now)
        self._since = now if self._since is not None else None
        self._speed = speed

    def due(self, now: float) -> list[AnyEvent]:
        """The events whose time has come since the last call."""
        position = self.position(now)
        first = self._next
        while (
            self._next < len(self._events)
            and self._next - first < MOST_AT_ONCE
            and (self._hurry or self._times[self._next] <= position)
        ):
            self._next += 1
        if self.over:
            self._position, self._since = self.duration, None
        return self._events.hand_over(first, self._next)

    def finish(self) -> None:
        """Let everything that is left come at once."""
        self._hurry = True

    def to_next_round(self) -> None:
        """Stop the clock where the next round has just come."""
        rounds = self._events.rounds
        if (place := bisect_left(rounds, self._next)) == len(rounds):
            self.finish()
        else:
            self._position, self._since = self._times[rounds[place]], None


def timeline(events: PackedEvents) -> list[float]:
    """When each event is to come, never earlier than the one before. Neither loading is waited for, nor that
    somebody let a run go on that was held."""
    times: list[float] = []
    latest = start = 0.0
    rounds, longest = set(events.rounds), _longest_step(events)
    for place, (kind, t) in enumerate(zip(events.kinds, events.times, strict=True)):
        begins = kind in (Prefilled, Racing)
        if begins and latest > 0:
            start = latest + BETWEEN_ANSWERS
        if kind not in (Loading, Loaded, Tokens):
            if place in rounds or not (begins or kind is Lane):  # prompts take their time to be read
                start -= max(0.0, start + t - latest - longest)
            latest = max(latest, start + t)
        times.append(latest)
    return times


def _longest_step(events: PackedEvents) -> float:
    """Seconds between two events of a run that nobody holds, at most."""
    times = [events.times[place] for place in events.rounds]
    steps = [after - before for before, after in pairwise(times) if after > before]
    return max(HELD, HELD_ROUNDS * median(steps)) if steps else HELD
