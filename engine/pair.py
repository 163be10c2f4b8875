"""A loaded target with its drafter."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.codec import Codec
from engine.drafter import Drafter
from engine.events import Loaded
from engine.session import Session
from engine.target import Target


@dataclass(frozen=True)
class Pair:
    """What ``generate`` decodes with.

    Attributes:
        drafter: None for a target alone, which decodes in mode ``ar`` only.
        session: the caches of the conversation decoded last, reused when the next prompt extends it.
    """

    target: Target
    drafter: Drafter | None
    codec: Codec
    info: Loaded
    session: Session = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "session", Session(self.target, self.drafter))
