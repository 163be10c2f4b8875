"""Keys that move through the rounds, and those that play and hold them."""

from __future__ import annotations

import msgspec
import pytest
from make_recording import Recording, conversation
from playing import Playing, playing, replaying
from scripted_engine import ScriptedEngine
from test_playground import ask
from textual.widgets import Input

from ddtree_tui.check.no_divergence import no_divergence
from ddtree_tui.screens.value import ValueScreen
from ddtree_tui.session import Session
from ddtree_tui.widgets.timeline import LABEL_CELLS
from engine.commands import Generate, Pause, Resume, Step
from engine.events import AnyEvent, Checked, Checking, Divergence, Round
from engine.settings import DecodeSettings


def shown(play: Playing) -> int | None:
    return play.controller.viewpoint.index(play.rounds)


def told(play: Playing) -> str:
    """What was said in passing."""
    return " ".join(play.told)


async def test_leaps() -> None:
    async with replaying(conversation(1, rounds=40)) as play:
        await play.pilot.press("left_curly_bracket")
        assert shown(play) == 29
        await play.pilot.press("ctrl+left", "ctrl+left")
        assert shown(play) == 9
        await play.pilot.press("left_curly_bracket")
        assert shown(play) == 0
        await play.pilot.press("right_curly_bracket", "ctrl+right")
        assert shown(play) == 20
        await play.pilot.press("right_curly_bracket", "right_curly_bracket")
        assert play.controller.viewpoint.following


async def test_leaping_forth_at_the_newest_plays_a_recording_on() -> None:
    async with replaying(conversation(1, rounds=40), at_once=False, stopped=True) as play:
        await play.pass_time(0.3)
        await play.pilot.press("space")
        before = play.rounds
        assert 0 < before < 20
        await play.pilot.press("right_curly_bracket")
        await play.settle()
        assert play.rounds == before + 10
        assert play.controller.viewpoint.following


async def test_going_to_a_round_by_its_number() -> None:
    async with replaying(conversation(1, rounds=40)) as play:
        await play.pilot.press("g")
        await play.settle()
        assert isinstance(play.app.screen, ValueScreen)
        assert "a number from 1 to 40" in play.text()
        for wrong in ("0", "41", "many", "², ", ""):
            play.app.screen.query_one(Input).value = wrong
            await play.pilot.press("enter")
            await play.settle()
            assert "There is no round" in play.text()
        play.app.screen.query_one(Input).value = " 17 "
        await play.pilot.press("enter")
        await play.settle()
        assert shown(play) == 16
        assert "round 17 of 40" in play.part("#heading")


async def test_the_worst_round_and_the_next_worst() -> None:
    async with replaying(conversation(3, rounds=30)) as play:
        lengths = [round_.acceptance_length for _, round_ in play.controller.session.rounds]
        seen = []
        for number in range(1, 6):
            await play.pilot.press("w")
            await play.settle()
            index = shown(play)
            assert index is not None
            seen.append(index)
            assert f"worst round, {number} of 30" in play.part("#heading")
        assert [lengths[index] for index in seen] == sorted(lengths)[:5]
        assert len(set(seen)) == 5
        await play.pilot.press("right", "w")
        assert shown(play) == seen[0]


def with_divergences(*rounds: int) -> list[AnyEvent]:
    events = conversation(1, rounds=30)
    for index in rounds:
        place = next(i for i, event in enumerate(events) if isinstance(event, Round) and event.index == index)
        event = Divergence(
            round=index, node=-1, position=50, id=3, target_id=4, gap=0.5, verdict="defect", t=events[place].t
        )
        events.insert(place + 1, event)
    return events


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_divergences_are_marked_and_found(size: tuple[int, int]) -> None:
    async with replaying(with_divergences(7, 21), size=size) as play:
        assert play.part("#timeline").count("≠") == 2
        for index, text in ((7, "divergence 1 of 2"), (21, "divergence 2 of 2"), (7, "divergence 1 of 2")):
            await play.pilot.press("d")
            await play.settle()
            assert shown(play) == index
            assert text in play.part("#heading")


async def test_without_a_comparison_no_divergence_is_known() -> None:
    async with replaying(conversation(1, rounds=10)) as play:
        await play.pilot.press("d")
        await play.settle()
        assert "this answer was not compared with the target alone. To compare it: ddtree-tui check" in told(
            play
        )
        assert play.controller.viewpoint.following


