"""Speed now, on average and over time, in bounded room."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_rounds import RandomRound

from ddtree_tui.statistics.observation import Observation
from ddtree_tui.statistics.speed import MOST_BUCKETS, RECENT_MS, Speed
from engine.events import StageTimes

SEEN = Observation.of(RandomRound.make(0).event("ar", 1))


def seen(length: int, ms: float) -> Observation:
    return SEEN._replace(length=length, ms=msgspec.structs.replace(StageTimes(), total=ms))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 16), st.floats(1.0, 900.0)), min_size=1, max_size=600))
def test_now_is_the_last_second_and_the_history_loses_nothing(rounds):
    speed = Speed()
    for length, ms in rounds:
        speed.add(seen(length, ms))
    tokens, spent = 0, 0.0
    for length, ms in reversed(rounds):
        tokens, spent = tokens + length, spent + ms
        if spent >= RECENT_MS * (1 + 1e-12):
            break
    assert speed.now == pytest.approx(1000 * tokens / spent, rel=1e-6)
    history = speed.history()
    assert len(history) <= MOST_BUCKETS
    assert sum(tokens for tokens, _ in speed._buckets) == sum(length for length, _ in rounds)
    assert sum(ms for _, ms in speed._buckets) == pytest.approx(sum(ms for _, ms in rounds))
    assert min(history) <= speed.mean * (1 + 1e-9)
    assert max(history) >= speed.mean * (1 - 1e-9)


def test_buckets_of_the_history_are_even():
    speed = Speed()
    for number in range(MOST_BUCKETS + 1):
        speed.add(seen(2 if number < MOST_BUCKETS / 2 else 4, 10.0))
    assert speed.history() == [200.0] * (MOST_BUCKETS // 4) + [400.0] * (MOST_BUCKETS // 4 + 1)


def test_no_time_is_no_speed():
    speed = Speed()
    assert (speed.now, speed.mean, speed.history()) == (0.0, 0.0, [])
    speed.add(seen(3, 0.0))
    assert (speed.now, speed.mean, speed.history()) == (0.0, 0.0, [])
