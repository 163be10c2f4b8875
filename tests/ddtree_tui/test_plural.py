"""Numbers in sentences."""

import pytest
from make_recording import conversation
from playing import replaying

from ddtree_tui.plural import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 rounds"), (1, "1 round"), (2, "2 rounds"), (11, "11 rounds")]
)
def test_one_is_singular(number: int, text: str) -> None:
    assert counted(number, "round") == text


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_run_of_one_round_says_so(size: tuple[int, int]) -> None:
    async with replaying(conversation(0, rounds=1), size=size) as play:
        assert "1 round" in play.part("#stats")
        assert "1 rounds" not in play.text()
