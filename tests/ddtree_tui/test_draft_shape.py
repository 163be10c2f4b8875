"""Reading a round for display: states, weights, and what folds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_recording import Recording

from ddtree_tui.draft_shape import BONUS, FOLD, NEAR_MISS, ROOT, DraftShape
from ddtree_tui.glyphs import State
from ddtree_tui.tree_folds import prune
from engine.events import Miss, Nodes, Round, StageTimes, TargetRows
from engine.settings import DecodeSettings

seeds = st.integers(0, 10**6)
budgets = st.sampled_from((1, 2, 5, 16, 64, 200))


def drawn(seed: int, budget: int, *, stop: bool = False) -> Round:
    return Recording(seed).round(DecodeSettings(budget=budget), 0, 50, 7, stop=stop)


def hand_made(*, bonus: int | None, accepted: list[int], miss: Miss | None = None) -> Round:
    """Root with children 0 and 1; 0 has children 2 and 3; 1 has child 4; 2 has child 5."""
    parents = [-1, -1, 0, 0, 1, 2]
    committed = [100 + node for node in accepted] + ([bonus] if bonus is not None else [])
    return Round(
        index=0,
        mode="tree",
        position=9,
        root_id=1,
        nodes=Nodes(
            ids=[100, 101, 102, 103, 104, 105],
            parents=parents,
            depths=[1, 1, 2, 2, 2, 3],
            logprobs=[math.log(p) for p in (0.5, 0.4, 0.6, 0.3, 0.9, 0.5)],
            ranks=[0, 1, 0, 1, 0, 0],
        ),
        target=TargetRows(ids=[0] * 7, logprobs=[0.0] * 7, gaps=[0.0] * 7),
        accepted=accepted,
        bonus_id=bonus,
        miss=miss,
        committed_ids=committed,
        acceptance_length=len(committed),
        ms=StageTimes(),
    )


def test_states() -> None:
    shape = DraftShape.of(hand_made(bonus=7, accepted=[1]))
    assert shape.states == [
        State.REJECTED,
        State.ACCEPTED,
        State.NOT_REACHED,
        State.NOT_REACHED,
        State.REJECTED,
        State.NOT_REACHED,
    ]
    assert shape.end == 1
    assert shape.children[ROOT] == [1, 0]  # accepted before more probable
    assert shape.children[0] == [2, 3]
    assert shape.sizes == [4, 2, 2, 1, 1, 1]
    assert shape.weights[5] == pytest.approx(math.log(0.5 * 0.6 * 0.5))


def test_nothing_below_the_end_of_the_answer_was_rejected() -> None:
    shape = DraftShape.of(hand_made(bonus=None, accepted=[0, 2]))
    assert shape.states[5] is State.NOT_REACHED
    assert shape.states[3] is State.REJECTED
    assert shape.extras(2) == []


def test_the_near_miss_hangs_below_the_path() -> None:
    listed = Miss(depth=2, id=7, rank=9, logprob=-3.0, beyond=False)
    unlisted = Miss(depth=2, id=7, rank=99, logprob=-9.0, beyond=True)
    assert DraftShape.of(hand_made(bonus=7, accepted=[0], miss=listed)).extras(0) == [BONUS, NEAR_MISS]
    assert DraftShape.of(hand_made(bonus=7, accepted=[0], miss=unlisted)).extras(0) == [BONUS]
    shape = DraftShape.of(hand_made(bonus=7, accepted=[], miss=None))
    assert shape.extras(ROOT) == [BONUS]
    assert shape.depth(BONUS) == 1


@settings(max_examples=60, deadline=None)
@given(seeds, budgets, st.booleans())
def test_states_follow_their_definition(seed: int, budget: int, stop: bool) -> None:
    round_ = drawn(seed, budget, stop=stop)
    shape = DraftShape.of(round_)
    on_path = {ROOT, *round_.accepted}
    for node, state in enumerate(shape.states):
        parent = round_.nodes.parents[node]
        if node in on_path:
            assert state is State.ACCEPTED
        elif parent in on_path:
            assert state is State.REJECTED
        else:
            assert state is State.NOT_REACHED
    assert sum(len(children) for children in shape.children) == len(shape.states)


@settings(max_examples=80, deadline=None)
@given(seeds, budgets, st.integers(1, 40), st.sampled_from((None, 2, 5)))
def test_folding_keeps_what_matters(seed: int, budget: int, rows: int, depth: int | None) -> None:
    round_ = drawn(seed, budget)
    shape = DraftShape.of(round_)
    pruned = prune(shape, rows, depth)
    shown = {node for node, flag in enumerate(pruned.shown) if flag}
    assert set(round_.accepted) <= shown
    assert all(round_.nodes.parents[node] in shown | {ROOT} for node in shown)
    folded = pruned.gathered[0]
    for node in [ROOT, *shown]:
        entries = pruned.entries(node)
        if FOLD in entries:
            assert entries == [FOLD]
            folded += pruned.folded(node)[0]
    assert len(shown) + folded == len(shape.states)
    assert 0 <= pruned.gathered[1] <= 1 + 1e-9
    least = 1 + len(shape.extras(shape.end)) - 1 + 1
    assert pruned.rows <= max(rows, least)
    if depth is None:
        # but for the bonus token's siblings, which fold last, what is shown beside the path is a prefix of
        # the nodes ordered by path probability
        beside = set(range(len(shape.states))) - set(round_.accepted)
        losers = [node for node in beside if round_.nodes.parents[node] != shape.end]
        weakest = min((shape.weights[node] for node in losers if node in shown), default=0.0)
        assert all(shape.weights[node] <= weakest + 1e-12 for node in losers if node not in shown)


@settings(max_examples=30, deadline=None)
@given(seeds, budgets)
def test_without_a_limit_nothing_folds(seed: int, budget: int) -> None:
    shape = DraftShape.of(drawn(seed, budget))
    pruned = prune(shape, None)
    assert all(pruned.shown)
    assert pruned.gathered[0] == 0
