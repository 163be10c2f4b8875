from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine.auto_budget import FIRST, TRIALS, AutoBudget
from engine.decode import generate
from engine.events import Nodes, Prefilled, Round, StageTimes, TargetRows
from engine.pair import Pair
from engine.settings import DecodeSettings

PROMPT = "What is 384 + 277?"


def round_of(budget: int, ms: float, *, accepted: int = 2, chances: tuple[float, ...] = ()) -> Round:
    """A round whose nodes are a chain with these chances, each given the one before."""
    count = len(chances)
    return Round(
        index=0,
        mode="tree",
        position=0,
        root_id=1,
        nodes=Nodes(
            ids=[1] * count,
            parents=list(range(-1, count - 1)),
            depths=list(range(1, count + 1)),
            logprobs=[math.log(chance) for chance in chances],
            ranks=[0] * count,
        ),
        target=TargetRows(ids=[], logprobs=[], gaps=[]),
        accepted=list(range(accepted)),
        bonus_id=1,
        miss=None,
        committed_ids=[1] * (accepted + 1),
        acceptance_length=accepted + 1,
        ms=StageTimes(total=ms),
        budget=budget,
    )


def settle(auto: AutoBudget, ms: Callable[[int], float], rounds: int, largest: int = 1024) -> list[int]:
    """Budgets of rounds in which each further node is a tenth less likely to be accepted."""
    chosen = []
    for _ in range(rounds):
        budget = auto.choose(largest)
        chosen.append(budget)
        auto.learn(round_of(budget, ms(budget), accepted=4, chances=(0.9,) * budget))
    return chosen


def test_expected_tokens_are_the_sums_of_path_probabilities() -> None:
    auto = AutoBudget(levels=(1, 2, 4, 8))
    for _ in range(200):  # 0.5 + 0.25 + 0.25 + 0.25 nodes expected, 2.5 accepted
        auto.learn(round_of(4, 1.0, accepted=2, chances=(0.5, 0.5, 1.0, 1.0)))
        auto.learn(round_of(4, 1.0, accepted=3, chances=(0.5, 0.5, 1.0, 1.0)))
    assert auto.tokens(0) == pytest.approx(1 + 2 * 0.5, rel=0.05)
    assert auto.tokens(1) == pytest.approx(1 + 2 * 0.75, rel=0.05)
    assert auto.tokens(2) == pytest.approx(1 + 2 * 1.25, rel=0.05)
    # Never reached: as if its nodes were as probable as the last ones.
    assert auto.tokens(3) == pytest.approx(1 + 2 * 2.25, rel=0.05)


def test_small_trees_tell_when_larger_ones_are_worthwhile() -> None:
    auto = AutoBudget(levels=(4, 8, 16))
    for _ in range(40):  # paths are half as likely after every node: what they gain is foreseen exactly
        auto.learn(round_of(8, 1.0, accepted=1, chances=(0.5,) * 8))
    foreseen = auto.tokens(2)
    auto.learn(round_of(16, 1.0, accepted=1, chances=(0.5,) * 16))
    assert auto.tokens(2) == pytest.approx(foreseen, rel=1e-3)
    for _ in range(40):
        auto.learn(round_of(8, 1.0, accepted=8, chances=(1.0,) * 8))
    assert auto.tokens(1) == pytest.approx(9, rel=0.05)
    assert auto.tokens(2) == pytest.approx(17, rel=0.05)


def test_an_uncertain_beginning_does_not_hold_the_rest_back() -> None:
    """As on a CPU: a text that a drafter of 15 positions knows well, but for its first rounds."""
    auto = AutoBudget()
    tokens, ms = 0, 0.0
    budgets = []
    for number in range(24):
        budget = auto.choose(256)
        sure = 0.5 if number < 2 else 0.99
        depth = min(budget, 15)
        chances = (*[sure] * depth, *[0.01 * sure] * (budget - depth))
        accepted = 1 if number < 2 else depth
        event = round_of(budget, 125.0 + 3 * budget, accepted=accepted, chances=chances)
        auto.learn(event)
        tokens += event.acceptance_length
        ms += event.ms.total
        budgets.append(budget)
    assert budgets[-10:] == [16] * 10
    always = (2 * 2 + 22 * 16) / (24 * (125.0 + 3 * 16))
    assert tokens / ms > 0.75 * always, budgets


def test_levels_that_cannot_be_faster_are_not_tried() -> None:
    auto = AutoBudget()
    # 8 and 16 nodes tell what a node costs: 4 cannot be fast enough, with half the tokens at best.
    chosen = settle(auto, lambda budget: 100.0 + budget, 60)
    assert 4 not in chosen


