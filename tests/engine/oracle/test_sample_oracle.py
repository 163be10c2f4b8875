from __future__ import annotations

from typing import Any

import pytest
import torch
from runs import checked, rounds, told
from tiny_models import tiny_pair

from engine.oracle.account import SHARE, Account, account_of
from engine.pair import Pair

PROMPT = "abcdefgh"


def rich(family: str = "qwen3_5", seconds: float = 1e6, **fields: Any) -> Pair:
    """A pair that has been at work for so many seconds."""
    host = tiny_pair(family, stop_ids=(), **fields)
    return told(host, seconds=seconds)


def sampled(pair: Pair, **settings: Any) -> Any:
    found, events = checked(pair, PROMPT, oracle="sample", **{"max_new_tokens": 40, "budget": 12, **settings})
    return found, rounds(events)


@pytest.mark.parametrize("family", ["qwen3_5", "gpt_oss"])
def test_finds_a_healthy_answer_identical(family: str) -> None:
    pair = rich(family)
    for settings in ({}, {"temperature": 0.9, "top_p": 0.8}, {"mode": "chain"}):
        found, _ = sampled(pair, **settings)
        assert found.oracle == "sample"
        assert found.verdict == "identical", found
        assert found.compared == found.positions == 40  # with time for all, one begins at the beginning


def test_goes_on_from_copies_where_there_is_no_time_for_the_beginning(monkeypatch: Any) -> None:
    monkeypatch.setattr(Account, "affordable", lambda self: 0)
    pair = rich()
    found, played = sampled(pair)
    assert found.verdict == "identical"
    assert 0 < found.compared < 40
    assert found.layers > 0
    assert sum(last - first + 1 for first, last in found.rounds) < len(played)
    spoiled, _ = sampled(pair, verify="naive")
    assert spoiled.verdict == "defect"
    assert spoiled.layer is not None


def test_the_seed_chooses() -> None:
    found = [sampled(pair := rich(), seed=seed)[0].rounds for seed in (1, 1)]
    assert found[0] == found[1]
    assert pair is not None


def test_what_is_before_the_copies_is_seen_from_the_beginning() -> None:
    pair = rich()
    cache, commit = pair.session.cache, pair.session.cache.commit

    def spoil(path: torch.Tensor) -> None:
        commit(path)
        if cache.length == len(PROMPT):
            cache.delta(0).state = cache.delta(0).state * 1.5  # type: ignore[operator]

    cache.commit = spoil  # type: ignore[method-assign]
    found, _ = sampled(pair)
    assert found.verdict == "defect"


def test_a_poor_account_compares_nothing_and_says_so() -> None:
    pair = rich(seconds=0.0)
    found, _ = sampled(pair, max_new_tokens=4)
    assert (found.verdict, found.compared) == ("unchecked", 0)
    assert "time" in found.reason


def test_compares_rounds_on_the_device() -> None:
    host = tiny_pair("qwen3_5", stop_ids=())
    pair = told(Pair(host.target, host.drafter, host.codec, host.info, on_device=True), seconds=1e6)
    found, _ = sampled(pair)
    assert (found.verdict, found.compared) == ("identical", 40)
    assert found.layers > 0


def test_without_measured_noise_nothing_is_judged(monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found, _ = sampled(rich(dtype=torch.bfloat16))
    assert found.verdict == "unchecked"
    assert "measured" in found.reason


def test_an_account_pays_what_was_earned(monkeypatch: Any) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    account = Account(seconds=10)
    assert account.credit == SHARE * 10
    account.earn(20)
    with account.spending():
        now[0] += 1.5
    assert account.credit == pytest.approx(SHARE * 30 - 1.5)
    account.expect(0.01, 0.001)
    assert account.affordable() == 0
    account.earn(100)
    tokens = account.affordable()
    assert account.price(tokens) <= account.credit < account.price(tokens + 2)
    account.measured(10, 0.02)
    account.expect(5, 5)
    assert 0.01 < account.price(10) < 0.02


def test_one_account_for_all_answers() -> None:
    pair = rich(seconds=0.0)
    before = account_of(pair).credit
    for _ in range(3):
        sampled(pair, max_new_tokens=20)
    account = account_of(pair)
    assert account._earned > before
    assert account.spent < account._earned + 1