async def test_a_comparison_without_a_divergence_is_told() -> None:
    checked = Checked(
        oracle="full", verdict="identical", positions=9, compared=9, ties=0, defects=0, noise=0.0, seconds=0.1
    )
    async with replaying([*conversation(1, rounds=10), checked]) as play:
        await play.pilot.press("d")
        await play.settle()
        assert "No divergence in any round. This is what the target alone writes: 9 of 9 tokens" in told(play)
    async with playing(rounds=5) as play:
        await ask(play)
        await play.until(lambda: not play.controller.busy)
        await play.pilot.press("escape", "d")
        await play.settle()
        assert "not compared with the target alone. C compares it." in told(play)
        play.controller.session.apply(
            msgspec.structs.replace(checked, verdict="unchecked", reason="It was cut.")
        )
        await play.pilot.press("d")
        await play.settle()
        assert "with the target alone. It was cut. C compares it." in told(play)


def test_a_divergence_of_no_round_is_told_and_where_it_is() -> None:
    session = Session()
    for event in conversation(1, rounds=3):
        session.apply(event)
    answer = session.answer
    assert answer is not None
    session.apply(
        Divergence(round=None, node=-1, position=5, id=3, target_id=4, gap=0.5, verdict="defect", t=9.0)
    )
    assert "the first token, chosen by the prefill" in no_divergence(answer, "")
    answer.checking = Checking(stage="x", done=0, total=1)
    assert "is being compared" in no_divergence(answer, "")
    assert no_divergence(None, "") == "There is no round yet."


async def test_rounds_are_played_at_a_chosen_speed() -> None:
    async with playing(rounds=30, rounds_per_second=50) as play:
        await ask(play)
        await play.until(lambda: not play.controller.busy)
        await play.stop_clock()
        await play.pilot.press("escape", "home")
        took = [summary.ms / 1000 for summary in play.controller.session.answers[0].rounds.summaries]
        await play.pilot.press("comma", "less_than_sign", "comma")
        await play.settle()
        assert "Rounds play ×1/8" in told(play)
        await play.pilot.press("p")
        await play.settle()
        assert "▶ playing ×1/8" in play.part("#heading")
        for seconds, index in ((8 * took[1] - 0.001, 0), (0.002, 1), (8 * took[2] - 0.002, 1), (0.002, 2)):
            await play.pass_time(seconds)
            assert shown(play) == index
        await play.pilot.press("p")
        assert not play.controller.player.playing
        await play.pass_time(60)
        assert shown(play) == 2
        await play.pilot.press("space")  # nothing is under way: plays on from here
        for _ in range(6):
            await play.pilot.press("full_stop")
        await play.pass_time(sum(took[3:]) / 8 - 0.001)
        assert not play.controller.viewpoint.following
        await play.pass_time(0.002)
        assert play.controller.viewpoint.following
        assert "following" in play.part("#heading")
        await play.pilot.press(
            "comma", "comma", "comma", "comma", "comma", "p"
        )  # at the newest: from the first
        assert shown(play) == 0
        assert play.controller.player.playing
        await play.pilot.press("right")
        assert not play.controller.player.playing


async def test_a_recording_plays_slower() -> None:
    async with replaying(conversation(1, rounds=100), at_once=False, stopped=True) as play:
        for _ in range(6):
            await play.pilot.press("less_than_sign")
        await play.settle()
        assert "playing ×1/64" in play.part("#replay-bar")
        playback = play.controller.playback
        assert playback is not None
        before = playback.position(play.app.now())
        await play.pass_time(32)
        assert playback.position(play.app.now()) == pytest.approx(before + 0.5)


async def test_every_round_is_held() -> None:
    async with playing(rounds=500, rounds_per_second=100) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.controller.session.loaded)
        await play.pilot.press("tab", "H")
        await play.settle()
        assert "Every round waits" in told(play)
        assert "ready, will hold every round" in play.part("#top-line")
        await play.pilot.press("i")
        await ask(play)
        await play.at_rest()
        assert play.controller.session.answers[0].prefilled
        assert play.rounds == 0
        assert "held: Space decodes a round" in play.part("#top-line")
        assert engine.sent_of(Generate)[0].paused  # type: ignore[union-attr]
        for number, key in enumerate(("space", "n", "f6", "f2"), 1):
            await play.pilot.press(key)
            await play.until(lambda number=number: play.rounds >= number)
            await play.at_rest()
            assert play.rounds == number
        assert "next round" in play.part("#keys")
        await play.pilot.press("H")
        await play.until(lambda: play.rounds > 20)
        await play.pilot.press("H")
        await play.at_rest()
        assert play.rounds == len(engine.script.emitted) < 500
        kinds = [type(command) for command in engine.sent if isinstance(command, Pause | Step | Resume)]
        assert kinds == [Step, Step, Step, Step, Resume, Pause]
        await play.pilot.press("escape")
        await play.until(lambda: not play.controller.busy)


