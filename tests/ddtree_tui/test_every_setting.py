"""Every setting is changed by keys, is shown as changed, and holds from when it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from playing import Playing, playing
from scripted_engine import ScriptedEngine
from textual.widgets import Input

from ddtree_tui.screens.confirm import ConfirmScreen
from ddtree_tui.screens.picker import PickerScreen
from ddtree_tui.screens.settings import PICKED, SettingsScreen
from ddtree_tui.session import Phase
from ddtree_tui.setting_list import SETTINGS, Setting, Since, turned
from ddtree_tui.widgets.knobs import NAMES, Knob
from ddtree_tui.widgets.setting_row import SettingRow, SettingValue
from engine.commands import Generate, Set

TYPED: dict[str, tuple[str, Any]] = {
    "stop": ("Q:", ("Q:",)),
    "inject": ("mask-id", ("mask-id",)),
    "model": ("/elsewhere", "/elsewhere"),
    "drafter": ("/drafter", "/drafter"),
    "device": ("cpu", "cpu"),
    "dtype": ("float64", "float64"),
    "context": ("4096", 4096),
}
"""What cannot be turned: what is typed, and the value that makes."""


async def change(play: Playing, setting: Setting) -> Any:
    """Turn a setting, or type or pick a value; what it is to be."""
    app = play.app
    old = app.value(setting)
    value = app.screen.query_one(f"#value-{setting.name}", SettingValue)
    value.focus()
    await play.pilot.pause()
    for key, by in (("right", 1), ("left", -1)):
        if setting.name not in TYPED and (wanted := turned(setting, old, by, app.limits)) != old:
            await play.pilot.press(key)
            return wanted
    assert setting.name in TYPED, f"{setting.name} is not turned: it needs an entry in TYPED"
    typed, wanted = TYPED[setting.name]
    await play.pilot.press("enter")
    kind = PickerScreen if setting.name in PICKED else SettingsScreen
    await play.until(lambda: isinstance(app.screen, kind) and app.screen.query(Input))
    app.screen.query_one(Input).value = typed
    await play.pilot.press("enter")
    await play.until(lambda: isinstance(app.screen, SettingsScreen) and not app.screen.query(Input))
    return wanted


async def test_every_setting_is_changed_by_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with playing(rounds=3) as play:
        app, engine = play.app, play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.pilot.press("ctrl+g")
        await play.until(lambda: isinstance(app.screen, SettingsScreen))
        wanted: dict[str, Any] = {}
        for setting in SETTINGS:
            wanted[setting.name] = await change(play, setting)
            await play.until(lambda name=setting: app.value(name) == wanted[name.name])  # type: ignore[misc]
            row = next(row for row in app.screen.query(SettingRow) if row.setting is setting)
            assert row.value._shown[0] == wanted[setting.name]
            assert row.value._shown[2] == (setting.since is Since.LOAD)
        for setting in SETTINGS:  # none has changed another
            assert app.value(setting) == wanted[setting.name]
            if setting.since is Since.NOW:
                assert getattr(app.looks, setting.name) == wanted[setting.name]
        await play.pilot.press("r")
        await play.until(lambda: isinstance(app.screen, ConfirmScreen))
        await play.pilot.press("y")
        await play.until(lambda: engine.starts == 2 and play.controller.session.phase is Phase.READY)
        for setting in SETTINGS:
            if setting.since is Since.LOAD:
                assert getattr(engine.loads[-1], setting.name) == wanted[setting.name]
        assert play.controller.submit("hello")
        (generate,) = engine.sent_of(Generate)
        assert isinstance(generate, Generate)
        sent = msgspec.structs.asdict(generate.settings)
        assert sent == {name: wanted[name] for name in sent}


async def test_every_knob_is_turned_by_keys_and_the_live_ones_at_once() -> None:
    async with playing(rounds=5000, rounds_per_second=50) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        assert play.controller.submit("hello")
        for knob in [*play.app.query(Knob)]:
            name = knob.setting.name
            value, live = play.app.value(knob.setting), len(engine.sent_of(Set))
            knob.focus()
            await play.pilot.press("right")
            wanted = turned(knob.setting, value, 1, play.app.limits)
            await play.until(lambda knob=knob, wanted=wanted: play.app.value(knob.setting) == wanted)  # type: ignore[misc]
            sent = engine.sent_of(Set)[live:]
            expected = [{name: wanted}] if knob.setting.since is Since.ROUND else []
            assert [command.settings for command in sent if isinstance(command, Set)] == expected
        assert {knob.setting.name for knob in play.app.query(Knob)} == set(NAMES)
