"""The card holds the run's numbers, and the acceptance test is the issue's."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from engine.demo.report import model_card, targets_met


def good_report() -> dict[str, Any]:
    answers = {
        "questions": 500,
        "accuracy": 0.91,
        "ends_by_itself": 0.995,
        "mean_reply_tokens": 61.5,
        "tasks": {"arithmetic": {"accuracy": 0.97}, "stories": {"accuracy": None}},
    }
    acceptance = {
        "chain": {"all": 4.56, "arithmetic": 6.0, "stories": 3.0},
        "tree(64)": {"all": 5.43, "arithmetic": 7.0, "stories": 4.0},
    }
    stage = {"parameters": 1234567, "steps": 4321, "real_tokens": 99, "seconds": 12.5, "loss": 0.4321}
    return {
        "answers": {"off": copy.deepcopy(answers), "on": copy.deepcopy(answers)},
        "acceptance": {"off": copy.deepcopy(acceptance), "on": copy.deepcopy(acceptance)},
        "heldout_loss": {"off": 0.5, "on": 0.25},
        "target": stage,
        "drafter": {**stage, "parameters": 7654321},
        "replies": {"reply_tokens": 888_888},
        "data": {"tokens": 777_777},
        "recipe": {
            "layers": 12, "drafter_layers": 3, "hidden_size": 384, "tap_layers": [1, 6, 10],
            "block_size": 16, "seed": 17,
        },
        "vocab_size": 2048,
        "traced": 200,
        "versions": {"torch": "2.11.0"},
    }  # fmt: skip


def test_card_holds_the_numbers() -> None:
    card = model_card(good_report())
    for text in ("1,234,567", "7,654,321", "888,888", "777,777", "0.4321", "91.0%", "5.43", "torch 2.11.0"):
        assert text in card
    assert "license: mit" in card


def test_everything_met() -> None:
    assert all(targets_met(good_report()).values())


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        (("answers", "on", "tasks", "arithmetic", "accuracy"), 0.94, "arithmetic with thinking on >= 95 %"),
        (("answers", "off", "accuracy"), 0.84, "checkable tasks >= 85 %, thinking off"),
        (("answers", "on", "ends_by_itself"), 0.98, "ends by itself >= 99 %, thinking on"),
        (("acceptance", "on", "chain", "all"), 2.9, "chain between 3 and 9, thinking on"),
        (("acceptance", "off", "tree(64)", "all"), 5.0, "tree(64) >= 1.12 x chain, thinking off"),
        (("acceptance", "off", "chain", "stories"), 5.0, "easiest task >= 1.5 x hardest, thinking off"),
    ],
)
def test_each_point_can_fail(path: tuple[str, ...], value: float, name: str) -> None:
    report = good_report()
    part = report
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    assert [point for point, met in targets_met(report).items() if not met] == [name]
