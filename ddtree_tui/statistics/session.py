"""The statistics of a session in all scopes, and what they depend on beside the rounds."""

from __future__ import annotations

import msgspec

from ddtree_tui.statistics.collected import Collected
from ddtree_tui.statistics.observation import Observation
from ddtree_tui.statistics.report import Report, Surroundings, report
from ddtree_tui.statistics.scope import Scope
from ddtree_tui.statistics.ways import Ways
from engine.events import Finished, Loaded, MemoryUse, Round
from engine.settings import DecodeSettings


class SessionStatistics:
    """Keeps all scopes up. Those of single answers belong to the answers."""

    def __init__(self) -> None:
        self.all = Collected()
        self.since_change = Collected()
        self.ways = Ways()
        self._loaded: Loaded | None = None
        self._memory: MemoryUse | None = None
        self._settings: DecodeSettings | None = None

    def loaded(self, event: Loaded) -> None:
        """A pair was loaded."""
        self._loaded, self._memory, self._settings = event, None, None
        self.ways.loaded(event)

    def memory(self, event: MemoryUse) -> None:
        """The engine has said how much memory it uses."""
        self._memory = event

    def add(self, round_: Round, settings: DecodeSettings, answer: Collected) -> None:
        """Count a round of an answer that was asked for with ``settings``."""
        seen = Observation.of(round_)
        ruling = ruling_settings(settings, seen)
        if ruling != self._settings:
            self._settings, self.since_change = ruling, Collected()
        for collected in (answer, self.all, self.since_change):
            collected.add(seen)
        self.ways.add(seen)

    def add_totals(self, end: Finished, answer: Collected) -> None:
        """Count an imported answer of which no rounds are known, only their totals."""
        for collected in (answer, self.all, self.since_change):
            collected.add_totals(end)

    def forget_answers(self) -> None:
        """A new conversation. What the ways of decoding are worth on this device is still known."""
        self.all = Collected()
        self.since_change = Collected()

    def report(self, scope: Scope, answer: Collected | None) -> Report:
        """The numbers of a scope. ``answer``: the shown one's, None where none is."""
        chosen = {Scope.ANSWER: answer or Collected(), Scope.ALL: self.all, Scope.CHANGE: self.since_change}
        surroundings = Surroundings(ways=self.ways, loaded=self._loaded, memory=self._memory)
        return report(chosen[scope], scope.value, surroundings)


def ruling_settings(settings: DecodeSettings, seen: Observation) -> DecodeSettings:
    """The settings that the statistics of a round depend on: mode and budget are those of the round itself,
    which may have changed since the answer began; how long an answer may be and its seed do not count."""
    return msgspec.structs.replace(
        settings,
        mode=seen.mode,
        budget=seen.budget if seen.mode == "tree" else 1,
        seed=0,
        max_new_tokens=1,
        stop=(),
        detail=False,
    )
