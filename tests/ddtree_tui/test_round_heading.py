"""The line over the draft tree: nothing drops out of it without a sign."""

from __future__ import annotations

import msgspec
import pytest
from make_recording import Recording
from rich.cells import cell_len

from ddtree_tui.widgets.painted import Span
from ddtree_tui.widgets.round_heading import CUT, outcome, told
from engine.events import Round
from engine.settings import DecodeSettings

FOLLOWING: list[Span] = [("following", "quiet")]
CHOSEN: list[Span] = [("a worst round, 12 of 20", "shown"), (" · F5 newest", "quiet")]


def text_of(spans: list[Span]) -> str:
    return "".join(text for text, _ in spans)


def cut_short(round_: Round) -> Round:
    """The same with its path as the end of the answer."""
    length = len(round_.accepted)
    return msgspec.structs.replace(round_, bonus_id=None, miss=None, acceptance_length=length)


def rounds() -> list[Round]:
    recording = Recording(7)
    trees = [recording.round(DecodeSettings(), 0, 50, 7) for _ in range(16)]
    ar = recording.round(DecodeSettings(mode="ar"), 0, 50, 7)
    return [*trees, ar, *map(cut_short, trees)]


@pytest.mark.parametrize("right", [FOLLOWING, CHOSEN])
@pytest.mark.parametrize("width", [60, 80, 100, 150])
def test_what_does_not_fit_is_said_in_fewer_words_or_is_an_ellipsis(width: int, right: list[Span]) -> None:
    cut = 0
    for round_ in rounds():
        left, shown = told(round_, right, width)
        assert cell_len(text_of(left)) + cell_len(text_of(shown)) < width
        assert shown in (right, right[:1])
        whole = [
            all(text_of(part) in text_of(left) for part in outcome(round_, short=short))
            for short in (False, True)
        ]
        assert any(whole) != (left[-1] == CUT)
        cut += left[-1] == CUT
        assert whole[0] or shown == right[:1]  # a hint at a key gives way before words do
    assert (width < 150) or not cut


def test_a_round_without_bonus_token_says_why_there_is_none() -> None:
    for round_ in rounds():
        left = text_of(told(round_, FOLLOWING, 150)[0])
        assert ("the answer ends, so no ★" in left) == (round_.bonus_id is None)
        assert ("+ ★" in left) == (round_.bonus_id is not None and round_.mode != "ar")
