"""What the events of a run tell by themselves: of one under way, or of a recorded one. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.detectors.calibration import Calibration
from engine.detectors.detector import Detector
from engine.detectors.prompt import Prompt
from engine.detectors.speculation import Speculation
from engine.detectors.text import Text
from engine.detectors.text_end import Continuity, StopInPath
from engine.detectors.tree import ClosedPath, TreeOrder
from engine.events import AnyEvent, Finding, Finished, Loaded, Prefilled, Round, Tokens

DETECTORS: tuple[Callable[[], Detector], ...] = (
    Prompt,
    TreeOrder,
    ClosedPath,
    StopInPath,
    Continuity,
    Speculation,
    Calibration,
    Text,
)
"""New ones look at every answer."""


def new_detectors() -> list[Detector]:
    """For one answer."""
    return [make() for make in DETECTORS]


def findings(events: Iterable[AnyEvent]) -> list[Finding]:
    """All findings of a run's answers, in the order in which they become certain."""
    known = _Known()
    detectors: list[Detector] = []
    found: list[Finding] = []
    for event in events:
        if isinstance(event, Loaded | Tokens):
            known.learn(event)
        elif isinstance(event, Prefilled):
            found += [finding for each in detectors for finding in each.end()]
            detectors = new_detectors()
            for each in detectors:
                for before in known.events():
                    found += each.take(before)
        if isinstance(event, Tokens | Prefilled | Round | Finished):
            found += [finding for each in detectors for finding in each.take(event)]
    return found + [finding for each in detectors for finding in each.end()]


class _Known:
    """What events before an answer have told that also holds for it."""

    def __init__(self) -> None:
        self._loaded: Loaded | None = None
        self._pieces: dict[str, str] = {}
        self._raw: dict[str, str] = {}
        self._special: set[int] = set()

    def learn(self, event: Loaded | Tokens) -> None:
        if isinstance(event, Loaded):
            self._loaded = event
            return
        self._pieces.update(event.pieces)
        self._raw.update(event.raw)
        self._special.update(event.special)

    def events(self) -> list[Loaded | Tokens]:
        tokens = Tokens(pieces={**self._pieces}, raw={**self._raw}, special=sorted(self._special))
        return [tokens] if self._loaded is None else [self._loaded, tokens]
