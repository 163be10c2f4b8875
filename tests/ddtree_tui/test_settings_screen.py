"""The screen of all settings, and loading other models, by keys."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest
from make_recording import conversation
from playing import Playing, playing, replaying
from scripted_engine import ScriptedEngine
from textual.widgets import Input

from ddtree_tui import model_choices
from ddtree_tui.recent import RecentPair, remember
from ddtree_tui.screens.confirm import ConfirmScreen
from ddtree_tui.screens.picker import PickerScreen
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.screens.settings import PICKED, SettingsScreen
from ddtree_tui.session import Phase
from ddtree_tui.setting_list import SETTINGS, Limits, Since, about, setting
from ddtree_tui.widgets.setting_row import SettingValue
from engine.commands import Set
from engine.events import Failed, Loaded
from engine.settings import DecodeSettings


async def opened(play: Playing, name: str = "") -> None:
    """The settings screen, with the focus on one of them."""
    if not isinstance(play.app.screen, SettingsScreen):
        await play.pilot.press("ctrl+g")
        await play.until(lambda: isinstance(play.app.screen, SettingsScreen))
        await play.pilot.pause()
    if name:
        play.app.screen.query_one(f"#value-{name}", SettingValue).focus()
        await play.pilot.pause()


async def give(play: Playing, name: str, text: str) -> None:
    """Type a value for a setting, in its place."""
    await opened(play, name)
    await play.pilot.press("enter")
    await play.pilot.pause()
    play.app.screen.query_one(Input).value = text
    await play.pilot.press("enter")
    await play.pilot.pause()


def said(play: Playing) -> str:
    return str(play.app.screen.query_one("#settings-help").render())


async def test_all_settings_are_explained_together() -> None:
    async with playing() as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await opened(play)
        await play.pilot.press("f1")
        await play.until(lambda: "seed, from the next run" in play.text())
        assert setting("verify").field.help.partition("; naive")[0] in play.text()
        await play.pilot.press("escape")
        await play.until(lambda: isinstance(play.app.screen, SettingsScreen))


def test_values_are_listed_where_the_help_does_not_name_them() -> None:
    assert about(setting("mode"), Limits()).count("chain") == 1
    assert about(setting("verify"), Limits()).count("naive") == 1
    assert about(setting("oracle"), Limits()).endswith("(off, sample, full)")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_all_settings_are_reached_with_the_arrow_keys_and_explained(size: tuple[int, int]) -> None:
    async with playing(size=size) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await opened(play)
        seen = []
        for _ in SETTINGS:
            await play.settle()
            focused = play.app.focused
            assert isinstance(focused, SettingValue)
            seen.append(focused.setting)
            assert focused.setting.field.help in said(play)
            enter = "turn" if focused.setting.is_switch else "type"
            assert f"Enter {'pick' if focused.setting.name in PICKED else enter} " in play.text()
            assert focused.setting.since.value in said(play)
            assert f"{focused.setting.title} " in play.text()  # scrolled into view
            await play.pilot.press("down")
        assert [setting.since for setting in seen] == sorted(
            (setting.since for setting in seen), key=list(Since).index
        )
        assert set(seen) == set(SETTINGS)
        await play.pilot.press("escape")
        assert len(play.app.screen_stack) == 1


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("budget", "48", 48),
        ("block_size", "8", 8),
        ("temperature", "0.7", 0.7),
        ("top_p", "0.9", 0.9),
        ("top_k", "40", 40),
        ("min_p", "0.05", 0.05),
        ("seed", "123", 123),
        ("max_new_tokens", "77", 77),
        ("stop", "Q:", ("Q:",)),
        ("stop", '["a", "b c"]', ("a", "b c")),
        ("block_size", "", None),
    ],
)
async def test_values_are_typed_in_their_place(name: str, text: str, value: object) -> None:
    async with playing(settings=DecodeSettings(block_size=4)) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await give(play, name, text)
        assert getattr(play.controller.settings, name) == value
        assert not play.app.screen.query(Input)
        assert play.app.focused is play.app.screen.query_one(f"#value-{name}")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("budget", "0", "The budget cannot be 0."),
        ("budget", "many", "The budget cannot be 'many'."),
        ("block_size", "17", "the drafter was trained with 16"),
        ("temperature", "-1", "The temperature cannot be -1.0."),
        ("top_p", "nan", "The top-p cannot be nan."),
        ("seed", "-5", "The seed cannot be -5."),
        ("stop", "[1]", "The stop cannot be [1]."),
        ("paints_per_second", "99", "The paints per second cannot be '99'."),
    ],
)
async def test_wrong_values_are_explained_and_can_be_corrected(name: str, text: str, told: str) -> None:
    async with playing() as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await give(play, name, text)
        assert told in said(play)
        assert play.controller.settings == DecodeSettings()
        assert play.app.screen.query(Input)
        await play.pilot.press("escape")
        await play.pilot.pause()
        assert isinstance(play.app.screen, SettingsScreen)
        assert not play.app.screen.query(Input)
        assert play.app.screen.query_one(f"#value-{name}").display


@pytest.mark.parametrize("name", ["mode", "verify", "thinking", "detail"])
async def test_switches_are_turned_by_arrows_enter_and_space(name: str) -> None:
    async with playing() as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await opened(play, name)
        values = [getattr(play.controller.settings, name)]
        for key in ("right", "enter", "space", "left"):
            await play.pilot.press(key)
            await play.pilot.pause()
            values.append(getattr(play.controller.settings, name))
        assert values[4] == values[2]
        assert all(one != other for one, other in itertools.pairwise(values))


async def test_the_budget_slides_and_a_running_answer_follows() -> None:
    async with playing(rounds=5000, rounds_per_second=40) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds > 2)
        await opened(play, "budget")
        await play.settle()
        before = play.text()
        await play.pilot.press("right", "shift+right", "shift+right")
        await play.until(lambda: play.controller.session.rounds[-1][1].budget == 130)
        await play.settle()
        assert "130" in play.text()
        line, old = (
            next(row for row in text.splitlines() if "budget" in row) for text in (play.text(), before)
        )
        assert line.index("●") > old.index("●")
        assert len(engine.sent_of(Set)) == 3
        await play.pilot.press("escape")
        play.controller.stop()


@pytest.mark.parametrize("key", ["ctrl+g", "s"])
async def test_both_keys_open_the_screen(key: str) -> None:
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds == 3)
        await play.pilot.press("escape", key)
        await play.until(lambda: isinstance(play.app.screen, SettingsScreen))
        await play.pilot.press("end")
        assert play.app.focused is play.app.screen.query_one("#value-paints_per_second")
        await play.pilot.press("home", "q")
        assert len(play.app.screen_stack) == 1


async def test_looks_change_at_once() -> None:
    async with playing() as play:
        await opened(play, "theme")
        await play.pilot.press("right")
        assert play.app.theme == "ddtree-light"
        await opened(play, "ascii")
        await play.pilot.press("right")
        await play.settle()
        assert play.text().isascii()
        await opened(play, "colour")
        await play.pilot.press("right")
        assert not play.app.looks.colour
        await give(play, "paints_per_second", "3")
        assert play.app.pace.most == 3


async def test_without_a_drafter_there_is_mode_ar_alone() -> None:
    engine = ScriptedEngine(loads=False)
    async with playing(engine=engine) as play:
        (loaded,) = (event for event in conversation(0, rounds=1) if isinstance(event, Loaded))
        engine.queue.append(msgspec.structs.replace(loaded, drafter=None, block_size=None))
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.until(lambda: play.told)
        assert play.controller.settings.mode == "ar"
        await play.pilot.press("f7")
        assert play.controller.settings.mode == "ar"
        await opened(play, "mode")
        await play.pilot.press("right")
        assert play.controller.settings.mode == "ar"
        assert "Without a drafter: ar." in said(play)
        engine.queue.append(loaded)
        await play.until(lambda: play.controller.settings.mode == "tree")


@pytest.fixture
def recent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "recent.json"
    remember(path, RecentPair("/models/mine", "/models/drafter"))
    monkeypatch.setattr(model_choices, "recent_file", lambda: path)
    return path


async def test_another_pair_is_picked_and_loaded_and_the_text_stays(recent: Path) -> None:
    async with playing(rounds=4, rounds_per_second=100) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: not play.controller.busy and play.rounds == 4)
        await opened(play, "model")
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, PickerScreen))
        await play.settle()
        for name in ("/models/mine", "demo", "qwen3.5-4b"):
            assert name in play.text()
        await play.pilot.press("down", "enter")
        await play.until(lambda: isinstance(play.app.screen, SettingsScreen))
        await play.settle()
        assert play.app.pending == {"model", "drafter"}
        assert "/models/drafter" in play.text()
        await opened(play, "device")
        await give(play, "device", "tpu")
        assert "The device cannot be 'tpu'." in said(play)
        await play.pilot.press("escape")
        await give(play, "device", "cuda:1")
        assert engine.starts == 1
        await play.pilot.press("r")
        await play.until(lambda: isinstance(play.app.screen, ConfirmScreen))
        await play.settle()
        assert "Load /models/mine, drafter /models/drafter on cuda:1?" in play.text()
        await play.pilot.press("n")
        assert engine.starts == 1
        await play.pilot.press("r")
        await play.until(lambda: isinstance(play.app.screen, ConfirmScreen))
        await play.pilot.press("y")
        await play.until(lambda: engine.starts == 2)
        load = engine.loads[-1]
        assert load is not None
        assert (load.model, load.drafter, load.device) == ("/models/mine", "/models/drafter", "cuda:1")
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.settle()
        assert len(play.app.screen_stack) == 1
        assert "❯ hello" in play.part("#transcript")
        assert play.rounds == 4


async def test_a_folder_can_be_typed_and_a_drafter_taken_away(recent: Path) -> None:
    async with playing() as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await opened(play, "model")
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, PickerScreen))
        play.app.screen.query_one(Input).value = "/models/[b]other"
        await play.pilot.press("enter")
        await play.settle()
        assert "/models/[b]other" in play.text()
        await opened(play, "drafter")
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, PickerScreen))
        await play.pilot.press("down", "down", "enter")
        await play.pilot.pause()
        assert play.app.wanted_load is not None
        assert play.app.wanted_load.drafter == "/models/drafter"
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, PickerScreen))
        await play.pilot.press("down", "enter")
        await play.pilot.pause()
        assert play.app.wanted_load.drafter is None
        await play.pilot.press("escape")
        assert play.controller.load.model == "demo"


async def test_models_that_do_not_load_leave_a_way_back() -> None:
    engine = ScriptedEngine()
    async with playing(engine=engine) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        engine.fail_to_load = Failed(error="model_not_found", message="There is no /nowhere.", hint="Look.")
        await opened(play)
        play.app.wanted_load = msgspec.structs.replace(play.controller.load, model="/nowhere")
        await play.pilot.press("r")
        await play.until(lambda: isinstance(play.app.screen, ConfirmScreen))
        await play.pilot.press("y")
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert "There is no /nowhere." in play.text()
        engine.fail_to_load = None
        await play.pilot.click("#back")
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        assert play.controller.load.model == "demo"
        assert engine.loads[-1] == play.controller.load


async def test_a_recording_has_no_settings() -> None:
    async with replaying(list(conversation(0, rounds=3))) as play:
        await play.pilot.press("ctrl+g")
        assert len(play.app.screen_stack) == 1
