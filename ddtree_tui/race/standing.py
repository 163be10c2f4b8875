"""How the lanes of a race stand, now or after any of its rounds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddtree_tui.statistics.speed import per_second

if TYPE_CHECKING:
    from ddtree_tui.race.course import Lane

SHORTEST_TRACK = 32
"""Tokens; the track doubles when somebody reaches its end."""


@dataclass(frozen=True)
class Standing:
    """A lane after so many of its rounds.

    Attributes:
        tokens: of the answer, the prefill's included.
        committed: of these, what rounds committed.
        ms: time in its own rounds: what the other lanes took meanwhile is not in it.
        over: nothing more comes; ``complete``: the answer has come to its end by itself.
    """

    lane: Lane
    rounds: int
    tokens: int
    committed: int
    ms: float
    over: bool
    complete: bool

    @classmethod
    def of(cls, lane: Lane, upto: int | None) -> Standing:
        """A lane when round ``upto`` of the race, from 0, was over; the newest without one."""
        rounds = len(lane.steps) if upto is None else bisect_right(lane.steps, upto)
        end = rounds == len(lane.steps)
        committed = lane.committed[rounds - 1] if rounds else 0
        return cls(
            lane=lane,
            rounds=rounds,
            tokens=len(lane.ids) if end else committed + 1,
            committed=committed,
            ms=lane.ms[rounds - 1] if rounds else 0.0,
            over=end and lane.over,
            complete=end and lane.complete,
        )

    @property
    def seconds(self) -> float:
        return self.ms / 1000

    @property
    def tokens_per_second(self) -> float:
        """Of the rounds, as of an answer decoded alone."""
        return per_second(self.committed, self.ms)

    @property
    def acceptance_length(self) -> float:
        """The mean; 0 without rounds."""
        return self.committed / self.rounds if self.rounds else 0.0


class Standings:
    """All lanes at one moment.

    Attributes:
        lanes: how each stands, by its number.
        places: those that are through, the first one first, by the time in their own rounds.
    """

    def __init__(self, lanes: Sequence[Lane], reference: Lane, upto: int | None = None) -> None:
        self.lanes = [Standing.of(lane, upto) for lane in lanes]
        self.places = sorted((one for one in self.lanes if one.complete), key=lambda one: one.ms)
        self._reference = self.lanes[reference.number]

    @property
    def over(self) -> bool:
        return all(one.over for one in self.lanes)

    @property
    def leader(self) -> Standing | None:
        """The winner; until there is one, the lane with the most tokens, if there is one alone."""
        if self.places:
            return self.places[0]
        first, *others = sorted(self.lanes, key=lambda one: -one.tokens)
        return first if all(first.tokens > other.tokens for other in others) else None

    @property
    def track(self) -> int:
        """Tokens from one end of the course to the other; all that was written, once the race is over."""
        longest = max(one.tokens for one in self.lanes)
        if self.over:
            return max(1, longest)
        length = SHORTEST_TRACK
        while length <= longest:
            length *= 2
        return length

    def ratio(self, one: Standing) -> float | None:
        """How many times faster than the reference a lane decodes; None while that cannot be said."""
        slow, fast = self._reference.tokens_per_second, one.tokens_per_second
        return fast / slow if slow and fast else None

    def place(self, one: Standing) -> int | None:
        """From 1; None of a lane that is not through."""
        return self.places.index(one) + 1 if one in self.places else None
