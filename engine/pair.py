"""A loaded target with its drafter."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field
from functools import cached_property

from engine.auto_budget import LEVELS, AutoBudget
from engine.codec import Codec
from engine.drafter import Drafter
from engine.events import Finding, Loaded
from engine.room import BUCKETS
from engine.rounds import Stages
from engine.session import Session
from engine.static.layers import capturable
from engine.static.runner import StaticRunner
from engine.target import Target


@dataclass(frozen=True)
class Pair:
    """What ``generate`` decodes with.

    Attributes:
        drafter: None for a target alone, which decodes in mode ``ar`` only.
        on_device: decode by ``engine.static``, in rounds that never wait for the host; None where that pays,
            on a GPU.
        stages: what rounds on the host decide by.
        session: the caches of the conversation decoded last, reused when the next prompt extends it.
        lane_of: the pair with whose models this one decodes, in caches of its own; what is found out about
            them holds for both.
    """

    target: Target
    drafter: Drafter | None
    codec: Codec
    info: Loaded
    on_device: bool | None = None
    stages: Stages = field(default_factory=Stages)
    session: Session = field(init=False)
    lane_of: Pair | None = field(init=False, default=None)
    _findings: tuple[Finding, ...] | None = field(init=False, default=None)
    _runners: list[StaticRunner] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "session", Session(self.target, self.drafter))
        if self.on_device is None:
            fits = self.target.device.type == "cuda" and capturable(self.target)
            object.__setattr__(self, "on_device", fits)

    def described(self, info: Loaded) -> Pair:
        """This pair under another description: with the same caches and the same rounds."""
        pair = copy.copy(self)
        object.__setattr__(pair, "info", info)
        return pair

    def lane(self, context: int) -> Pair:
        """The same models with caches of their own, for ``context`` tokens."""
        target = copy.copy(self.target)
        target.context_length = context
        lane = dataclasses.replace(self, target=target)
        object.__setattr__(lane, "lane_of", self)
        return lane

    @property
    def findings(self) -> tuple[Finding, ...] | None:
        """What detectors noticed of the pair itself; None before it was ``checked``."""
        return self._findings if self.lane_of is None else self.lane_of.findings

    def checked(self) -> tuple[Finding, ...]:
        """What ``engine.detectors.pair`` finds; looked for once."""
        if self.lane_of is not None:
            return self.lane_of.checked()
        if self._findings is None:
            from engine.detectors.pair import check_pair

            object.__setattr__(self, "_findings", tuple(check_pair(self)))
        assert self._findings is not None
        return self._findings

    @cached_property
    def drafter_surprise(self) -> float | None:
        """How little the drafter knows of an easy text (``engine.detectors.drafter_choice``); asked once."""
        if self.lane_of is not None:
            return self.lane_of.drafter_surprise
        from engine.detectors.drafter_choice import surprise_at_easy_text

        return surprise_at_easy_text(self)

    @cached_property
    def auto_budget(self) -> AutoBudget:
        """What budgets are good here, for ``DecodeSettings.auto_budget``; it learns from answer to answer."""
        if self.lane_of is not None:
            return self.lane_of.auto_budget
        return AutoBudget(BUCKETS if self.on_device else LEVELS)

    @property
    def runner(self) -> StaticRunner:
        """Rounds on the device over the session's caches, which must hold a text; made once."""
        if not self._runners:
            self._runners.append(StaticRunner(self.session))
        return self._runners[0]
