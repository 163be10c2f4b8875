"""Playing rounds that are there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddtree_tui.round_player import SPEEDS, RoundPlayer, speed_text

TIMES = st.lists(st.floats(0.5, 200.0), min_size=2, max_size=40)


@given(TIMES, st.sampled_from(SPEEDS), st.lists(st.floats(0.0, 0.5), max_size=60))
def test_each_round_is_shown_when_its_time_has_come(
    times: list[float], speed: float, looks: list[float]
) -> None:
    player = RoundPlayer()
    player.speed = speed
    player.start(0, 100.0)
    now, shown = 100.0, 0
    for wait in looks:
        now += wait
        index = player.due(now, len(times), times.__getitem__)
        if index is not None:
            assert index > shown
            shown = index
        played = sum(times[1 : shown + 1]) / 1000.0 / speed
        assert played <= now - 100.0 + 1e-6
        if shown + 1 < len(times):
            assert player.playing
            assert played + times[shown + 1] / 1000.0 / speed >= now - 100.0 - 1e-6
        else:
            assert not player.playing
            break


def test_a_change_of_speed_keeps_what_has_passed() -> None:
    player = RoundPlayer()
    player.start(3, 0.0)
    player.change_speed(-1, 0.5)  # half of a second at full speed; the rest takes twice as long
    assert player.due(1.4, 9, lambda _: 1000.0) is None
    assert player.due(1.6, 9, lambda _: 1000.0) == 4
    for _ in range(20):
        player.change_speed(1, 2.0)
    assert player.speed == SPEEDS[-1]
    for _ in range(20):
        player.change_speed(-1, 2.0)
    assert player.speed == SPEEDS[0]


def test_it_ends_where_the_rounds_end() -> None:
    player = RoundPlayer()
    assert player.due(5.0, 9, lambda _: 1.0) is None
    player.start(0, 0.0)
    assert player.due(50.0, 4, lambda _: 1.0) == 3
    assert not player.playing
    player.start(7, 0.0)
    assert player.due(50.0, 4, lambda _: 1.0) is None  # the rounds were forgotten meanwhile
    assert not player.playing


@pytest.mark.parametrize(("speed", "text"), [(1.0, "×1"), (16.0, "×16"), (0.125, "×1/8"), (1 / 64, "×1/64")])
def test_speeds_are_written_as_people_do(speed: float, text: str) -> None:
    assert speed_text(speed) == text
