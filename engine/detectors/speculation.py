"""Whether rounds that are to draft do draft. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator

from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import found
from engine.events import Finding, Round

CERTAIN = 2
"""Rounds without nodes. The last round of an answer may have none: there is nothing left to draft."""


class Speculation(Detector):
    """Rounds of ``chain`` or ``tree`` whose draft is empty."""

    def __init__(self) -> None:
        self._empty: list[int] = []
        self._drafting = 0
        self._told = False

    def take(self, event: AnswerEvent) -> Iterator[Finding]:
        if not isinstance(event, Round) or event.mode == "ar" or not event.tree_known or self._told:
            return
        if event.nodes.ids:
            self._drafting += 1
            return
        self._empty.append(event.index)
        if len(self._empty) >= CERTAIN:
            self._told = True
            yield found(
                "speculation-off",
                f"The mode is {event.mode}, but rounds {self._empty[0] + 1} and {event.index + 1} drafted no "
                f"node: each committed one token, after {event.ms.draft:.1f} ms of drafting.",
                round=self._empty[0],
                mode=event.mode,
                rounds_without_nodes=len(self._empty),
                rounds_with_nodes=self._drafting,
            )
