"""Several observers answer as one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tiny_models import tiny_pair

from engine.causes import NOT_CHECKED
from engine.decode import generate
from engine.detectors import from_events
from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import found
from engine.detectors.live import Together
from engine.events import Finding, Round
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


class Fails(Finds):
    """Finds something and then comes upon what it did not reckon with."""

    def finished(self, output: list[int]) -> Iterator[Observation]:
        yield from super().finished(output)
        raise IndexError(output[7])


def test_one_that_fails_is_told_of_and_asked_no_more() -> None:
    together = Together([Fails("two-bos"), Finds("calibration"), Fails()])
    named = [event.cause for event in together.finished([]) if isinstance(event, Finding)]
    assert named == ["two-bos", NOT_CHECKED, "calibration", NOT_CHECKED]
    assert together.finished([]) == []


class FailsAtTheThirdRound(Detector):
    asked: list[int]

    def __init__(self) -> None:
        self.asked = []

    def take(self, event: AnswerEvent) -> list[Finding]:
        if isinstance(event, Round):
            self.asked.append(event.index)
            return [found("tree-order", "Seen.", round=event.index)] if event.index < 2 else [][event.index]
        return []


def test_one_that_fails_at_a_recorded_answer_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    events = list(generate(tiny_pair("llama"), "abc", max_new_tokens=16))
    before = from_events.findings(events)
    failing = FailsAtTheThirdRound()
    monkeypatch.setattr(from_events, "DETECTORS", (lambda: failing, *from_events.DETECTORS))
    named = from_events.findings(events)
    own = [one for one in named if one.cause in ("tree-order", NOT_CHECKED)]
    assert [one.cause for one in own] == ["tree-order", "tree-order", NOT_CHECKED]
    assert own[-1].evidence == {"detector": "FailsAtTheThirdRound"}
    assert [one for one in named if one not in own] == before
    assert failing.asked == [0, 1, 2] != [event.index for event in events if isinstance(event, Round)]
