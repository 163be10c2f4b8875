"""Tokens that are markup, control bytes, half characters, CJK or emoji: right on the screen and in an SVG."""

from __future__ import annotations

import html
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from make_recording import AWKWARD, Recording, token_id
from playing import Playing, playing, replaying
from rich.cells import cell_len
from scripted_engine import ScriptedEngine

from ddtree_tui.escape import decode_bytes, token_label
from ddtree_tui.svg_image import CELL, find_chromium, tidy_svg, write_png
from engine.events import AnyEvent, Failed
from engine.settings import DecodeSettings


def awkward_run(rounds: int = 30, **settings: object) -> list[AnyEvent]:
    recording = Recording(2, awkward=0.95)
    decode = DecodeSettings(budget=32, thinking=True, **settings)  # type: ignore[arg-type]
    prompt = "[/b] \x1b[31m\u202e 你好 🙂 &<br>"
    return [*recording.start(), *recording.answer(prompt, settings=decode, rounds=rounds, thinking_rounds=4)]


def check_screen(play: Playing, size: tuple[int, int]) -> None:
    """Every line has its width and nothing that a terminal would act on."""
    for strip in play.app.screen._compositor.render_strips():
        assert strip.cell_length == size[0] == cell_len(strip.text)
        for character in strip.text:
            assert unicodedata.category(character) not in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp"), strip.text
            assert character not in "\u202e\u200b"


def check_svg(svg: str) -> None:
    ElementTree.fromstring(svg)
    ElementTree.fromstring(tidy_svg(svg))


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24)])
async def test_every_view_of_the_text_shows_it_as_it_is(size: tuple[int, int]) -> None:
    async with replaying(awkward_run(), size=size) as play:
        await play.pilot.press("r")
        for _view in range(4):
            for _tint in range(3):
                await play.pilot.press("home", "down")
                await play.settle()
                check_screen(play, size)
                check_svg(play.app.export_screenshot())
                await play.pilot.press("b")
            await play.pilot.press("v")
        for key in ("P", "v", "v"):
            await play.pilot.press(key)
            await play.settle()
            check_screen(play, size)
            check_svg(play.app.export_screenshot())


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_every_round_is_shown_as_it_is(size: tuple[int, int]) -> None:
    async with replaying(awkward_run(), size=size) as play:
        seen = ""
        await play.pilot.press("home")
        for _ in range(play.rounds):
            await play.pilot.press("right")
            await play.settle()
            check_screen(play, size)
            seen += play.part("#tree") + "\n"
        check_svg(play.app.export_screenshot())
        for raw in AWKWARD:
            label = token_label(decode_bytes(raw))
            assert label in seen, label
        transcript = play.part("#transcript")
        assert "⟨" not in transcript  # nothing is waiting at the end


async def test_the_prompt_and_the_text_are_shown_as_they_are() -> None:
    async with replaying(awkward_run(rounds=6), size=(160, 48)) as play:
        await play.pilot.press("z", "z")
        await play.settle()
        text = play.part("#transcript")
        assert "❯ [/b] ␛[31m‹202e› 你好 🙂 &<br>" in text
        check_screen(play, (160, 48))
        check_svg(play.app.export_screenshot())


async def test_half_a_character_shows_as_bytes_until_it_is_whole() -> None:
    recording = Recording(0, awkward=0.0)
    events = [*recording.start(), *recording.answer("x", rounds=2)]
    whole, half, rest = token_id("a"), token_id("🙂".encode()[:3]), token_id("🙂".encode()[3:])
    import msgspec

    last_two = [msgspec.structs.replace(event, committed_ids=ids) for event, ids in
                zip(events[-3:-1], ([whole, half], [rest]), strict=True)]  # fmt: skip
    async with replaying([*events[:-3], last_two[0]]) as play:
        assert "a⟨f09f99⟩" in play.part("#transcript")
    async with replaying([*events[:-3], *last_two]) as play:
        assert "a🙂" in play.part("#transcript")


async def test_errors_are_no_markup() -> None:
    failed = Failed(
        error="x", message="No [bold]such\x1b[2J [/b] model\u202e.", hint="See [link=file]this[/link]."
    )
    async with playing(engine=ScriptedEngine(fail_to_load=failed), model="[/b]\x1b") as play:
        await play.until(lambda: len(play.app.screen_stack) == 2)
        await play.settle()
        text = play.text()
        assert "No [bold]such␛[2J [/b] model‹202e›." in text
        assert "See [link=file]this[/link]." in text
        assert "[/b]␛" in play.part("#top-line")
        check_svg(play.app.export_screenshot())


async def test_prompts_with_markup_can_be_typed_and_run() -> None:
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.loaded)
        await play.pilot.press("left_square_bracket", "slash", "b", "right_square_bracket", "enter")
        await play.until(lambda: play.controller.session.answers)
        assert play.controller.session.answers[0].prompt == "[/b]"
        await play.until(lambda: not play.controller.busy)
        await play.settle()
        assert "❯ [/b]" in play.part("#transcript")


def test_tidy_svg_gives_every_text_its_cells() -> None:
    svg = (
        '<svg viewBox="0 0 100 50" xmlns="http://www.w3.org/2000/svg">'
        '<style>@font-face { src: url("https://x.y/z") }'
        " .m { font-family: Fira Code, monospace; }</style>"
        '<text class="a" x="0" y="20" textLength="99" clip-path="url(#c)">你好&#160;a&amp;</text></svg>'
    )
    tidy = tidy_svg(svg)
    lengths = re.findall(r'textLength="([0-9.]+)"[^>]*>([^<]*)<', tidy)
    ((length, text),) = lengths
    assert html.unescape(text) == "你好\xa0a&"
    assert float(length) == pytest.approx(7 * CELL)
    assert "https" not in tidy
    assert "DejaVu Sans Mono" in tidy


def test_png(tmp_path: Path) -> None:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium here")
    svg = '<svg viewBox="0 0 120 60" xmlns="http://www.w3.org/2000/svg"><rect width="120" height="60"/></svg>'
    png = tmp_path / "x.png"
    write_png(tidy_svg(svg), png, chromium)
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (120, 60)
