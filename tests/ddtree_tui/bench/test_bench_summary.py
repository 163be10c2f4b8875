from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import TREE, WAYS, answers, measurement

from ddtree_tui.bench import summary
from ddtree_tui.bench.configuration import AR, CHAIN, Condition
from ddtree_tui.bench.measurement import Measurement
from engine.events import Floor, StageTimes

some_answers = st.lists(answers, min_size=1, max_size=8)


def made(all_answers: list[dict], way=AR) -> dict[str, Measurement]:
    return {str(place): measurement(str(place), way, **one) for place, one in enumerate(all_answers)}


@given(some_answers)
def test_rates_are_ratios_of_totals(all_answers):
    row = summary.row({AR: made(all_answers)}, AR)
    tokens = sum(sum(one["lengths"]) for one in all_answers)
    rounds = sum(len(one["lengths"]) for one in all_answers)
    seconds = sum(one["ms"] for one in all_answers) / 1000
    assert row.acceptance.value == pytest.approx(tokens / rounds)
    assert row.tokens_per_second.value == pytest.approx(tokens / seconds)
    assert row.ms.total == pytest.approx(1000 * seconds / rounds)
    assert row.ms.verify == pytest.approx(row.ms.total / 2)
    assert (row.prompts, row.tokens, row.rounds) == (len(all_answers), tokens, rounds)
    assert row.drafted == pytest.approx(3)
    assert row.peak_bytes == 1000 + max(len(one["lengths"]) for one in all_answers)


@given(some_answers)
def test_the_histogram_has_every_round_and_every_token(all_answers):
    counts = summary.histogram(list(made(all_answers).values()))
    assert sum(counts) == sum(len(one["lengths"]) for one in all_answers)
    assert sum(n * count for n, count in enumerate(counts)) == sum(sum(one["lengths"]) for one in all_answers)


@given(some_answers, st.randoms())
def test_the_order_of_prompts_does_not_matter_to_values(all_answers, rng: random.Random):
    shuffled = all_answers[:]
    rng.shuffle(shuffled)
    one, other = (summary.row({AR: made(each)}, AR) for each in (all_answers, shuffled))
    assert one.acceptance.value == pytest.approx(other.acceptance.value)
    assert one.tokens_per_second.value == pytest.approx(other.tokens_per_second.value)
    assert one.histogram == other.histogram
    assert one.ttft_ms == other.ttft_ms


@given(some_answers)
def test_an_interval_lies_within_what_single_prompts_show(all_answers):
    rate = summary.row({AR: made(all_answers)}, AR).tokens_per_second
    single = [1000 * sum(one["lengths"]) / one["ms"] for one in all_answers]
    slack = 1e-9 * max(single)
    assert min(single) - slack <= rate.low <= rate.high <= max(single) + slack


@given(answers, st.integers(1, 6))
def test_prompts_that_are_alike_leave_no_spread(one, count):
    rate = summary.row({AR: made([one] * count)}, AR).tokens_per_second
    assert rate.low == pytest.approx(rate.value)
    assert rate.high == pytest.approx(rate.value)


@given(some_answers, st.floats(0.1, 10))
def test_speed_ratios_follow_the_time(all_answers, factor):
    slower = [{**one, "ms": factor * one["ms"]} for one in all_answers]
    ratio = summary.speed_against(made(all_answers, TREE), made(slower))
    assert ratio is not None
    for value in (ratio.value, ratio.low, ratio.high):  # paired: the same prompts on both sides
        assert value == pytest.approx(factor)


@given(some_answers, some_answers)
def test_speed_ratios_are_inverse_to_one_another(ours, theirs):
    one, other = made(ours, TREE), made(theirs)
    there, back = summary.speed_against(one, other), summary.speed_against(other, one)
    assert there is not None
    assert back is not None
    assert there.value * back.value == pytest.approx(1)


