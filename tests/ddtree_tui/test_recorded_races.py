"""Races are recorded as runs are: kept, listed, replayed and exported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from make_recording import Recording as Synthetic
from make_recording import conversation
from msgspec import structs
from playing import Playing, playing, replaying
from scripted_engine import a_race
from textual.widgets import Input

from ddtree_tui import cli, exit_codes
from ddtree_tui.doctor.answers import recorded
from ddtree_tui.kept import Kept
from ddtree_tui.playback import Playback
from ddtree_tui.race.apart import apart
from ddtree_tui.race.course import Race
from ddtree_tui.race.lanes import read_lanes
from ddtree_tui.recorder import Recorder
from ddtree_tui.runs_folder import paths_of, recorded_runs
from ddtree_tui.runs_list import matching, row
from ddtree_tui.screens.pick import PickScreen
from ddtree_tui.screens.race import RaceScreen
from ddtree_tui.screens.runs import RunsScreen
from ddtree_tui.widgets.replay_bar import ReplayBar
from engine.event_lines import encode_event
from engine.events import AnyEvent, Failed, Finished, Lane, Noise, Racing, Round, StageTimes, Tokens
from engine.recording import Recording, own
from engine.settings import MAX_LANES, DecodeSettings
from engine.trace import read_trace

LANES = read_lanes("modes", DecodeSettings())
NAMES = ["ar", "chain", "tree 64"]
ROUNDS = 6


@pytest.fixture(scope="module")
def events() -> list[AnyEvent]:
    return a_race(LANES, rounds=ROUNDS)


@pytest.fixture
def plain(tmp_path: Path, events: list[AnyEvent]) -> Path:
    """A race as ``--trace`` writes it."""
    path = tmp_path / "race.jsonl"
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in events))
    return path


def record(folder: Path, events: Sequence[AnyEvent]) -> None:
    recorder = Recorder(folder, clock=lambda: 1_790_000_000.0)
    for event in events:
        recorder.take(event)
    recorder.close()
    assert recorder.problems() == []


def told(events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """What a race consists of, without how its tokens are spelled."""
    return [
        event for event in events if isinstance(event, Racing | Lane) and not isinstance(own(event), Tokens)
    ]


def race_in(path: Path) -> Race:
    (race,) = Kept.of(read_trace(path).events).races
    return race


def rounds_of(events: Sequence[AnyEvent]) -> int:
    return sum(isinstance(own(event), Round) for event in events)


# In the folder


def test_a_race_is_a_run_among_the_others(tmp_path: Path, events: list[AnyEvent]) -> None:
    synthetic = Synthetic(3)
    before, after = (list(synthetic.answer(prompt, rounds=4)) for prompt in ("before", "after"))
    record(tmp_path, [*synthetic.start(), *before, *events[-len(told(events)) - 10 :], *after])
    runs = list(recorded_runs(tmp_path))
    assert [(run.prompt, run.name) for run in runs] == [
        ("after", "tree 64"),
        ("hello", "race"),
        ("before", "tree 64"),
    ]
    kept = paths_of(tmp_path)
    assert told(read_trace(kept[1]).events) == told(events)
    assert [told(read_trace(kept[place]).events) for place in (0, 2)] == [[], []]


def test_a_list_tells_who_won(tmp_path: Path, events: list[AnyEvent]) -> None:
    record(tmp_path, events)
    (run,) = recorded_runs(tmp_path)
    ends = {e.lane: e.event for e in events if isinstance(e, Lane) and isinstance(e.event, Finished)}
    winner = min(ends, key=lambda lane: ends[lane].ms.total)
    assert run.winner == NAMES[winner]
    assert (run.tokens, run.tokens_per_second) == (ends[winner].tokens, ends[winner].tokens_per_second)
    assert list(run.lanes) == NAMES
    assert f"({run.winner} won) hello" in row(run, 120, run.when).plain
    assert matching([run], "RACE chain hello") == [run]
    assert matching([run], "naive") == []


def test_a_race_that_ended_otherwise(tmp_path: Path, events: list[AnyEvent]) -> None:
    last = [place for place, e in enumerate(events) if isinstance(e, Lane) and isinstance(e.event, Finished)][
        -1
    ]
    for number, (rest, ending) in enumerate(
        (([], "unfinished"), ([Failed(error="engine_died", message="m")], "failed"))
    ):
        folder = tmp_path / str(number)
        record(folder, [*events[:last], *rest])
        (run,) = recorded_runs(folder)
        assert (run.ending, run.winner, run.tokens_per_second) == (ending, "", None)
        assert run.rounds == rounds_of(events[:last])


def test_a_lane_that_the_race_does_not_have_is_no_winner(tmp_path: Path, events: list[AnyEvent]) -> None:
    end = next(e.event for e in events if isinstance(e, Lane) and isinstance(e.event, Finished))
    first_of_all = structs.replace(end, ms=StageTimes(total=1e-6))
    record(tmp_path, [*events, Lane(lane=len(LANES), event=first_of_all)])
    (run,) = recorded_runs(tmp_path)
    assert run.winner in NAMES
    assert run.ending == "stop"
    no_lane_of_any = tmp_path / "other"
    record(no_lane_of_any, [*events, Lane(lane=MAX_LANES, event=first_of_all)])
    assert list(recorded_runs(no_lane_of_any)) == []


def test_what_is_found_out_behind_the_end_is_kept_too(tmp_path: Path, events: list[AnyEvent]) -> None:
    late = Lane(lane=0, event=Failed(error="x", message="a late event of a lane"))
    record(tmp_path, [*events[:-1], Noise(lead=0.25), events[-1], late, Noise(lead=0.5)])
    kept = read_trace(paths_of(tmp_path)[0]).events
    assert kept[len(kept) - 1] == late
    assert race_in(paths_of(tmp_path)[0]).noise == 0.25


def test_a_round_is_found_without_reading_the_others(tmp_path: Path, events: list[AnyEvent]) -> None:
    record(tmp_path, events)
    rounds = [event.event for event in events if isinstance(event, Lane) and isinstance(event.event, Round)]
    with Recording.open(paths_of(tmp_path)[0]) as recording:
        assert recording.rounds == len(rounds)
        assert [recording.round(number)[1] for number in range(len(rounds))] == rounds


# On a clock


def test_rounds_of_all_lanes_come_one_by_one(events: list[AnyEvent]) -> None:
    playback = Playback(events)
    for number in range(1, rounds_of(events) + 1):
        playback.to_next_round()
        assert rounds_of(playback.due(float(number))) == 1
        assert not playback.playing


def test_a_race_and_answers_follow_one_another(events: list[AnyEvent]) -> None:
    answers = conversation(0, rounds=4)
    playback = Playback([*answers, *events[5:]])
    assert playback.duration > Playback(answers).duration + Playback(events).duration


# On the screen


def screen(play: Playing) -> RaceScreen:
    assert isinstance(play.app.screen, RaceScreen), play.text()
    return play.app.screen


def ahead(play: Playing) -> list[int]:
    """How many tokens of each lane are shown."""
    return [one.tokens for one in screen(play).showing.standings().lanes]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_recorded_race_is_replayed_paused_and_looked_back_at(
    events: list[AnyEvent], size: tuple[int, int]
) -> None:
    async with replaying(events, at_once=False, stopped=True, size=size) as play:
        while not isinstance(play.app.screen, RaceScreen):
            await play.pass_time(0.01)
        showing = screen(play).showing
        await play.pilot.press("space")
        await play.until(lambda: play.controller.paused)
        await play.pilot.press(*["right"] * 5, "greater_than_sign")
        await play.settle()
        assert "paused ×2" in play.text()
        assert "paused" in play.text()
        assert "Space play" in play.text()
        count = showing.round_count
        await play.pilot.press("right")
        assert showing.round_count == count + 1
        before = ahead(play)
        await play.pilot.press("left", "left", "left")
        await play.settle()
        assert showing.shown == count - 3
        assert sum(ahead(play)) < sum(before)
        assert f"round {count - 2} of {count + 1}" in play.text()
        await play.pilot.press("home")
        await play.settle()
        assert showing.shown == 0
        assert ahead(play) == [
            1 + (lane.committed[0] if lane.steps[0] == 0 else 0) for lane in screen(play).race.lanes
        ]
        await play.pilot.press("end", "a")
        await play.until(lambda: screen(play).race.over)
        await play.settle()
        assert not showing.looking_back
        assert "ratio" in play.text()
        assert "all played" in play.text()
        assert ahead(play) == [len(lane.ids) for lane in screen(play).race.lanes]


async def test_what_a_lane_had_not_written_is_not_shown(events: list[AnyEvent]) -> None:
    async with replaying(events) as play:
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        await play.pilot.press("a")
        await play.until(lambda: screen(play).race.over)
        await play.settle()
        assert "ended by itself" in play.text()
        newest = play.text()
        await play.pilot.press("home")
        await play.settle()
        assert "ended by itself" not in play.text()
        texts = [lane.answer.text for lane in screen(play).race.lanes]
        words = [text.answer.split()[-1] for text in texts if text is not None]
        assert all(newest.count(word) > play.text().count(word) for word in words)
        await play.pilot.press("p")
        await play.until(lambda: screen(play).showing.viewpoint.following)
        await play.settle()
        assert "ended by itself" in play.text()


async def test_a_race_that_was_cut_short_is_shown_as_far_as_it_goes(events: list[AnyEvent]) -> None:
    async with replaying(events[:-9], size=(110, 30)) as play:
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        await play.pilot.press("a")
        await play.until(lambda: screen(play).showing.playback.over)  # type: ignore[union-attr]
        await play.settle()
        assert not screen(play).race.over
        assert "x export" in play.text()
        assert "one round" not in play.text()
        await play.pilot.press(*["less_than_sign"] * 6, "space")  # its rounds take some 5 s then
        assert screen(play).showing.player.playing


async def test_a_trace_of_answers_and_a_race_shows_both(events: list[AnyEvent]) -> None:
    trace = [*conversation(1, rounds=3), *events[5:]]
    async with replaying(trace) as play:
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        await play.pilot.press("escape")
        await play.until(lambda: len(play.app.screen_stack) == 1)
        assert play.rounds == 3
        await play.settle()
        assert len(play.app.screen_stack) == 1, "it opens by itself once"
        await play.pilot.press("f10")
        assert screen(play).race.prompt == "hello"


async def test_a_race_in_the_list_is_replayed_over_the_run(state: Path, events: list[AnyEvent]) -> None:
    record(state, events)
    async with playing() as play:
        await play.pilot.press("ctrl+r")
        await play.until(lambda: isinstance(play.app.screen, RunsScreen) and not play.app.screen._reading)
        await play.settle()
        assert "Race of ar, chain, tree 64: hello" in play.text()
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        assert play.controller.playback is not None
        bar = screen(play).query_one(ReplayBar)
        await play.settle()
        assert bar.display
        await play.pilot.press("escape")
        await play.until(lambda: len(play.app.screen_stack) == 1)
        assert play.controller.playback is None
        assert play.app.live is None


async def test_a_live_race_can_be_looked_back_at_and_decoded_round_by_round() -> None:
    async with playing(rounds=5000, rounds_per_second=100.0) as play:
        await play.type("hello")
        await play.pilot.press("f10", "m")
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        showing = screen(play).showing
        await play.until(lambda: showing.round_count > 12)
        await play.pilot.press("ctrl+left")
        assert showing.looking_back
        shown = showing.shown
        count = showing.round_count
        await play.until(lambda: showing.round_count > count + 3)
        assert showing.shown == shown, "the race goes on, the view stays"
        await play.pilot.press("n")
        assert not showing.looking_back
        assert play.controller.steward.paused
        await play.pilot.press("escape")
        await play.until(lambda: screen(play).race.over, 20)


# Files


async def test_a_race_and_its_lanes_are_exported_and_the_race_is_left_and_seen_again(
    state: Path, events: list[AnyEvent]
) -> None:
    async with replaying(events) as play:
        await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        await play.pilot.press("a")
        await play.until(lambda: screen(play).race.over)
        for key, name in (("j", "ddtree-race.jsonl"), ("2", "ddtree-race-chain.html")):
            await play.pilot.press("x")
            await play.until(lambda: isinstance(play.app.screen, PickScreen))
            await play.pilot.press(key)
            await play.until(lambda: play.app.screen.query(Input))
            await play.pilot.press("enter")
            await play.until(lambda name=name: Path(name).exists() and Path(name).stat().st_size)
            await play.until(lambda: isinstance(play.app.screen, RaceScreen))
        await play.pilot.press("escape")
        await play.settle()
        assert "F10 the race" in play.text()
        await play.pilot.press("f10")
        assert screen(play).race.prompt == "hello"
    assert told(read_trace(Path("ddtree-race.jsonl")).events) == told(events)
    assert (
        "DDTree run" in Path("ddtree-race-chain.html").read_text()
        or "<title>" in Path("ddtree-race-chain.html").read_text()
    )


def test_the_commands_take_races(
    tmp_path: Path, plain: Path, events: list[AnyEvent], capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path / "runs", events)
    for path in (plain, paths_of(tmp_path / "runs")[0]):
        out = tmp_path / f"{path.name}.out"
        assert cli.main(["export", str(path), "--jsonl", "-o", str(out)]) == exit_codes.OK
        assert told(read_trace(out).events) == told(events)
        assert cli.main(["export", str(path), "--jsonl", "--answer", "2"]) == exit_codes.OK
        lane = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert next(event for event in lane if event["type"] == "prefilled")["settings"]["mode"] == "chain"
        assert sum(event["type"] == "round" for event in lane) == ROUNDS
        assert cli.main(["export", str(path), "--json", "3"]) == exit_codes.OK
        assert json.loads(capsys.readouterr().out)["nodes"]
        assert cli.main(["stats", str(path)]) == exit_codes.OK
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:4]] == [
            "ar",
            "chain",
            "tree",
        ]


def test_the_log_for_screen_readers_tells_a_race(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay", str(plain), "--plain-log"]) == exit_codes.OK
    assert "tokens/s" in capsys.readouterr().out


def test_lanes_are_answers_to_those_who_look_at_answers(events: list[AnyEvent]) -> None:
    answers = recorded(events)
    assert [answer.way.settings.mode for answer in answers] == ["ar", "chain", "tree"]
    assert [len(answer.rounds) for answer in answers] == [ROUNDS] * 3
    plain = conversation(1, rounds=2)
    assert list(apart(plain)) == plain
