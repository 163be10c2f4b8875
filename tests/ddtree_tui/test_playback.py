"""A recording on a clock."""

from __future__ import annotations

import msgspec
import pytest
from make_recording import Recording, conversation

from ddtree_tui.playback import BETWEEN_ANSWERS, HELD, Playback, timeline
from engine.events import AnyEvent, Finished, Lane, Prefilled, Racing, Round
from engine.packed import PackedEvents
from engine.settings import DecodeSettings


def test_events_come_when_they_came() -> None:
    events = conversation(0, rounds=10)
    playback = Playback(events)
    playback.play(100.0)
    first = playback.due(100.0)
    assert not any(isinstance(event, Round) for event in first)
    seen = list(first)
    for step in range(1, 200):
        now = 100.0 + 0.01 * step
        seen += playback.due(now)
        expected = sum(isinstance(e, Round) and e.t <= now - 100.0 for e in events)
        assert sum(isinstance(e, Round) for e in seen) == expected
    assert seen == events
    assert playback.over
    assert not playback.playing


def test_pausing_stops_the_clock() -> None:
    playback = Playback(conversation(0, rounds=10))
    playback.play(0.0)
    playback.due(0.1)
    playback.pause(0.1)
    assert playback.due(50.0) == []
    assert playback.position(50.0) == pytest.approx(0.1)
    playback.play(60.0)
    assert playback.position(60.05) == pytest.approx(0.15)


def test_one_round_at_a_time() -> None:
    events = conversation(0, rounds=5)
    playback = Playback(events)
    for number in range(1, 6):
        playback.to_next_round()
        due = playback.due(float(number))
        assert sum(isinstance(event, Round) for event in due) == 1
        assert not playback.playing
    assert due[-1] is events[-1]  # the end comes with the last round
    assert playback.over
    playback.to_next_round()
    assert playback.due(9.0) == []


def test_all_at_once() -> None:
    events = conversation(0, rounds=5)
    playback = Playback(events)
    playback.finish()
    assert playback.due(0.0) == events
    assert playback.position(0.0) == playback.duration


def test_answers_follow_one_another() -> None:
    recording = Recording(0)
    first, second = list(recording.answer("a", rounds=3)), list(recording.answer("b", rounds=3))
    events = [*recording.start(), *first, *second]
    times = timeline(PackedEvents(events))
    assert times == sorted(times)
    border = next(i for i, e in enumerate(events) if isinstance(e, Prefilled) and e is second[0])
    assert times[border] == pytest.approx(times[border - 1] + BETWEEN_ANSWERS + second[0].t)
    assert times[: len(list(recording.start()))] == [0.0] * len(list(recording.start()))


def held(events: list[AnyEvent], index: int, seconds: float) -> list[AnyEvent]:
    """The same run, held in front of round ``index``."""
    place = next(i for i, event in enumerate(events) if isinstance(event, Round) and event.index == index)
    return [
        *events[:place],
        *(msgspec.structs.replace(event, t=event.t + seconds) for event in events[place:]),
    ]


def test_nobody_waits_again_while_a_run_was_held() -> None:
    """Nor twice, where it was held twice; rounds that are slow throughout take their time."""
    events = conversation(0, rounds=10)
    alone = timeline(PackedEvents(events))
    again = timeline(PackedEvents(held(held(events, 4, 60.0), 7, 30.0)))
    assert alone[-1] < again[-1] < alone[-1] + 2 * HELD
    slow = [msgspec.structs.replace(event, t=100 * event.t) for event in events]
    assert timeline(PackedEvents(slow))[-1] == pytest.approx(100 * alone[-1])
    race: list[AnyEvent] = [Racing(messages=[], lanes=[DecodeSettings()])]
    race += [
        Lane(lane=0, event=event, t=event.t)
        for event in slow
        if isinstance(event, Prefilled | Round | Finished)
    ]
    assert timeline(PackedEvents(race))[-1] == pytest.approx(race[-1].t)
    place = next(i for i, event in enumerate(race) if isinstance(event, Lane) and event.t > race[-1].t / 2)
    after = [msgspec.structs.replace(event, t=event.t + 1e4) for event in race[place:]]
    assert timeline(PackedEvents([*race[:place], *after]))[-1] < race[-1].t + 1e3


def test_an_empty_recording() -> None:
    playback = Playback([])
    assert playback.duration == 0.0
    assert playback.due(1.0) == []
    playback.play(0.0)
    assert not playback.playing
