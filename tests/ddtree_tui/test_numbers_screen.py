"""The numbers screen: live, in three scopes, at every size, explained."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from make_recording import Recording, conversation
from playing import playing, replaying
from textual.color import Color

from ddtree_tui.panels.arrangement import PANELS
from ddtree_tui.screens.explanation import ExplanationScreen
from ddtree_tui.screens.numbers import NumbersScreen
from ddtree_tui.session import Phase
from ddtree_tui.widgets.numbers_view import NumbersView
from engine.commands import MeasureMemory
from engine.settings import DecodeSettings


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_all_panels_at_every_size(size):
    async with replaying(conversation(3, rounds=60), size=size) as play:
        await play.pilot.press("number_sign")
        await play.settle()
        assert isinstance(play.app.screen, NumbersScreen)
        seen = play.text()
        view = play.app.screen.query_one(NumbersView)
        for _ in range(8):
            await play.pilot.press("pagedown")
            await play.settle()
            seen += play.text()
        for panel in PANELS:
            assert panel.title in seen
            assert panel.how in seen
        assert (view.max_scroll_y > 0) == (size == (80, 24))
        assert "the shown answer" in seen
        assert "60 rounds" in seen
        svg = ET.fromstring(play.app.export_screenshot())
        words = "".join(svg.itertext()).replace("\xa0", " ")
        assert "What the last nodes bought" in words


async def test_keys_open_and_close_it_and_the_scope_is_kept():
    async with replaying(conversation(3, rounds=10)) as play:
        for opening, closing in (("number_sign", "escape"), ("f12", "f12"), ("number_sign", "q")):
            await play.pilot.press(opening)
            assert isinstance(play.app.screen, NumbersScreen)
            await play.pilot.press(closing)
            await play.settle()
            assert not isinstance(play.app.screen, NumbersScreen)
        await play.pilot.press("number_sign", "s")
        await play.settle()
        assert "▸all answers" in play.text()
        await play.pilot.press("escape", "number_sign")
        await play.settle()
        assert "▸all answers" in play.text()
        await play.pilot.press("s")
        await play.settle()
        assert "▸since a setting last changed" in play.text()


async def test_scopes_count_their_own_rounds():
    recording = Recording(9)
    events = [*recording.start()]
    for mode, rounds in (("tree", 7), ("chain", 5), ("chain", 4)):
        events += recording.answer("hello", settings=DecodeSettings(mode=mode), rounds=rounds)
    async with replaying(events) as play:
        await play.pilot.press("home", "number_sign")
        await play.settle()
        counts, tokens = [], []
        for _ in range(3):
            first = play.text().splitlines()[0]
            counts.append(first.rsplit(",", 1)[1].strip())
            tokens.append(int(first.rsplit(" token", 1)[0].rsplit(" ", 1)[1]))
            await play.pilot.press("s")
            await play.settle()
        assert counts == ["7 rounds", "16 rounds", "9 rounds"]
        written = [answer.tokens for answer in play.controller.session.answers]  # as the main screen has it
        assert tokens == [written[0], sum(written), sum(written[1:])]


async def test_it_follows_the_run_and_asks_for_memory_after_it():
    async with playing(rounds=30, rounds_per_second=30) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.pilot.press("f12")
        await play.settle()
        assert "nothing yet" in play.text()
        await play.pilot.press("escape")
        await play.type("hello")
        await play.pilot.press("enter", "f12")
        await play.until(lambda: play.rounds > 3)
        await play.settle()
        first = play.text()
        assert "nothing yet" not in first
        await play.until(lambda: not play.controller.busy)
        await play.settle()
        assert "30 rounds" in play.text()
        answer = play.controller.session.answers[0]
        assert f"rounds {answer.statistics.acceptance.mean:.2f}" in play.text()
        assert len(play.engine.sent_of(MeasureMemory)) == 1


async def test_f1_explains_every_panel():
    async with replaying(conversation(3, rounds=10), size=(80, 24)) as play:
        await play.pilot.press("number_sign", "f1")
        await play.settle()
        assert isinstance(play.app.screen, ExplanationScreen)
        seen = play.text()
        for _ in range(8):
            await play.pilot.press("pagedown")
            await play.settle()
            seen += play.text()
        for panel in PANELS:
            assert panel.title in seen
        await play.pilot.press("f1")
        await play.settle()
        assert isinstance(play.app.screen, NumbersScreen)


async def test_ascii_alone():
    async with replaying(conversation(3, rounds=40), size=(200, 60)) as play:
        play.app.change_looks(ascii=True)
        await play.pilot.press("number_sign")
        await play.settle()
        view = play.app.screen.query_one(NumbersView)
        assert all(part.isascii() for line in view._lines for part, _ in line)


async def test_hotter_cells_are_brighter_and_keep_their_numbers():
    async with replaying(conversation(3, rounds=40), size=(120, 40)) as play:
        await play.pilot.press("number_sign")
        await play.settle()
        view = play.app.screen.query_one(NumbersView)
        shades = [view.role_style(f"heat-{level}").bgcolor for level in range(5)]
        brightness = [Color.from_rich_color(shade).brightness for shade in shades if shade is not None]
        assert brightness == sorted(brightness)
        assert len(set(brightness)) == 5


async def test_the_screen_takes_a_few_milliseconds_to_arrange():
    import time

    async with replaying(conversation(3, rounds=300, budget=256), size=(200, 60)) as play:
        await play.pilot.press("number_sign")
        await play.settle()
        screen = play.app.screen
        assert isinstance(screen, NumbersScreen)
        view = screen.query_one(NumbersView)
        best = 1.0
        for _ in range(10):
            view._report = None
            start = time.thread_time()
            screen.show(play.controller)
            best = min(best, time.thread_time() - start)
        assert best < 0.02
