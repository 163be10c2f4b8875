"""The doctor's ranking for the run on screen."""

from __future__ import annotations

from make_recording import Recording, conversation
from playing import ask, playing, replaying
from scripted_engine import ScriptedEngine
from sick_run import sick

from ddtree_tui.doctor.of_run import awaited, report_of, rows_of
from ddtree_tui.screens.diagnosis import DiagnosisScreen
from ddtree_tui.session import Session
from engine.events import Checked, Checking
from engine.settings import DecodeSettings


def test_an_answer_that_never_came_is_told_first() -> None:
    session = Session()
    settings = DecodeSettings(thinking=True)
    for event in [
        *Recording(1).start(),
        *Recording(1).answer("hello", settings=settings, rounds=8, thinking_rounds=20),
    ]:
        session.apply(event)
    rows = [row.text for row in rows_of(report_of(session.answers[0]), 100)]
    assert rows[1] == "It wrote no answer: turn thinking off (F9), or ask again."
    assert rows[0].startswith("Nothing wrong is seen")


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
        assert "causes" not in shown
        await play.pilot.press("f1")
        await play.settle()
        assert "nothing is called healthy" in " ".join(play.text().split())


async def test_a_comparison_under_way_is_said_and_how_far_it_is():
    async with playing(rounds=5, size=(100, 30), settings=DecodeSettings(oracle="full")) as play:
        assert isinstance(play.engine, ScriptedEngine)
        await ask(play)
        await play.until(lambda: not play.controller.busy)
        play.app.action_diagnose()
        await play.until(lambda: isinstance(play.app.screen, DiagnosisScreen))
        play.engine.queue.append(Checking(stage="Reading the answer", done=3, total=9))
        await play.until(lambda: "being compared: reading the answer, 3 of 9" in play.text())
        assert "Nothing wrong is seen so far." in play.text()
        assert "Esc, then C" not in play.text()
        play.engine.queue.append(Checking(stage="Reading the answer", done=6, total=9))
        await play.until(lambda: "6 of 9" in play.text())
        play.engine.queue.append(
            Checked(
                oracle="full",
                verdict="identical",
                positions=9,
                compared=9,
                ties=0,
                defects=0,
                noise=0.0,
                seconds=0.1,
            )
        )
        await play.until(lambda: "same at 9 positions" in play.text())
        assert "being compared" not in play.text()


def test_an_answer_under_way_says_when_it_is_compared():
    for oracle, words in (("full", "will be compared when it has ended"), ("off", "it goes on")):
        session = Session()
        for event in Recording(1).answer("?", settings=DecodeSettings(oracle=oracle), rounds=3):
            session.apply(event)
            answer = session.answer
            assert answer is not None
            rows = "\n".join(row.text for row in rows_of(report_of(answer), 80, awaited(answer)))
            assert (words in rows) == (not answer.over)
