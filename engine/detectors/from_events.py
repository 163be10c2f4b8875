"""What the events of a run tell by themselves: of one under way, or of a recorded one. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from engine.detectors.calibration import Calibration
from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import given_up
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


class Detectors:
    """Those of one answer. One that fails is asked no more, and a finding says so."""

    def __init__(self) -> None:
        self._detectors = [make() for make in DETECTORS]

    def take(self, event: AnswerEvent) -> Iterator[Finding]:
        """The next event of the answer."""
        for each in [*self._detectors]:
            try:
                yield from each.take(event)
            except Exception:
                yield self._without(each)

    def end(self) -> Iterator[Finding]:
        """No more comes: the answer is over, or was cut short."""
        for each in [*self._detectors]:
            try:
                yield from each.end()
            except Exception:
                yield self._without(each)

    def _without(self, failed: Detector) -> Finding:
        self._detectors.remove(failed)
        return given_up(failed)


def findings(events: Iterable[AnyEvent]) -> list[Finding]:
    """All findings of a run's answers, in the order in which they become certain."""
    known = _Known()
    detectors: Detectors | None = None
    found: list[Finding] = []
    for event in events:
        if isinstance(event, Loaded | Tokens):
            known.learn(event)
        elif isinstance(event, Prefilled):
            if detectors is not None:
                found += detectors.end()
            detectors = Detectors()
            for before in known.events():
                found += detectors.take(before)
        if detectors is not None and isinstance(event, Tokens | Prefilled | Round | Finished):
            found += detectors.take(event)
    if detectors is not None:
        found += detectors.end()
    return found


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
