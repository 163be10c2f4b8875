"""What settings there are, how they are turned and shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddtree_tui.config_file import parsed
from ddtree_tui.setting_list import SETTINGS, Limits, Since, nudged, position, setting, shown, turned, typed
from engine.control import LIVE_SETTINGS
from engine.settings import MAX_BUDGET, DecodeSettings

ALONE = Limits(modes=("ar",))
PAIR = Limits(block_size=16)


def test_every_decode_setting_is_there_once_and_says_when() -> None:
    names = [setting.name for setting in SETTINGS]
    assert len(names) == len(set(names))
    assert set(DecodeSettings.__struct_fields__) <= set(names)
    assert {setting.name for setting in SETTINGS if setting.since is Since.ROUND} == LIVE_SETTINGS


@given(
    st.sampled_from([s for s in SETTINGS if s.field.section == "decode"]), st.lists(st.sampled_from([-1, 1]))
)
def test_turning_never_leaves_what_the_engine_takes(knob: Any, steps: list[int]) -> None:
    value = knob.field.default
    for by in steps:
        value = turned(knob, value, by, PAIR)
        DecodeSettings(**{knob.name: value}).check()
        assert parsed(knob.field, typed(knob, value)) == value or isinstance(value, bool)


def test_without_a_drafter_only_ar_is_offered() -> None:
    assert turned(setting("mode"), "ar", 1, ALONE) == "ar"
    assert turned(setting("mode"), "tree", 1, ALONE) == "ar"
    assert turned(setting("mode"), "ar", 1, PAIR) == "chain"


def test_the_block_size_goes_up_to_the_drafter_s() -> None:
    block = setting("block_size")
    assert turned(block, None, -1, PAIR) == 15
    assert turned(block, 15, 1, PAIR) is None
    assert turned(block, None, 1, PAIR) is None
    assert turned(block, 2, -1, PAIR) == 2
    assert shown(block, None, PAIR) == "the drafter's own (16)"


@pytest.mark.parametrize(
    ("name", "value", "up", "down"),
    [
        ("budget", 64, 128, 32),
        ("budget", MAX_BUDGET, MAX_BUDGET, 512),
        ("budget", 48, 64, 32),
        ("temperature", 0.0, 0.2, 0.0),
        ("thinking", False, True, True),
        ("verify", "solve", "sequential", "naive"),
        ("seed", 0, 1, 0),
        ("max_new_tokens", 1024, 2048, 512),
        ("theme", "dark", "light", "contrast"),
        ("paints_per_second", None, 15, 10),
        ("model", "demo", "demo", "demo"),
    ],
)
def test_turning(name: str, value: Any, up: Any, down: Any) -> None:
    assert turned(setting(name), value, 1, PAIR) == up
    assert turned(setting(name), value, -1, PAIR) == down


def test_by_one() -> None:
    assert nudged(setting("budget"), 64, 1, PAIR) == 65
    assert nudged(setting("temperature"), 0.4, 1, PAIR) == 0.6


def test_stop_strings() -> None:
    stop = setting("stop")
    assert shown(stop, ()) == "none"
    assert typed(stop, ()) == ""
    assert typed(stop, ("Q:",)) == "Q:"
    assert parsed(stop.field, 'a "b"') == ('a "b"',)
    for value in ((), ("Q:",), ("a", "b"), ("[x",)):
        assert parsed(stop.field, typed(stop, value)) == value


def test_the_slider() -> None:
    assert position(setting("budget"), 1) == 0
    assert position(setting("budget"), 32) == 0.5
    assert position(setting("budget"), MAX_BUDGET) == 1
    assert position(setting("seed"), 1) is None
