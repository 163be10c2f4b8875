"""The last line of the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import playing

from ddtree_tui.widgets.key_bar import _cells, _fitting

HINTS = st.lists(
    st.tuples(st.text("ab^", min_size=1, max_size=4), st.text("xyz ", max_size=12), st.just("act"))
)


@given(HINTS, st.integers(16, 200))
def test_the_last_hints_are_always_there_and_nothing_is_cut(
    hints: list[tuple[str, str, str]], width: int
) -> None:
    last = [("F1", "keys", "help"), ("^Q", "quit", "quit")]
    shown = _fitting((*hints, *last), width)
    assert shown[-2:] == last
    assert shown[:-2] == hints[: len(shown) - 2]
    assert sum(map(_cells, shown)) + 2 * (len(shown) - 1) <= width


@pytest.mark.parametrize("typing", [True, False])
async def test_how_to_quit_is_shown_at_80_columns(typing: bool) -> None:
    async with playing(size=(80, 24), rounds=20) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds > 3)
        if typing:
            await play.pilot.press("i")
        await play.settle()
        assert "^Q quit" in play.part("#keys")
        assert "F1 keys" in play.part("#keys")
