"""What the events of a run tell by themselves: of one under way, or of a recorded one. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.detectors.detector import Detector
from engine.detectors.text_end import Continuity, StopInPath
from engine.detectors.tree import ClosedPath, TreeOrder
from engine.events import AnyEvent, Finding, Finished, Prefilled, Round, Tokens

DETECTORS: tuple[Callable[[], Detector], ...] = (TreeOrder, ClosedPath, StopInPath, Continuity)
"""New ones look at every answer."""


def new_detectors() -> list[Detector]:
    """For one answer."""
    return [make() for make in DETECTORS]


def findings(events: Iterable[AnyEvent]) -> list[Finding]:
    """All findings of a run's answers, in the order in which they become certain."""
    spelled: list[Tokens] = []
    detectors: list[Detector] = []
    found: list[Finding] = []
    for event in events:
        if isinstance(event, Tokens):
            spelled.append(event)
        elif isinstance(event, Prefilled):
            found += [finding for each in detectors for finding in each.end()]
            detectors = new_detectors()
            for each in detectors:
                for tokens in spelled:
                    found += each.take(tokens)
        if isinstance(event, Tokens | Prefilled | Round | Finished):
            found += [finding for each in detectors for finding in each.take(event)]
    return found + [finding for each in detectors for finding in each.end()]
