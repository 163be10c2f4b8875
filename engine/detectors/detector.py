"""Detectors that need nothing but the events of an answer. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable

from engine.events import Finding, Finished, Loaded, Prefilled, Round, Tokens

AnswerEvent = Loaded | Tokens | Prefilled | Round | Finished


class Detector:
    """Looks at one answer, event by event, and says what it finds as soon as it is certain."""

    def take(self, event: AnswerEvent) -> Iterable[Finding]:
        """The next event of the answer."""
        return ()

    def end(self) -> Iterable[Finding]:
        """No more comes: the answer is over, or was cut short."""
        return ()
