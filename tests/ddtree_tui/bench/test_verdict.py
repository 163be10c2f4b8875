from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import TREE, measurement

from ddtree_tui.bench.configuration import Condition
from ddtree_tui.bench.verdict import Difference, find_difference, judge

ids = st.lists(st.integers(0, 3), min_size=1, max_size=12)


def texts(ours: list[int], theirs: list[int], gap: float = 1.0, **keywords):
    made = []
    for text, way in ((ours, TREE), (theirs, None)):
        gaps = [None, *[gap] * (len(text) - 1)]
        extra = {} if way is None else {"way": way}
        made.append(measurement(ids=text, lengths=[1] * (len(text) - 1), gaps=gaps, **extra, **keywords))
    return made


@given(ids, ids)
def test_the_first_difference_is_where_the_shared_start_ends(ours, theirs):
    difference = find_difference(*texts(ours, theirs))
    if ours == theirs:
        assert difference is None
        return
    assert difference is not None
    index = difference.index
    assert ours[:index] == theirs[:index]
    assert ours[index : index + 1] != theirs[index : index + 1]
    assert difference.position == 10 + index
    assert [difference.id] == (ours[index : index + 1] or [None])
    assert [difference.ar_id] == (theirs[index : index + 1] or [None])


def test_a_difference_says_where_and_how_close_it_was():
    ours = measurement(ids=[9, 1, 2, 8, 4], lengths=[2, 2], gaps=[None, 5.0, 4.0, 0.2, 1.0], way=TREE)
    theirs = measurement(ids=[9, 1, 2, 3, 4], lengths=[1] * 4, gaps=[None, 5.0, 4.0, 0.1, 1.0])
    assert find_difference(ours, theirs) == Difference(
        index=3, position=13, round=1, ar_id=3, id=8, ar_gap=0.1, gap=0.2
    )


@pytest.mark.parametrize(
    ("gap", "tie_gap", "temperature", "kind"),
    [
        (0.1, 0.25, 0.0, "tie"),
        (0.125, 0.25, 0.0, "tie"),
        (0.13, 0.25, 0.0, "defect"),  # both sides: the lead has changed by 0.26
        (0.0, 0.0, 0.0, "defect"),
        (0.2, 0.25, 0.8, "unjudged"),
        (0.2, 0.0, 0.8, "defect"),
    ],
)
def test_a_verdict_depends_on_the_gap_where_the_choice_was_greedy(gap, tie_gap, temperature, kind):
    ours, theirs = texts([1, 2, 3], [1, 2, 4], gap, condition=Condition(temperature=temperature))
    assert judge(ours, theirs, tie_gap).kind == kind
    assert judge(theirs, theirs, tie_gap).kind == "same"


def test_no_lead_explains_that_one_text_ends():
    ours, theirs = texts([1, 2, 3], [1, 2], 0.0)
    assert judge(ours, theirs, 0.25).kind == judge(theirs, ours, 0.25).kind == "defect"


def test_a_first_token_has_no_gap_to_judge_by():
    ours, theirs = texts([1, 2], [3, 2])
    assert judge(ours, theirs, 0.25).kind == "unjudged"
    assert judge(ours, theirs, 0.0).kind == "defect"


@given(st.lists(st.integers(1, 5), max_size=6))
def test_every_token_but_the_first_has_its_round(lengths):
    one = measurement(lengths=lengths)
    expected = [None] + [number for number, length in enumerate(lengths) for _ in range(length)]
    assert [one.round_of(index) for index in range(len(expected))] == expected
    assert one.round_of(len(expected)) is None
