"""Racing in the app, by keys."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from make_recording import conversation
from playing import Playing, ask, playing, replaying
from scripted_engine import ScriptedEngine
from textual.widgets import Input

from ddtree_tui.engine_link import EngineLink
from ddtree_tui.kept import Kept
from ddtree_tui.screens.pick import PickScreen
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.screens.race import RaceScreen
from ddtree_tui.session import Phase
from ddtree_tui.widgets.lane_view import LaneView
from ddtree_tui.widgets.race_result import TextDiff
from engine.commands import Cancel, Pause, Race, Resume
from engine.events import Failed
from engine.settings import DecodeSettings, LoadSettings
from engine.trace import read_trace


def screen(play: Playing) -> RaceScreen:
    assert isinstance(play.app.screen, RaceScreen)
    return play.app.screen


def engine(play: Playing) -> ScriptedEngine:
    assert isinstance(play.engine, ScriptedEngine)
    return play.engine


async def start(play: Playing, prompt: str = "hello", lanes: str = "m") -> None:
    """Type a prompt and race these lanes, by the letter of the choice."""
    await play.until(lambda: play.controller.session.phase is Phase.READY)
    await play.type(prompt)
    await play.pilot.press("f10")
    await play.until(lambda: isinstance(play.app.screen, PickScreen))
    await play.pilot.press(lanes)
    await play.until(lambda: isinstance(play.app.screen, RaceScreen | ProblemScreen))


async def over(play: Playing) -> None:
    await play.until(lambda: screen(play).race.over, 20)
    await play.settle()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_race_from_start_to_end(size: tuple[int, int]) -> None:
    async with playing(size=size, rounds=8) as play:
        await start(play)
        await play.until(lambda: any(lane.answer.rounds for lane in screen(play).race.lanes))
        await play.settle()
        for name in ("ar", "chain", "tree 64"):
            assert name in play.text()
        (sent,) = engine(play).sent_of(Race)
        assert isinstance(sent, Race)
        assert [lane.mode for lane in sent.lanes] == ["ar", "chain", "tree"]
        assert sent.messages == [{"role": "user", "content": "hello"}]
        await over(play)
        text = play.text()
        assert "lane" in text
        assert "ratio" in text
        assert "1st in" in text
        assert "2 texts not the same, 2 defects: d shows where and why." in text
        assert "hello" in text
        assert text.count("reference") == 1
        await play.pilot.press("f1")
        await play.settle()
        assert "One prompt in several ways" in play.text()
        await play.pilot.press("f1")
        for one in screen(play).race.standings().lanes:
            assert f"{one.tokens_per_second:.1f}" in text
        views = [view.region for view in screen(play).query(LaneView)]
        assert all(region.height >= 3 for region in views)
        assert len({region.y for region in views}) == (3 if size[0] < 100 else 1)
        words = "".join(ET.fromstring(play.app.export_screenshot()).itertext()).replace("\xa0", " ")
        assert "tok/round" in words
        assert not play.controller.session.answers, "a race is no part of the conversation"
        await play.pilot.press("escape")
        await play.settle()
        assert len(play.app.screen_stack) == 1
        assert not play.controller.busy


async def test_the_texts_are_compared_and_explained() -> None:
    async with playing(rounds=6) as play:
        await start(play)
        await over(play)
        await play.pilot.press("d")
        await play.settle()
        assert screen(play).query_one(TextDiff).display
        first = play.text()
        assert "chain against ar: differs: DEFECT" in first
        assert "In this dtype all modes are to agree" in first.replace("\n", " ")
        assert "{+" in first
        assert "[-" in first
        await play.pilot.press("right")
        await play.settle()
        assert "tree 64 against ar" in play.text()
        await play.pilot.press("right")
        await play.settle()
        assert "chain against ar" in play.text()
        await play.pilot.press("escape")
        await play.settle()
        assert screen(play).query_one(LaneView).display


async def test_escape_stops_a_race_before_it_leaves_it() -> None:
    async with playing(rounds=500, rounds_per_second=50.0) as play:
        await start(play)
        await play.until(lambda: any(lane.answer.rounds for lane in screen(play).race.lanes))
        assert play.controller.busy
        await play.pilot.press("d", "r")  # nothing to compare yet, and no second race beside the first
        await play.pilot.press("escape")
        await over(play)
        assert len(engine(play).sent_of(Cancel)) == 1
        assert len(engine(play).sent_of(Race)) == 1
        assert "stopped" in play.text()
        assert not screen(play).race.standings().places
        await play.pilot.press("escape")
        await play.settle()
        assert len(play.app.screen_stack) == 1


async def test_a_race_is_paused_goes_on_and_is_stopped_while_it_waits() -> None:
    async with playing(size=(80, 24), rounds=5000, rounds_per_second=300) as play:

        def written() -> int:
            return sum(len(lane.ids) for lane in screen(play).race.lanes)

        def rounds() -> int:
            return sum(len(lane.answer.rounds) for lane in screen(play).race.lanes)

        await start(play)
        await play.until(lambda: written() > 20)
        for number, key in enumerate(("space", "f2")):
            await play.pilot.press(key)
            await play.until(lambda number=number: len(engine(play).sent_of(Pause)) == number + 1)
            await play.at_rest()
            assert "paused" in play.text().splitlines()[0]
            assert "Space go on" in play.text()
            before = written()
            assert rounds() == len(engine(play).script.emitted)
            if number == 0:
                await play.pilot.press(key)
                await play.until(lambda before=before: written() > before)
                await play.settle()
                assert "paused" not in play.text().splitlines()[0]
        assert len(engine(play).sent_of(Resume)) == 1
        await play.pilot.press("escape")
        await over(play)
        assert len(engine(play).sent_of(Cancel)) == 1
        assert play.text().count("stopped") >= 3
        assert "paused" not in play.text()


async def test_the_same_race_again() -> None:
    async with playing(rounds=3) as play:
        await start(play, lanes="b")
        await over(play)
        first = screen(play).race
        await play.pilot.press("r")
        await play.until(lambda: isinstance(play.app.screen, RaceScreen) and screen(play).race is not first)
        await over(play)
        one, two = engine(play).sent_of(Race)
        assert one == two
        assert len(play.app.screen_stack) == 2


async def test_lanes_can_be_typed_and_wrong_ones_are_explained() -> None:
    async with playing(rounds=3, settings=DecodeSettings(temperature=0.5)) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.type("hello")
        await play.pilot.press("f10")
        await play.pilot.press("o")
        await play.until(lambda: play.app.screen.query(Input))
        play.app.screen.query_one(Input).value = "ar,chin"
        await play.pilot.press("enter")
        await play.settle()
        assert "There is no lane 'chin'." in play.text()
        play.app.screen.query_one(Input).value = "tree:16,tree:16+thinking,chain,ar"
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        (sent,) = engine(play).sent_of(Race)
        assert isinstance(sent, Race)
        assert [(lane.mode, lane.thinking) for lane in sent.lanes] == [
            ("tree", False),
            ("tree", True),
            ("chain", False),
            ("ar", False),
        ]
        assert {lane.temperature for lane in sent.lanes} == {0.5}
        await over(play)
        assert "tree 16 thinking" in play.text()


async def test_without_a_prompt_in_the_box_the_last_one_is_raced() -> None:
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.pilot.press("f10")
        await play.settle()
        assert len(play.app.screen_stack) == 1
        assert "Type a prompt" in play.text()
        await ask(play, "one")
        await play.until(lambda: not play.controller.busy)
        await play.pilot.press("f10", "t")
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        assert screen(play).race.prompt == "one"
        await over(play)


async def test_no_race_beside_a_run() -> None:
    async with playing(stops_at=3) as play:
        await ask(play, "one")
        await play.pilot.press("f10")
        await play.settle()
        assert len(play.app.screen_stack) == 1
        assert play.told == ["A run is under way: Esc stops it."]


async def test_a_recording_is_not_raced() -> None:
    async with replaying(conversation(1, rounds=3)) as play:
        await play.pilot.press("f10")
        await play.settle()
        assert len(play.app.screen_stack) == 1
        assert play.told == ["A recording has no models to race."]


async def test_the_menu_of_a_race_is_explained() -> None:
    async with playing() as play:
        await play.until(lambda: play.controller.session.loaded)
        await play.type("hello")
        await play.pilot.press("f10")
        await play.until(lambda: "F1 explain" in play.text())
        await play.pilot.press("f1")
        await play.until(lambda: "tree:64: a draft tree of 64 nodes" in play.text())
        await play.pilot.press("escape")
        await play.until(lambda: "F1 explain" in play.text())


async def test_a_refused_race_says_why() -> None:
    async with playing() as play:
        await start(play, "fail")
        await over(play)
        assert "The lanes do not fit. Race fewer." in play.text()
        assert play.controller.session.phase is Phase.READY
        await play.pilot.press("escape")
        await play.settle()
        assert len(play.app.screen_stack) == 1


async def test_a_lane_that_fails_leaves_the_others_alone() -> None:
    async with playing(rounds=8, size=(140, 40)) as play:
        await start(play, "limp")
        await over(play)
        assert "failed" in play.text()
        assert "The logits are no numbers. Reload." in play.text()
        assert len(screen(play).race.standings().places) == 2


async def test_the_end_of_the_engine_ends_the_race() -> None:
    async with playing(rounds=500, rounds_per_second=50.0) as play:
        await start(play)
        engine(play).queue.append(Failed(error="engine_died", message="The engine was killed."))
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert not play.controller.steward.racing
        assert "The engine has stopped" in play.text()
        engine(play).script.control.cancel()


async def test_a_race_is_recorded_and_no_part_of_the_conversation(tmp_path: Path) -> None:
    tests = str(Path(__file__).parent)
    worker = f"import sys; sys.path.insert(0, {tests!r}); from scripted_engine import main; main()"
    command = [sys.executable, "-c", worker, "300"]
    trace = tmp_path / "trace"
    link = EngineLink(LoadSettings(), tmp_path / "log", trace=trace, command=command)
    async with playing(engine=link) as play:
        await start(play)
        await over(play)
        await play.pilot.press("escape")
        await ask(play, "two")
        await play.until(lambda: not play.controller.busy)
        assert [answer.prompt for answer in play.controller.session.answers] == ["hellotwo"]
    kept = Kept.of(read_trace(trace).events)
    assert [answer.prompt for answer in kept.answers] == ["hellotwo", "hello", "hello", "hello"]
    (race,) = kept.races
    assert race.over
    assert race.prompt == "hello"
    assert [lane.name for lane in race.lanes] == ["ar", "chain", "tree 64"]
