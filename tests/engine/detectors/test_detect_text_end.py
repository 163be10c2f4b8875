"""What is said of tokens behind a stop token."""

from __future__ import annotations

import pytest

from engine.detectors.text_end import StopInPath
from engine.events import Nodes, Prefilled, Round, StageTimes, TargetRows
from engine.settings import DecodeSettings

STOP = 9


def prefilled() -> Prefilled:
    return Prefilled(
        prompt_ids=[1],
        prompt_text="Hello",
        messages=[{"role": "user", "content": "Hello"}],
        thinking=False,
        settings=DecodeSettings(),
        stop_ids=[STOP],
        seconds=0.0,
        first_id=1,
    )


def round_of(root: int, ids: list[int]) -> Round:
    rows = len(ids)
    return Round(
        index=0,
        mode="chain",
        position=2,
        root_id=root,
        nodes=Nodes(ids=ids[:-1], parents=[*range(-1, rows - 2)]),
        target=TargetRows(ids=ids, logprobs=[-0.5] * rows, gaps=[1.0] * rows),
        accepted=[*range(rows - 1)],
        bonus_id=ids[-1],
        miss=None,
        committed_ids=ids,
        acceptance_length=rows,
        ms=StageTimes(),
    )


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
    assert not list(detector.take(prefilled()))
    (finding,) = detector.take(round_of(root, ids))
    assert finding.seen == f"Stop token {STOP} stands {said}"


def test_a_stop_at_the_end_is_none() -> None:
    detector = StopInPath()
    detector.take(prefilled())
    assert not list(detector.take(round_of(1, [2, 3, STOP])))
