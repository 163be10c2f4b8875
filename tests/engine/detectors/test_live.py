"""Several observers answer as one."""

from __future__ import annotations

from collections.abc import Iterator

from engine.detectors.found import found
from engine.detectors.live import Together
from engine.events import Finding
from engine.observer import Observation, Observer


class Finds(Observer):
    """Finds the same in the end, each time with other words."""

    def __init__(self, *causes: str) -> None:
        self.causes = causes

    def finished(self, output: list[int]) -> Iterator[Observation]:
        for number, cause in enumerate(self.causes):
            yield found(cause, f"Seen {number}.")


def test_every_cause_is_named_once() -> None:
    together = Together([Finds("two-bos", "two-bos", "calibration"), Finds("calibration", "system-lost")])
    named = [event for event in together.finished([1, 2]) if isinstance(event, Finding)]
    assert [finding.cause for finding in named] == ["two-bos", "calibration", "system-lost"]
    assert [finding.seen for finding in named] == ["Seen 0.", "Seen 2.", "Seen 1."]
