"""A run with a planted cause, as detectors and the oracle tell of it."""

from __future__ import annotations

from make_recording import conversation

from engine.detectors.found import found
from engine.events import AnyEvent, Checked, Divergence, Finished, LayerCheck


def sick(*, checked: bool = True) -> list[AnyEvent]:
    """An answer of 12 rounds, what detectors found in it, where it parts from the target's own, and, if
    ``checked``, what the oracle says."""
    events = conversation(1, rounds=12)
    divergence = Divergence(round=5, node=-1, position=60, id=20, target_id=21, gap=0.5, verdict="defect")
    late: list[AnyEvent] = [
        found("degenerate-text", "The same 8 tokens 5 times.", severity="warning", round=9),
        found("wrong-leaf", "Round 5 committed the state of node [7].", round=4, node=7, leaf=3),
        divergence,
    ]
    if checked:
        layer = LayerCheck(layer=0, kind="linear_attention", what="state", round=4, error=0.3, tolerance=1e-4)
        late.append(
            Checked(
                oracle="full",
                verdict="defect",
                positions=40,
                compared=40,
                ties=0,
                defects=4,
                noise=0.0,
                seconds=0.1,
                first=divergence,
                layer=layer,
                layers=20,
            )
        )
    assert isinstance(events[-1], Finished)
    return [*events, *late]
