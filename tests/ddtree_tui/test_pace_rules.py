from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ddtree_tui.pace import FOR_NEWS, MOST, Pace


def most_in_a_second(paints: list[float]) -> int:
    return max((sum(start <= paint < start + 1 for paint in paints) for start in paints), default=0)


@given(st.lists(st.tuples(st.floats(0.0001, 0.2), st.booleans()), max_size=200))
def test_never_more_than_the_most_in_any_second(steps: list[tuple[float, bool]]) -> None:
    """Whoever asks before every paint, however often, keeps to it."""
    pace, now, paints = Pace(), 100.0, []
    for gap, user in steps:
        now += gap
        if now >= (pace.user_at() if user else pace.news_at()):
            pace.painted(now, for_user=user)
            paints.append(now)
    assert most_in_a_second(paints) <= MOST


def test_news_leave_room_for_the_user() -> None:
    pace, now, paints = Pace(), 100.0, []
    for _ in range(100):
        now = max(now, pace.news_at())
        pace.painted(now)
        paints.append(now)
        assert pace.user_at() <= now
    assert most_in_a_second(paints) == round(MOST * FOR_NEWS)


def test_a_key_held_down_is_followed_evenly_among_the_news() -> None:
    pace, now, paints = Pace(), 100.0, []
    while now < 105:
        if now >= pace.user_at():
            pace.painted(now, for_user=True)
            paints.append(now)
        elif now >= pace.news_at():
            pace.painted(now)
        now += 1 / 60
    settled = [paint for paint in paints if paint > 101.5]
    assert max(b - a for a, b in pairwise(settled)) < 0.15