def test_speed_is_compared_on_shared_prompts_only():
    ours = {
        "a": measurement("a", TREE, lengths=[4], ms=10),
        "b": measurement("b", TREE, lengths=[1], ms=9999),
    }
    ratio = summary.speed_against(ours, {"a": measurement("a", lengths=[1] * 4, ms=40)})
    assert ratio is not None
    assert ratio.value == pytest.approx(4)
    assert summary.speed_against(ours, {"c": measurement("c")}) is None
    assert summary.speed_against(ours, None) is None


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32))
def test_the_interval_covers_the_truth_about_as_often_as_it_says(seed):
    """Prompts drawn from a known distribution, many times: the true ratio is inside most of the time."""
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(60):
        rounds = rng.integers(5, 50, 40).astype(float)
        tokens = rounds * rng.normal(4.0, 0.5, 40)
        rate = summary.rate(tokens, rounds)
        inside += rate.low <= 4.0 <= rate.high
    assert inside >= 48  # 57 are expected


def test_the_interval_narrows_with_more_prompts():
    few = [{"lengths": [1 + place % 7], "ms": 10.0} for place in range(7)]
    widths = []
    for times in (1, 16):
        rate = summary.row({AR: made(few * times)}, AR).acceptance
        widths.append(rate.high - rate.low)
    assert widths[1] < widths[0] / 2


def test_an_answer_without_rounds_counts_nothing_and_breaks_nothing():
    row = summary.row({AR: {"a": measurement("a", lengths=[], ms=0.0)}}, AR)
    assert (row.acceptance.value, row.tokens_per_second.value, row.rounds) == (0.0, 0.0, 0)
    assert row.histogram == [0]
    assert row.ms == StageTimes()


def test_the_floor_is_the_weights_over_the_bandwidth():
    floor = Floor(bytes_per_second=1e9, target_bytes=5_000_000, drafter_bytes=1_000_000)
    row = summary.row({TREE: {"a": measurement("a", TREE, lengths=[4, 4], ms=24.0)}}, TREE, floor=floor)
    assert row.round_over_floor == pytest.approx(2)
    row = summary.row({AR: {"a": measurement("a", AR, lengths=[1, 1], ms=24.0)}}, AR, floor=floor)
    assert row.floor_ms == pytest.approx(5)


def test_groups_are_per_condition_and_source():
    thinking = Condition(thinking=True)
    ones = [
        measurement(f"{source} {place}", way, source=source, condition=condition)
        for source in ("x", "y")
        for place in range(2)
        for way in WAYS
        for condition in (Condition(), thinking)
    ]
    groups = summary.summarise(ones, 0.0)
    assert [(group.source, group.condition.thinking) for group in groups] == [
        (None, False),
        ("x", False),
        ("y", False),
        (None, True),
        ("x", True),
        ("y", True),
    ]
    assert [[row.prompts for row in group.rows] for group in groups[:2]] == [[4] * 3, [2] * 3]
    assert [row.name for row in groups[0].rows] == ["ar", "chain", "tree(64)"]
    assert groups[4].label == "x, thinking"
    (alone,) = summary.summarise(
        [one for one in ones if one.source == "x" and not one.condition.thinking], 0.0
    )
    assert (alone.source, alone.sources, alone.label) == (None, ["x"], "")


def test_texts_are_compared_with_ar_of_the_same_condition():
    warm = Condition(temperature=0.8)
    ones = [
        measurement("a", ids=[1, 2, 3]),
        measurement("a", CHAIN, ids=[1, 2, 3]),
        measurement("a", condition=warm, ids=[1, 5, 6]),
        measurement("a", CHAIN, condition=warm, ids=[1, 2, 3]),
        measurement("b", CHAIN, ids=[1, 2, 3]),
    ]
    (found,) = summary.divergences(ones, 0.0)
    assert (found.way, found.condition, found.verdict.kind) == (CHAIN, warm, "defect")
    rows = {row.name: row for row in summary.summarise(ones, 0.0)[0].rows}
    assert rows["chain"].lossless == summary.Lossless(compared=1, same=1, tie=0, defect=0, unjudged=0)
    assert summary.row({CHAIN: {"b": ones[-1]}}, CHAIN).lossless is None