def test_flat_costs_lead_to_large_trees() -> None:
    chosen = settle(AutoBudget(), lambda budget: 10.0, 60)
    assert chosen[0] == FIRST
    # Of chances 0.9^n, nothing is left to gain beyond 64 nodes.
    assert set(chosen[-20:]) <= {64, 128}
    assert settle(AutoBudget(), lambda budget: 10.0, 60, largest=32)[-1] == 32


def test_costs_that_grow_with_the_nodes_lead_to_small_trees() -> None:
    chosen = settle(AutoBudget(), lambda budget: float(budget), 60)
    assert chosen[-20:] == [4] * 20


def test_the_best_budget_lies_in_between() -> None:
    auto = AutoBudget()
    # tokens/ms of 8, 16, 32 nodes: about 6.1/18, 8.3/26, 9.7/42
    chosen = settle(auto, lambda budget: 10.0 + budget, 60)
    assert chosen[-1] == 8
    assert max(chosen) <= 32


def test_what_becomes_slow_is_left_and_found_again() -> None:
    auto = AutoBudget()
    assert settle(auto, lambda budget: 10.0, 40)[-1] >= 64
    slow = settle(auto, lambda budget: 10.0 + budget * 10, 600)
    assert slow[-1] <= 8
    assert settle(auto, lambda budget: 10.0, 2000)[-1] >= 64


def test_a_settled_choice_is_seldom_left() -> None:
    auto = AutoBudget()
    settle(auto, lambda budget: 10.0 + budget, 60)
    counts = Counter(settle(auto, lambda budget: 10.0 + budget, 640))
    assert counts[8] >= 620
    assert len(counts) > 1


def test_one_slow_round_does_not_change_the_choice() -> None:
    auto = AutoBudget()
    assert settle(auto, lambda budget: 10.0 + budget, 60)[-1] == 8
    auto.learn(round_of(8, 10_000.0, accepted=4, chances=(0.9,) * 8))
    assert auto.choose(1024) == 8


def test_each_level_is_tried_twice_and_the_first_time_may_be_slow() -> None:
    auto = AutoBudget()
    seen: Counter[int] = Counter()

    def ms(budget: int) -> float:
        seen[budget] += 1
        return 10.0 if seen[budget] > 1 else 1000.0

    assert settle(auto, ms, 60)[-1] >= 64
    assert TRIALS == 2


def test_rounds_without_a_draft_teach_nothing() -> None:
    auto = AutoBudget()
    auto.learn(round_of(16, 1.0, accepted=0))
    assert auto.choose(1024) == FIRST
    assert AutoBudget(levels=(16, 32)).choose(8) == 8


@pytest.fixture
def pair(demo_pair: Pair) -> Iterator[Pair]:
    demo_pair.session.reset()
    yield demo_pair
    demo_pair.__dict__.pop("auto_budget", None)


def rounds_of(pair: Pair, auto: AutoBudget | None, **settings: Any) -> tuple[list[Round], list[int]]:
    pair.session.reset()
    pair.__dict__["auto_budget"] = auto or AutoBudget()
    events = list(generate(pair, PROMPT, thinking=True, max_new_tokens=60, **settings))
    return [event for event in events if isinstance(event, Round)], events[-1].output_ids


@pytest.mark.parametrize("on_device", [False, True])
def test_the_demo_pair_writes_the_same_text_and_settles(pair: Pair, on_device: bool) -> None:
    _, alone = rounds_of(pair, None, mode="ar")
    used = Pair(pair.target, pair.drafter, pair.codec, pair.info, on_device=on_device)
    levels = (16, 32, 64) if on_device else (4, 8, 16, 32, 64)
    flat, text = rounds_of(used, AutoBudget(levels, lambda event: 10.0), auto_budget=True)
    assert text == alone
    assert all(len(event.nodes.ids) <= event.budget for event in flat)
    linear = AutoBudget(levels, lambda event: float(event.budget))
    small, text = rounds_of(used, linear, auto_budget=True)
    assert text == alone
    assert small[-1].budget == levels[0]
    assert flat[-1].budget > small[-1].budget
    assert {event.budget for event in [*flat, *small]} <= set(levels)
    # It goes on with what it has learnt.
    assert rounds_of(used, linear, auto_budget=True)[0][0].budget == levels[0]


def test_the_budget_is_the_largest_it_chooses(pair: Pair) -> None:
    settings = DecodeSettings(auto_budget=True, budget=8)
    rounds, _ = rounds_of(pair, AutoBudget(milliseconds=lambda event: 10.0), settings=settings)
    assert rounds[0].budget == 8
    assert {event.budget for event in rounds} <= {4, 8}
    assert rounds_of(pair, None, settings=settings, mode="chain")[0][0].mode == "chain"


def test_prefilled_tells_that_it_is_on(pair: Pair) -> None:
    pair.session.reset()
    events = generate(pair, PROMPT, auto_budget=True, max_new_tokens=2)
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    assert prefilled.settings.auto_budget
    list(events)
