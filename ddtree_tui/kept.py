"""What a trace holds: the answers of a conversation, and races."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ddtree_tui.answer import Answer
from ddtree_tui.race.course import Race
from ddtree_tui.race.steward import Steward
from ddtree_tui.session import Session
from engine.events import AnyEvent


@dataclass
class Kept:
    """All of it.

    Attributes:
        session: the answers.
        races: the oldest first.
    """

    session: Session = field(default_factory=Session)
    races: list[Race] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[AnyEvent]) -> Kept:
        """All that a trace holds."""
        kept = cls()
        steward = Steward(lambda _: None, None, lambda _: False)
        for event in events:
            if not steward.apply(event):
                kept.session.apply(event)
            if (race := steward.race) is not None and race not in kept.races[-1:]:
                kept.races.append(race)
        return kept

    @property
    def answers(self) -> list[Answer]:
        """Those of the conversation, then those of every race's lanes."""
        return [*self.session.answers, *(lane.answer for race in self.races for lane in race.lanes)]
