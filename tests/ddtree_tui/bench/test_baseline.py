from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import CHAIN, TREE, WAYS, measurement

from ddtree_tui.bench.baseline import Baseline, Comparison, Number, compare, read_baseline
from ddtree_tui.bench.configuration import Condition
from ddtree_tui.bench.summary import summarise
from engine.errors import EngineError

WARM = Condition(thinking=True, temperature=0.8)


def groups():
    ones = [
        measurement("a", way, lengths=lengths, ms=10.0, condition=condition, source="gsm8k")
        for way, lengths in zip(WAYS, ([1, 1, 1, 1], [2, 2], [4]), strict=True)
        for condition in (Condition(), WARM)
    ]
    return summarise(ones, 0.0)


def read(tmp_path, content: object) -> Baseline:
    path = tmp_path / "baseline.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_baseline(path)


def test_numbers_from_elsewhere_are_compared_by_name(tmp_path):
    baseline = read(
        tmp_path,
        {
            "source": "a paper",
            "tolerance": 0.1,
            "configurations": {
                "tree(64)": {"acceptance": 4.3, "tokens_per_second": {"value": 100, "tolerance": 0.01}},
                "chain thinking T=0.8": {"acceptance": 2.5},
                "gsm8k: ar": {"acceptance": 1},
                "tree(16)": {"speed_vs_ar": 2},
                "chain": {"round_over_floor": 1.5},
            },
        },
    )
    found = compare(baseline, groups())
    assert [(one.name, one.metric, one.verdict, one.tolerance) for one in found] == [
        ("tree(64)", "acceptance", "within", 0.1),
        ("tree(64)", "tokens_per_second", "higher", 0.01),
        ("chain thinking T=0.8", "acceptance", "lower", 0.1),
        ("gsm8k: ar", "acceptance", "within", 0.1),
        ("tree(16)", "speed_vs_ar", "not measured", 0.1),
        ("chain", "round_over_floor", "not measured", 0.1),
    ]
    assert found[1].measured == pytest.approx(400)
    assert found[1].change == pytest.approx(3)
    assert [one.moved for one in found] == [False, True, True, False, False, False]


@given(st.floats(0.01, 1000), st.floats(0, 0.9), st.floats(0.01, 1000))
def test_what_moved_is_what_lies_beyond_the_tolerance(expected, tolerance, measured):
    one = Comparison(
        name="ar", metric="acceptance", expected=expected, tolerance=tolerance, measured=measured
    )
    low, high = expected * (1 - tolerance), expected * (1 + tolerance)
    if measured < low * (1 - 1e-9):
        assert one.verdict == "lower"
    elif measured > high * (1 + 1e-9):
        assert one.verdict == "higher"
    elif low * (1 + 1e-9) < measured < high * (1 - 1e-9):
        assert one.verdict == "within"


def test_the_default_tolerance_is_five_percent(tmp_path):
    baseline = read(tmp_path, {"configurations": {"ar": {"acceptance": 1.04}, "chain": {"acceptance": 1.88}}})
    assert [one.moved for one in compare(baseline, groups())] == [False, True]
    assert Baseline(configurations={}).tolerance == 0.05


def test_a_configuration_of_one_source_keeps_its_name_beside_others():
    other = measurement("b", TREE, lengths=[2], source="humaneval")
    ones = [measurement("a", TREE, lengths=[4], source="gsm8k"), other, measurement("b", CHAIN, source="x")]
    numbers = {"acceptance": Number(4.0)}
    names = ("gsm8k: tree(64)", "humaneval: tree(64)", "tree(64)")
    baseline = Baseline(configurations=dict.fromkeys(names, numbers))
    assert [one.measured for one in compare(baseline, summarise(ones, 0.0))] == [4.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be understood"),
        ('{"a": ' + "[" * 100_000, "cannot be understood"),
        ({"configurations": {"ar": {"speed": 3}}}, "cannot be understood"),
        ({"configurations": {"ar": {"acceptance": {"value": 1, "tolerence": 2}}}}, "cannot be understood"),
        ({"configurations": {"ar": {"acceptance": 0}}}, "not positive"),
        ({"configurations": {"ar": {"acceptance": {"value": 1, "tolerance": -1}}}}, "not positive"),
        ({"configurations": {}}, "no numbers"),
        ({"groups": "none"}, "cannot be understood"),
        ({}, "cannot be understood"),
    ],
)
def test_a_file_that_is_no_baseline_is_answered_by_a_sentence(tmp_path, content, words):
    with pytest.raises(EngineError) as caught:
        read(tmp_path, content)
    assert caught.value.kind == "bench_file"
    assert words in caught.value.message


def test_a_missing_file(tmp_path):
    with pytest.raises(EngineError, match="cannot be read"):
        read_baseline(tmp_path / "none")


def test_the_example_of_the_documentation_is_a_baseline(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "measuring.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    assert len(read(tmp_path, example).configurations) == 2