async def test_a_held_answer_shows_no_round_of_the_one_before() -> None:
    async with playing(rounds=5, rounds_per_second=100) as play:
        await ask(play)
        await play.until(lambda: not play.controller.busy)
        await play.pilot.press("escape", "H", "i")
        await play.until(lambda: "round 5 of 5" in play.part("#heading"))
        await ask(play, "again")
        await play.until(lambda: play.controller.session.answers[1].prefilled)
        await play.until(lambda: "no round yet" in play.part("#heading"))
        assert "✓" not in play.part("#tree")
        assert "1 token in 0 rounds" in play.part("#stats")
        assert play.controller.shown_answer is play.controller.session.answers[1]
        await play.pilot.press("f6")
        await play.until(lambda: "answer 2, round 1 of 1" in play.part("#heading"))


async def test_a_recording_is_held() -> None:
    async with replaying(conversation(1, rounds=40), at_once=False, stopped=True) as play:
        await play.pass_time(0.3)
        await play.pilot.press("H")
        await play.pass_time(60)
        held = play.rounds
        assert 0 < held < 20
        assert "held before every round" in play.part("#top-line")
        await play.pilot.press("space")
        await play.settle()
        assert play.rounds == held + 1
        await play.pilot.press("H")
        await play.pass_time(0.3)
        assert play.rounds > held + 5


async def test_scrubbing_with_the_mouse() -> None:
    async with replaying(conversation(1, rounds=400)) as play:
        await play.pilot.mouse_down("#timeline", offset=(1 + LABEL_CELLS + 10, 1))
        assert shown(play) == 40  # four rounds a column
        await play.pilot.hover("#timeline", offset=(1 + LABEL_CELLS + 20, 1))
        await play.settle()
        assert shown(play) == 40  # the button is not down for a pilot's hover
        await play.pilot.mouse_up("#timeline", offset=(1 + LABEL_CELLS + 20, 1))
        await play.pilot.click("#timeline", offset=(1 + LABEL_CELLS + 50, 0))
        assert shown(play) == 200


async def test_ten_thousand_rounds_have_their_place() -> None:
    recording = Recording(1)
    events: list[AnyEvent] = [*recording.start(), *recording.answer("long", rounds=1000)]
    async with replaying(events) as play:
        await play.until(lambda: play.rounds == 1000)
        await play.settle()
        assert "10 rounds a bar" in play.part("#timeline")
        await play.pilot.press("u")
        await play.settle()
        assert "rounds a bar" not in play.part("#timeline")
        assert play.part("#timeline").rstrip().endswith("1000▲")
        await play.pilot.press("u", "home")
        await play.settle()
        axis = play.part("#timeline").split("\n")[-1]
        assert axis[1 + LABEL_CELLS :].startswith("▲1")
        assert "10 rounds a bar" in axis
        assert "1000" in axis


async def test_rounds_are_numbered_in_their_answer_and_the_worst_are_those_of_the_shown_one() -> None:
    recording = Recording(1)
    events = [*recording.start(), *recording.answer("one", rounds=9)]
    events += recording.answer("two", settings=DecodeSettings(mode="ar"), rounds=4)
    events += recording.answer("three", rounds=6)
    async with replaying(events) as play:
        assert "answer 3, round 6 of 6" in play.part("#heading")
        for number in range(1, 8):
            await play.pilot.press("w")
            await play.settle()
            assert f"worst round, {(number - 1) % 6 + 1} of 6" in play.part("#heading")
            assert "answer 3, round" in play.part("#heading")
        play.controller.show(10)
        await play.pilot.press("w")
        assert shown(play) == 10  # nothing was drafted here
        play.controller.show(3)
        await play.pilot.press("g")
        await play.settle()
        assert "Go to round of answer 1" in play.text()
        await play.pilot.press("9", "enter")
        await play.settle()
        assert shown(play) == 8
        assert "answer 1, round 9 of 9" in play.part("#heading")
