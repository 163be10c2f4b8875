"""The oracle in the app: the lane under the timeline, the screen, checking on demand."""

from __future__ import annotations

from make_recording import conversation
from playing import ask, playing, replaying

from ddtree_tui.check.rows import rows_of
from ddtree_tui.comparison_lane import LANE, Compared, ComparisonLane
from ddtree_tui.screens.oracle import OracleScreen
from ddtree_tui.session import Session
from ddtree_tui.widgets.timeline import LANE_LABEL
from engine.commands import Cancel, Check, Generate
from engine.events import AnyEvent, Checked, Checking, Divergence, LayerCheck


def found(**fields: object) -> Checked:
    given: dict[str, object] = {
        "oracle": "full",
        "verdict": "identical",
        "positions": 40,
        "compared": 40,
        "ties": 0,
        "defects": 0,
        "noise": 0.002,
        "seconds": 0.1,
        "rounds": [(0, 9)],
        **fields,
    }
    return Checked(**given)  # type: ignore[arg-type]


def parts(round_number: int, verdict: str) -> Divergence:
    return Divergence(
        round=round_number,
        node=-1,
        position=60,
        id=20,
        target_id=21,
        gap=0.5,
        verdict=verdict,  # type: ignore[arg-type]
    )


def sick() -> list[AnyEvent]:
    tie, defect = parts(2, "tie"), parts(5, "defect")
    layer = LayerCheck(layer=0, kind="linear_attention", what="state", round=4, error=0.3, tolerance=1e-4)
    drift = [(number, 1e-6 if number < 4 else 0.3) for number in range(10)]
    checked = found(verdict="defect", ties=1, defects=1, first=defect, layer=layer, layers=20, drift=drift)
    return [*conversation(1, rounds=12), tie, defect, checked]


async def test_a_lane_under_the_timeline_tells_by_glyph():
    async with replaying(sick(), size=(100, 40)) as play:
        *_, lane, _axis = play.part("#timeline").split("\n")
        assert lane.split() == [LANE_LABEL, *"==≈=≠≠====··"]
    async with replaying(conversation(1, rounds=12), size=(100, 40)) as play:
        assert "·" not in play.part("#timeline").split("\n")[-2]


async def test_the_screen_shows_result_and_drift():
    async with replaying(sick(), size=(100, 40)) as play:
        await play.pilot.press("C")
        await play.settle()
        assert isinstance(play.app.screen, OracleScreen)
        shown = play.text()
        assert "This is not what the target alone writes: 1 of 40 tokens compared" in shown
        assert "round 6, at the root" in shown
        assert "recurrent state of layer 0 (linear attention) after round 5" in shown
        assert "2 places in all" in shown
        assert "relative error of the recurrent state over rounds" in shown
        assert "1e-06" in shown
        assert "compare again" not in shown
        await play.pilot.press("escape")
        await play.settle()
        assert not isinstance(play.app.screen, OracleScreen)


async def test_a_recording_without_an_oracle_says_how():
    async with replaying(conversation(1, rounds=6), size=(80, 24)) as play:
        await play.pilot.press("C")
        await play.settle()
        assert "was not compared" in play.text()
        assert "ddtree-tui check FILE" in play.text()


async def test_an_answer_is_checked_on_demand():
    async with playing(rounds=6) as play:
        await ask(play, "12 + 30")
        await play.until(lambda: play.controller.session.answer.finished is not None)
        await play.pilot.press("escape", "C")
        await play.settle()
        (check,) = play.engine.sent_of(Check)
        answer = play.controller.session.answer
        assert check.prompt_ids == answer.prefilled.prompt_ids
        assert [choice.id for choice in check.choices] == answer.finished.output_ids
        assert "Waiting for the engine" in play.text()
        assert not play.controller.check()  # one at a time
        play.engine.queue.append(Checking(stage="Reading the answer", done=3, total=9))
        await play.settle()
        assert "Reading the answer: 3 of 9" in play.text()
        play.engine.queue.append(found(rounds=[(0, 5)]))
        await play.settle()
        assert "This is what the target alone writes" in play.text()
        await play.pilot.press("s")
        await play.settle()
        assert play.engine.sent_of(Check)[1].sequential
        await play.pilot.press("f1")
        await play.settle()
        assert "Ties and defects" in play.text()


async def test_a_new_prompt_does_not_wait_for_a_comparison():
    async with playing(rounds=4) as play:
        await ask(play, "12 + 30")
        await play.until(lambda: play.controller.session.answer.finished is not None)
        assert play.controller.check()
        before = len(play.engine.sent_of(Cancel))
        await ask(play, "1 + 1")
        assert len(play.engine.sent_of(Cancel)) == before + 1
        assert len(play.engine.sent_of(Generate)) == 2


def test_what_is_found_later_goes_to_the_answer_that_was_checked():
    session = Session()
    for event in [*conversation(1, rounds=5), *conversation(2, rounds=7)]:
        session.apply(event)
    first, second = session.answers
    session.check(first)
    assert session.comparing
    session.apply(parts(1, "defect"))
    session.apply(found(verdict="defect", defects=1, rounds=[(0, 4)]))
    assert not session.comparing
    assert first.checked is not None
    assert second.checked is None
    assert session.overview.divergent == [1]
    assert [session.overview.lane.state(n, n + 1) for n in (0, 1, 6)] == [
        Compared.IDENTICAL,
        Compared.DEFECT,
        Compared.NOT,
    ]
    session.check(first)
    assert first.checked is None
    assert session.overview.divergent == []


def test_several_rounds_of_a_column_show_the_worst():
    lane = ComparisonLane()
    lane.tell(3, 6, found(rounds=[(0, 2), (4, 5)]), [parts(4, "tie")])
    assert lane.state(3, 6) == Compared.IDENTICAL
    assert lane.state(3, 7) == Compared.NOT
    assert lane.state(5, 9) == Compared.TIE
    assert lane.state(0, 20) == Compared.TIE
    assert len({*LANE.values()}) == len(Compared)


def test_lines_fit_and_are_ascii_where_they_must():
    session = Session()
    for event in sick():
        session.apply(event)
    answer = session.answer
    assert answer is not None
    for width in (30, 80):
        rows = rows_of(answer, width, live=True, plain=True)
        assert all(len(row.text) <= width for row in rows)
        assert any("*" in row.text for row in rows if row.role == "plot")
