"""Enter twice in one burst, as impatient fingers and key repeat send it: a dialog closes once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from make_recording import conversation
from playing import Playing, playing, replaying
from scripted_engine import ScriptedEngine
from textual.events import Key

from ddtree_tui.problem import Problem
from ddtree_tui.screens.confirm import ConfirmScreen
from ddtree_tui.screens.picker import Choice, PickerScreen
from ddtree_tui.screens.value import ValueScreen
from ddtree_tui.session import Phase


def open_picker(play: Playing, answers: list[object]) -> None:
    play.app.push_screen(PickerScreen("t", "h", "demo", [Choice("demo", "demo", "")]), answers.append)


def open_confirm(play: Playing, answers: list[object]) -> None:
    play.app.push_screen(ConfirmScreen("Sure?", "of this", "Yes"), answers.append)


def open_value(play: Playing, answers: list[object]) -> None:
    play.app.push_screen(ValueScreen("t", "7", "h", answers.append))


def open_problem(play: Playing, answers: list[object]) -> None:
    play.app.open_dialog(Problem("t", "m", "h", restart=True))


OPENED_BY_KEYS = ("f1", "f8", "ctrl+l", "ctrl+r", "S", "f12")


async def burst(play: Playing, *keys: str) -> None:
    """Keys that wait in the queue together."""
    for key in keys:
        play.app.post_message(Key(key, None))
    await play.pilot.pause()
    await play.settle()


@pytest.mark.parametrize("opened", [open_picker, open_confirm, open_value, open_problem])
async def test_a_dialog_answers_once(opened: Callable[[Playing, list[object]], None]) -> None:
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        answers: list[object] = []
        opened(play, answers)
        await play.settle()
        starts = play.engine.starts if isinstance(play.engine, ScriptedEngine) else 0
        await burst(play, "enter", "enter", "enter")
        assert len(play.app.screen_stack) == 1
        if opened is open_problem:
            assert isinstance(play.engine, ScriptedEngine)
            assert play.engine.starts == starts + 1
        else:
            assert len(answers) == 1


async def test_whatever_a_key_opens_survives_two_enters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.pilot.press("tab")
        for key in OPENED_BY_KEYS:
            await play.pilot.press(key)
            await play.settle()
            assert len(play.app.screen_stack) == 2, key
            await burst(play, "enter", "enter")
            await burst(play, "escape", "escape")
            assert len(play.app.screen_stack) == 1, key
            play.app.query_one("#knob-mode").focus()
    async with replaying(conversation(0, rounds=3)) as play:
        for key in ("y", "x", "g"):
            await play.pilot.press(key)
            await play.settle()
            assert len(play.app.screen_stack) == 2, key
            await burst(play, "enter", "enter")
            await burst(play, "escape")
            assert len(play.app.screen_stack) == 1, key
