"""Themes, no colours, ASCII alone, and fewer paints."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_recording import conversation
from playing import playing, replaying
from rich.cells import cell_len
from textual.color import Color

from ddtree_tui import ascii_forms
from ddtree_tui.ascii_forms import FORMS, ascii_form
from ddtree_tui.comparison_lane import LANE, Compared
from ddtree_tui.config import THEME_NAMES, Config, Looks
from ddtree_tui.config_file import ReadConfig
from ddtree_tui.escape import escape
from ddtree_tui.glyphs import BARS, GLYPHS
from ddtree_tui.overview import MARKS, Mark
from ddtree_tui.pace import Pace
from ddtree_tui.theme import CONTRAST, CONTRAST_ROLES, THEMES
from ddtree_tui.widgets.draft_tree import DraftTreeView


def looking(**looks: object) -> ReadConfig:
    return ReadConfig(Config(looks=Looks(**looks)), Path("config.toml"))  # type: ignore[arg-type]


def colours(play: object) -> set[object]:
    """Every colour that goes to the terminal."""
    found = set()
    for strip in play.app.screen._compositor.render_strips():  # type: ignore[attr-defined]
        for segment in strip:
            if segment.style is not None:
                found |= {segment.style.color, segment.style.bgcolor}
    return {colour for colour in found if colour is not None and not colour.is_default}  # type: ignore[attr-defined]


@given(st.text())
def test_ascii_forms_are_ascii_and_as_wide(text: str) -> None:
    shown = escape(text)
    assert ascii_form(shown).isascii()
    assert cell_len(ascii_form(shown)) == sum(map(cell_len, shown))


def test_every_state_keeps_a_glyph_of_its_own() -> None:
    assert len({ascii_form(glyph) for glyph in GLYPHS.values()}) == len(GLYPHS)
    assert len({ascii_form(bar) for bar in BARS}) == len(BARS)
    assert all(len(form) == cell_len(glyph) for glyph, form in FORMS.items())


def texts_of(module: ast.Module) -> Iterator[str]:
    """The texts in a module that are no docstrings."""
    docs = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_every_sign_the_app_draws_has_a_form() -> None:
    drawn: dict[str, str] = {}
    for path in Path(ascii_forms.__file__).parent.rglob("*.py"):
        elsewhere = {"bench", "export"} & {*path.parts} or path.name in ("ascii_forms.py", "svg_image.py")
        if not elsewhere:
            signs = {character for text in texts_of(ast.parse(path.read_text())) for character in text}
            drawn |= {sign: path.name for sign in signs if not sign.isascii() and sign.isprintable()}
    assert "✓" in drawn
    pictographs = set("©®ㅤᅟᅠ\uffa0\u034f\u17b4\u17b5\ufe0e\ufe0f")  # of the models' text, in escape.py
    assert {sign: name for sign, name in drawn.items() if sign not in FORMS and sign not in pictographs} == {}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_ascii_mode_shows_nothing_else_on_any_screen(size: tuple[int, int]) -> None:
    async with playing(size=size, rounds=12, awkward=0.5, config=looking(ascii=True)) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.settle()
        assert play.text().isascii()
        assert re.search(r"O +root", play.text())
        assert "or pick one: Tab, Up or Down, Enter." in play.text()
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: not play.controller.busy)
        await play.settle()
        assert play.text().isascii()
        for key in ("f1", "f8", "ctrl+p"):
            await play.pilot.press(key)
            await play.settle()
            assert play.text().isascii(), key
            assert "?? Search" not in play.text()
            assert key != "f1" or re.search(r"F3 +Left \[ ", play.text())
            await play.pilot.press("escape")
        play.app.change_looks(ascii=False)
        await play.settle()
        assert not play.text().isascii()


async def test_without_colour_nothing_has_one() -> None:
    async with playing(rounds=12, config=looking(colour=False)) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: not play.controller.busy)
        await play.settle()
        assert colours(play) == set()
        await play.pilot.press("f8")
        await play.settle()
        assert colours(play) == set()
        await play.pilot.press("escape")
        play.app.change_looks(colour=True)
        await play.settle()
        assert len(colours(play)) > 5


async def test_no_color_in_the_environment_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with playing() as play:
        await play.settle()
        assert colours(play) == set()
        assert not play.app.looks.colour


async def test_the_focus_is_seen_without_colours() -> None:
    async with playing(config=looking(colour=False)) as play:
        await play.settle()
        knob = play.app.query_one("#knob-budget")
        knob.focus()
        await play.settle()
        region = knob.region
        strip = play.app.screen._compositor.render_strips()[region.y].crop(region.x, region.right)
        assert any(segment.style is not None and segment.style.reverse for segment in strip)


async def test_themes_take_turns() -> None:
    async with playing() as play:
        for name in ("light", "contrast", "dark"):
            await play.pilot.press("ctrl+t")
            await play.settle()
            assert play.app.theme == THEMES[name].name
    async with replaying(list(conversation(0, rounds=3))) as play:
        await play.pilot.press("ctrl+t")
        assert play.app.theme == THEMES["light"].name


def test_every_theme_of_the_configuration_exists() -> None:
    assert tuple(THEMES) == THEME_NAMES


@pytest.mark.parametrize("name", [name for name in CONTRAST_ROLES if name != "on-wrong"])
def test_high_contrast_is_high(name: str) -> None:
    assert CONTRAST.background is not None
    background, colour = Color.parse(CONTRAST.background), Color.parse(CONTRAST_ROLES[name])
    assert _contrast(background, colour) >= 7


def _contrast(one: Color, other: Color) -> float:
    """WCAG 2: (L1 + 0.05) / (L2 + 0.05), L the relative luminance of sRGB."""

    def luminance(colour: Color) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


async def test_over_ssh_there_are_fewer_paints(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(quick=False) as play:
        assert play.app.pace.most == 15
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")
    async with playing() as play:
        assert play.app.pace.most == 5
    async with playing(config=looking(paints_per_second=2), rounds=400, rounds_per_second=100) as play:
        assert play.app.pace.most == 2
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds > 10)
        before, start = play.app.paints, time.monotonic()
        await play.until(lambda: play.app.paints == before + 3)
        assert time.monotonic() - start > 0.9
    monkeypatch.delenv("SSH_CONNECTION")


@given(st.integers(1, 15), st.lists(st.tuples(st.floats(0.0001, 0.5), st.booleans()), max_size=100))
def test_any_pace_is_kept(most: int, steps: list[tuple[float, bool]]) -> None:
    pace, now, paints = Pace(most), 100.0, []
    for gap, user in steps:
        now += gap
        if now >= (pace.user_at() if user else pace.news_at()):
            pace.painted(now, for_user=user)
            paints.append(now)
    assert all(sum(start <= paint < start + 1 for paint in paints) <= most for start in paints)


@pytest.mark.parametrize("layout", ["horizontal", "indented", "dense"])
async def test_the_layout_of_the_configuration_is_used(layout: str) -> None:
    async with playing(rounds=3, config=looking(layout=layout)) as play:
        assert play.app.query_one(DraftTreeView).look.arranged(120) == layout
        assert play.app.query_one(DraftTreeView).look.arranged(60) == layout
    async with playing() as play:
        assert play.app.query_one(DraftTreeView).look.arrangement is None


def test_signs_that_stand_side_by_side_differ_in_ascii_too() -> None:
    nodes, marks, lane = ([ascii_form(sign) for sign in signs.values()] for signs in (GLYPHS, MARKS, LANE))
    for signs in (nodes, marks, lane, [ascii_form(line) for line in "├│└"]):
        assert len(set(signs)) == len(signs)
    assert not set(nodes) & set(".+,-"), "these are tokens more often than not"
    assert ascii_form(MARKS[Mark.BEYOND]) not in nodes
    assert ascii_form(MARKS[Mark.DIVERGENCE]) == ascii_form(LANE[Compared.DEFECT])
