from __future__ import annotations

import pytest
from runs import told
from tiny_models import tiny_pair

from engine.oracle import costs
from engine.settings import DecodeSettings


def test_what_the_oracle_costs_and_finds() -> None:
    pair = told(tiny_pair("qwen3_5", stop_ids=()), seconds=100.0)
    asked = [
        ([{"role": "user", "content": text}], DecodeSettings(oracle=oracle, max_new_tokens=20, budget=8))
        for oracle, text in (("sample", "abcd"), ("sample", "efgh"))
    ]
    report = costs.measure(pair, asked)  # type: ignore[arg-type]
    assert report["answers"] == 2
    assert report["verdicts"] == {"identical": 2}
    assert report["compared"] == report["positions"] == 40
    assert report["seconds_of_oracle"] > 0
    assert report["share"] == pytest.approx(report["seconds_of_oracle"] / report["seconds_without"])
    assert report["first_defect"] is None


def test_a_defect_is_told() -> None:
    pair = told(tiny_pair("qwen3_5", stop_ids=()))
    settings = DecodeSettings(oracle="full", verify="naive", max_new_tokens=20, budget=8)
    report = costs.measure(pair, [([{"role": "user", "content": "abcd"}], settings)])
    assert report["verdicts"] == {"defect": 1}
    assert report["first_defect"]["layer"]["kind"] == "linear_attention"
