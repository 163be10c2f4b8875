"""Every finding says what its cause means."""

from __future__ import annotations

from engine.causes import CAUSES
from engine.detectors.found import found


def test_finding_carries_the_catalogue() -> None:
    finding = found("two-bos", "The prompt begins with two of them.", round=3, ids=[1, 1])
    assert finding.why == CAUSES["two-bos"].why
    assert finding.todo == CAUSES["two-bos"].todo
    assert (finding.severity, finding.round, finding.evidence) == ("defect", 3, {"ids": [1, 1]})
