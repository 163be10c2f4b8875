"""The learning rate follows whichever limit comes first, across restarts."""

from __future__ import annotations

import itertools

import pytest

from engine.train.schedule import Schedule


def at(step: int, spent: float, steps: int = 100, seconds: float = 1000.0) -> Schedule:
    return Schedule(steps, seconds, warmup=10, step=step, spent=spent)


def test_whichever_limit_comes_first() -> None:
    assert at(50, 10.0).fraction == pytest.approx(0.5)
    assert at(5, 800.0).fraction == pytest.approx(0.8, abs=1e-3)
    assert at(100, 0.0).over
    assert at(0, 1000.0).over
    assert not at(99, 900.0).over


def test_rises_then_falls_to_zero() -> None:
    rates = [at(step, 0.0).factor() for step in range(101)]
    peak = rates.index(max(rates))
    assert 8 <= peak <= 11
    assert max(rates) == pytest.approx(1.0, abs=0.02)
    assert all(a < b for a, b in itertools.pairwise(rates[: peak + 1]))
    assert all(a > b for a, b in itertools.pairwise(rates[peak:]))
    assert rates[0] > 0
    assert rates[-1] == pytest.approx(0.0, abs=1e-9)
    assert at(3, 1000.0).factor() == pytest.approx(0.0, abs=1e-9)


def test_no_budget_is_over_at_once() -> None:
    assert at(0, 0.0, steps=0).over
    assert at(0, 0.0, seconds=0.0).over
