from __future__ import annotations

from typing import Any

import pytest

from engine.errors import EngineError
from engine.settings import MAX_BUDGET, DecodeSettings


def test_defaults_are_valid_and_thinking_is_off() -> None:
    settings = DecodeSettings()
    settings.check()
    assert settings.thinking is False
    assert (settings.mode, settings.budget, settings.temperature) == ("tree", 64, 0.0)


@pytest.mark.parametrize(
    "field",
    [
        {"budget": 0},
        {"budget": -5},
        {"budget": MAX_BUDGET + 1},
        {"mode": "forest"},
        {"verify": "hope"},
        {"block_size": 1},
        {"temperature": -0.1},
        {"temperature": float("inf")},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": 1.01},
        {"top_p": float("nan")},
        {"top_k": -1},
        {"min_p": 1.0},
        {"min_p": -0.1},
        {"seed": -1},
        {"seed": 2**63},
        {"max_new_tokens": 0},
        {"stop": ("",)},
        {"temperature": 1e-320},
        {"top_k": 2**63},
        {"budget": "64"},
        {"budget": 2.5},
        {"budget": True},
        {"budget": None},
        {"block_size": "4"},
        {"temperature": "0.5"},
        {"temperature": None},
        {"top_p": True},
        {"top_k": 1.5},
        {"min_p": "x"},
        {"seed": 1.5},
        {"max_new_tokens": 2.5},
        {"thinking": "false"},
        {"detail": 1},
        {"stop": "abc"},
        {"stop": None},
        {"stop": [1]},
        {"mode": None},
        {"mode": []},
    ],
    ids=str,
)
def test_values_out_of_range_are_named_with_a_remedy(field: dict[str, Any]) -> None:
    with pytest.raises(EngineError) as caught:
        DecodeSettings(**field).check()
    assert caught.value.kind == "bad_setting"
    assert next(iter(field)).replace("_", " ").split()[0] in caught.value.message
    assert caught.value.hint.endswith(".")


@pytest.mark.parametrize(
    "field",
    [
        {"budget": 1},
        {"budget": MAX_BUDGET},
        {"temperature": 1},
        {"temperature": 1e-6},
        {"top_p": 1e-9},
        {"top_k": 2**63 - 1},
        {"seed": 2**63 - 1},
        {"stop": ("\n",)},
        {"stop": ["a", "b"]},
    ],
    ids=str,
)
def test_the_borders_are_inside(field: dict[str, Any]) -> None:
    DecodeSettings(**field).check()
