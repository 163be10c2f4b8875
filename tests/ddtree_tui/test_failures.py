"""An engine that fails, in every way it can: a dialog says so, the text stays, a new one helps."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playing import Playing, ask, playing

from ddtree_tui.engine_link import EngineLink
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.session import Phase
from ddtree_tui.widgets.prompt import PromptBox
from engine.settings import LoadSettings

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")


@asynccontextmanager
async def asked(scenario: str, folder: Path) -> AsyncIterator[Playing]:
    """The app on a worker of its own, with a prompt sent to it."""
    log, pid = folder / "log", folder / "pid"
    link = EngineLink(
        LoadSettings(), log, command=[sys.executable, str(FAKE_WORKER), scenario, str(log), str(pid)]
    )
    async with playing(engine=link) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("12 and 30")
        await play.pilot.press("enter")
        yield play


async def in_dialog(play: Playing) -> str:
    await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
    await play.settle()
    return play.text()


async def restarted(play: Playing, *, written: str = "12 +") -> None:
    """Restart from the dialog: what was written is still there, and the new engine takes a prompt."""
    answers = len(play.controller.session.answers)
    await play.pilot.click("#restart")
    await play.until(lambda: play.controller.session.phase is Phase.READY)
    await play.settle()
    assert len(play.app.screen_stack) == 1
    shown = play.part("#transcript")
    assert "12 and 30" in shown
    assert written in shown
    assert play.controller.session.answers[0].over
    await play.pilot.press("i")
    await play.type("again")
    await play.pilot.press("enter")
    await play.until(lambda: len(play.controller.session.answers) == answers + 1)


async def test_killed(tmp_path: Path) -> None:
    async with asked("killed", tmp_path) as play:
        text = await in_dialog(play)
        assert "The engine has stopped" in text
        assert "SIGKILL" in text
        assert "ran out of memory" in text
        await restarted(play)


async def test_killed_from_outside_in_the_middle_of_a_run(tmp_path: Path) -> None:
    async with asked("slow", tmp_path) as play:
        await play.until(lambda: play.rounds > 3)
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        assert "SIGKILL" in await in_dialog(play)
        rounds = play.rounds
        await restarted(play)
        assert rounds > 3
        assert play.controller.session.answers[0].rounds[rounds - 1]


async def test_out_of_memory(tmp_path: Path) -> None:
    async with asked("failing", tmp_path) as play:
        text = await in_dialog(play)
        assert "Out of memory" in text
        assert "There is not enough memory for this." in text
        assert "Buy more." in text
        await restarted(play, written="12")


@pytest.mark.parametrize("scenario", ["closed_output", "closed_input"])
async def test_broken_pipe(scenario: str, tmp_path: Path) -> None:
    async with asked(scenario, tmp_path) as play:
        assert "The connection to the engine broke" in await in_dialog(play)
        await restarted(play, written="12" if scenario == "closed_input" else "12 +")


async def test_silence_can_be_waited_out(tmp_path: Path) -> None:
    async with asked("silent", tmp_path) as play:
        play.controller.watchdog.patience = 0.5
        text = await in_dialog(play)
        assert "The engine does not answer" in text
        assert "nothing for 0.5 seconds" in text
        assert "Restart engine" in text
        play.controller.watchdog.patience = 60.0
        await play.pilot.press("enter")  # Wait has the focus
        assert not isinstance(play.app.screen, ProblemScreen)
        play.controller.watchdog.patience = 0.5
        await in_dialog(play)
        play.controller.stop()  # it answers that
        await play.until(lambda: len(play.app.screen_stack) == 1)
        assert play.controller.session.answers[0].finished is not None


async def test_silence_ends_with_a_restart(tmp_path: Path) -> None:
    async with asked("silent", tmp_path) as play:
        play.controller.watchdog.patience = 0.5
        await in_dialog(play)
        play.controller.watchdog.patience = 30.0
        await restarted(play)
        assert play.controller.session.answers[0].failed is not None


async def test_a_paused_run_is_not_silent(tmp_path: Path) -> None:
    async with asked("silent", tmp_path) as play:
        await play.until(lambda: play.rounds == 1)
        await play.pilot.press("f2")
        await play.stop_clock()
        await play.pass_time(3600)
        assert len(play.app.screen_stack) == 1


async def test_a_prompt_that_could_not_be_taken_is_there_again() -> None:
    async with playing() as play:
        await ask(play, "fail")
        assert "The prompt is too long." in await in_dialog(play)
        await play.pilot.press("escape")
        await play.until(lambda: len(play.app.screen_stack) == 1)
        box = play.app.query_one(PromptBox)
        assert (box.text, box.has_focus) == ("fail", True)
