"""The twin against the plain builders of ``engine.ddtree``; what the limits take away, what fills places."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import dispatched, worst
from tree_checks import (
    check_broken_candidates,
    check_candidates,
    check_tree,
    check_whole_build,
    draft_logits,
    scalars,
    trees_differ,
)

from engine.ddtree import assert_prefix_closed, build_chain_from_logits, build_ddtree_tree_from_logits
from engine.kernels.draft_tree import BuiltTree, build_tree, tree_candidates


def built(
    logits: torch.Tensor, places: int, remaining: int, budget: int, count: int | None = None
) -> BuiltTree:
    candidates = tree_candidates(logits, places if count is None else count)
    return build_tree(candidates, places, *scalars("cpu", 7, remaining, budget))


@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(3, 40))
@settings(max_examples=60, deadline=None)
def test_nodes_are_those_of_the_plain_builder_within_both_limits(
    seed: int, places: int, budget: int, remaining: int, vocab: int
) -> None:
    logits = draft_logits(6, vocab, seed=seed)
    got = built(logits, places, remaining, budget)
    possible = logits[: remaining - 1]
    expected = build_ddtree_tree_from_logits(possible, min(budget, places))
    nodes = len(expected)
    assert got.is_node.tolist() == [place < nodes for place in range(places)]
    assert trees_differ(got.tree.keep(got.is_node), expected) == 0


@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_rows_are_those_of_the_tree(seed: int, places: int, remaining: int) -> None:
    got = built(draft_logits(4, 12, seed=seed), places, remaining, budget=25)
    assert_prefix_closed(got.tree.keep(got.is_node))
    assert got.row_ids.tolist() == [7, *got.tree.token_ids.tolist()]
    assert got.row_parents.tolist() == [-1, *(got.tree.parents + 1).tolist()]
    assert got.row_depths.tolist() == [0, *got.tree.depths.tolist()]
    assert torch.equal(got.visible, got.tree.visibility())


@pytest.mark.parametrize("remaining", [1, 2, 4, 100])
def test_one_candidate_per_depth_is_a_chain(remaining: int) -> None:
    logits = draft_logits(5, 30)
    got = built(logits, 5, remaining, budget=5, count=1)
    nodes = min(5, remaining - 1)
    assert trees_differ(got.tree.keep(got.is_node), build_chain_from_logits(logits[:nodes])) == 0


def test_places_without_a_node_repeat_the_first_candidate() -> None:
    logits = draft_logits(3, 30)
    got = built(logits, 10, remaining=100, budget=4)
    empty = ~got.is_node
    assert empty.tolist() == [False] * 4 + [True] * 6
    assert got.tree.token_ids[empty].unique().tolist() == [int(logits[0].argmax())]
    assert got.tree.parents[empty].unique().tolist() == [-1]
    assert got.tree.depths[empty].unique().tolist() == [1]


def test_more_places_than_a_tree_can_fill() -> None:
    got = built(torch.zeros(1, 5), 16, remaining=9, budget=16)
    assert int(got.is_node.sum()) == 5
    assert len(got.tree) == 16


def test_candidates_that_are_nan_are_no_nodes() -> None:
    logits = draft_logits(3, 20)
    logits[2, 4] = torch.nan
    got = built(logits, 30, remaining=9, budget=30)
    assert trees_differ(got.tree.keep(got.is_node), build_ddtree_tree_from_logits(logits[:2], 30)) == 0


def test_float64_is_summed_in_float64() -> None:
    logits = draft_logits(2, 50, torch.float64)
    assert torch.equal(tree_candidates(logits, 3).lse, torch.logsumexp(logits, -1))


def test_the_checks_find_nothing_in_the_twins() -> None:
    kernels = dispatched()
    assert worst(check_candidates(kernels, "cpu", 6, 100, 16, dtype=torch.bfloat16))[1] == 0
    assert worst(check_broken_candidates(kernels, "cpu", 100, 16))[1] == 0
    assert worst(check_tree(kernels, "cpu", 6, 100, 16))[1] == 0
    assert worst(check_whole_build(kernels, "cpu", 6, 100, 16))[1] == 0
