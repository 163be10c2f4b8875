"""What is said of tokens behind a stop token."""

from __future__ import annotations

import pytest
from chain_events import chain_round, prefilled

from engine.detectors.text_end import StopInPath

STOP = 9


@pytest.mark.parametrize(
    ("root", "ids", "said"),
    [
        (1, [2, STOP, 3], "at place 2 of the accepted path, and 1 more token was committed behind it."),
        (1, [STOP, 2, 3], "at place 1 of the accepted path, and 2 more tokens were committed behind it."),
        (STOP, [2], "as the root of the round, and 1 more token was committed behind it."),
    ],
)
def test_a_stop_with_something_behind_it(root: int, ids: list[int], said: str) -> None:
    detector = StopInPath()
    assert not list(detector.take(prefilled(stop_ids=(STOP,))))
    (finding,) = detector.take(chain_round(ids, root=root))
    assert finding.seen == f"Stop token {STOP} stands {said}"


def test_a_stop_at_the_end_is_none() -> None:
    detector = StopInPath()
    detector.take(prefilled(stop_ids=(STOP,)))
    assert not list(detector.take(chain_round([2, 3, STOP])))
