"""The doctor's ranking for the run on screen."""

from __future__ import annotations

from make_recording import conversation
from playing import replaying

from ddtree_tui.screens.diagnosis import DiagnosisScreen
from engine.detectors.found import found
from engine.events import AnyEvent, Checked, Divergence, Finished, LayerCheck


def sick(*, checked: bool = True) -> list[AnyEvent]:
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


async def test_root_cause_comes_first_and_brackets_are_no_markup():
    async with replaying(sick(), size=(100, 40)) as play:
        await play.pilot.press("D")
        await play.settle()
        assert isinstance(play.app.screen, DiagnosisScreen)
        shown = play.text()
        assert "Garbled by wrong-leaf" in shown
        assert shown.index("1. wrong-leaf") < shown.index("2. degenerate-text")
        assert "follows from wrong-leaf" in shown
        assert "node [7]" in shown
        assert "state of layer 0 (linear attention) after round 5" in shown
        await play.pilot.press("escape")
        await play.settle()
        assert not isinstance(play.app.screen, DiagnosisScreen)


async def test_what_was_not_compared_is_not_called_healthy():
    async with replaying(conversation(1, rounds=6), size=(80, 24)) as play:
        await play.pilot.press("D")
        await play.settle()
        shown = play.text()
        assert "Nothing wrong is seen" in shown
        assert "Healthy" not in shown
        assert "Esc, then C" in shown
