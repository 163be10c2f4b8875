from __future__ import annotations

import ast
import heapq
import random
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import engine.ddtree
from engine.ddtree import (
    DraftTree,
    ancestors_or_self,
    assert_prefix_closed,
    build_chain_from_logits,
    build_ddtree_tree_from_logits,
    build_tree_from_candidates,
    empty_tree,
    follow_verified_tree,
    summarize_ddtree,
    top_candidates,
)

Node = tuple[int, int, int, int]  # token, parent, depth, rank


def heap_tree(logits: torch.Tensor, budget: int) -> list[Node]:
    """Best-first search with a heap: take the best frontier node, offer its next sibling and first child.

    Weights are summed in float32 along the path, as in the vectorised form, so that ties are the same ties.
    """
    logprobs = torch.log_softmax(logits.float(), -1).clamp(max=0.0)
    depths, vocab = logits.shape
    rows = logits.float().tolist()
    order = [sorted(range(vocab), key=lambda t, row=rows[d]: (-row[t], t))[:budget] for d in range(depths)]
    value = [logprobs[d][order[d]].numpy() for d in range(depths)]
    heap: list[tuple[float, int, int, int]] = []
    above: dict[tuple[int, int], object] = {}

    def offer(parent: int, weight: object, depth: int, rank: int) -> None:
        if depth < depths and rank < len(order[depth]):
            total = weight + value[depth][rank]
            if total > -float("inf"):
                above[(parent, rank)] = weight
                heapq.heappush(heap, (-float(total), depth, parent, rank))

    offer(-1, value[0].dtype.type(0) if depths else 0.0, 0, 0)
    nodes: list[Node] = []
    while heap and len(nodes) < budget:
        _, depth, parent, rank = heapq.heappop(heap)
        nodes.append((order[depth][rank], parent, depth + 1, rank))
        weight = above[(parent, rank)]
        offer(parent, weight, depth, rank + 1)
        offer(len(nodes) - 1, weight + value[depth][rank], depth + 1, 0)
    return nodes


def nodes_of(tree: DraftTree) -> list[Node]:
    columns = (tree.token_ids, tree.parents, tree.depths, tree.ranks)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def random_logits(seed: int, vocab: int, depths: int) -> torch.Tensor:
    """Logits of very different sharpness; half of the sets are rounded and full of ties."""
    generator = torch.Generator().manual_seed(seed)
    sharpness = (0.1, 1.0, 6.0)[seed % 3]
    logits = torch.randn(depths, vocab, generator=generator) * sharpness
    if seed % 2:
        logits = (logits * 2).round() / 2
    if seed % 7 == 0:
        logits[:, : vocab // 3] = -torch.inf
    return logits


def case(seed: int) -> tuple[torch.Tensor, int]:
    chooser = random.Random(seed)
    vocab = (
        chooser.choice([8, 9, 30, 200, 1000, 5000, 50000]) if seed % 10 == 0 else chooser.choice([8, 30, 200])
    )
    depths = chooser.choice([1, 2, 4, 7, 15])
    return random_logits(seed, vocab, depths), chooser.choice([1, 2, 3, 8, 16, 64, 256, 1024])


@pytest.mark.parametrize("block", range(10))
def test_equals_the_heap_on_1000_logit_sets(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        logits, budget = case(seed)
        tree = build_ddtree_tree_from_logits(logits, budget)
        assert_prefix_closed(tree)
        assert nodes_of(tree) == heap_tree(logits, budget), f"seed {seed}"


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6), st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_a_larger_budget_only_adds_nodes(seed: int, budget: int, depths: int, vocab: int) -> None:
    logits = random_logits(seed, vocab, depths)
    small, large = (build_ddtree_tree_from_logits(logits, b) for b in (budget, 2 * budget))
    assert nodes_of(large)[: len(small)] == nodes_of(small)


def test_no_node_left_out_weighs_more_than_one_that_is_in() -> None:
    logits = random_logits(2, 6, 3)
    logprobs = torch.log_softmax(logits, -1)
    every = sorted(
        (
            [float(logprobs[0, a]) for a in range(6)]
            + [float(logprobs[0, a] + logprobs[1, b]) for a in range(6) for b in range(6)]
            + [
                float(logprobs[0, a] + logprobs[1, b] + logprobs[2, c])
                for a in range(6)
                for b in range(6)
                for c in range(6)
            ]
        ),
        reverse=True,
    )
    weights = build_ddtree_tree_from_logits(logits, 40).path_weights()
    assert weights.tolist() == pytest.approx(every[:40], abs=1e-5)
    assert (weights[:-1] >= weights[1:]).all()


def test_ties_go_to_the_lower_id_and_negative_zero_is_zero() -> None:
    ids, _ = top_candidates(torch.tensor([[0.0, -0.0, 1.0, 0.0, -1.0]]), 4)
    assert ids.tolist() == [[2, 0, 1, 3]]


def test_more_candidates_than_vocabulary() -> None:
    tree = build_ddtree_tree_from_logits(torch.zeros(1, 5), 64)
    assert tree.token_ids.tolist() == [0, 1, 2, 3, 4]


def test_a_certain_drafter_gives_a_chain() -> None:
    logits = torch.full((4, 9), -torch.inf)
    logits[range(4), [3, 1, 4, 1]] = 0.0
    tree = build_ddtree_tree_from_logits(logits, 64)
    assert nodes_of(tree) == [(3, -1, 1, 0), (1, 0, 2, 0), (4, 1, 3, 0), (1, 2, 4, 0)]


def test_chain_is_the_first_choice_at_every_depth() -> None:
    logits = random_logits(5, 20, 6)
    chain = build_chain_from_logits(logits)
    assert chain.token_ids.tolist() == logits.argmax(-1).tolist()
    assert chain.parents.tolist() == [-1, 0, 1, 2, 3, 4]
    assert_prefix_closed(chain)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40))
def test_visibility_is_ancestor_or_self(choices: list[int]) -> None:
    parents = [-1] + [choice % (row + 1) for row, choice in enumerate(choices)]
    visible = ancestors_or_self(torch.tensor(parents))
    for row in range(len(parents)):
        ancestors, at = set(), row
        while at >= 0:
            ancestors.add(at)
            at = parents[at]
        assert set(visible[row].nonzero()[:, 0].tolist()) == ancestors


@given(st.integers(0, 10**6), st.integers(1, 60), st.data())
@settings(max_examples=60, deadline=None)
def test_walk_follows_the_target_and_stops_where_it_leaves_the_tree(
    seed: int, budget: int, data: st.DataObject
) -> None:
    tree = build_ddtree_tree_from_logits(random_logits(seed, 5, 5), budget)
    choices = data.draw(st.lists(st.integers(0, 4), min_size=len(tree) + 1, max_size=len(tree) + 1))
    accepted, bonus = follow_verified_tree(tree, choices)
    assert_prefix_closed(tree, accepted)
    # By hand, a step at a time.
    at, expected = -1, []
    while True:
        children = [n for n in range(len(tree)) if int(tree.parents[n]) == at]
        agreed = [n for n in children if int(tree.token_ids[n]) == choices[at + 1]]
        if not agreed:
            break
        at = agreed[0]
        expected.append(at)
    assert accepted == expected
    assert bonus == choices[at + 1]
    assert accepted == (tree.path_to(accepted[-1]) if accepted else [])


def test_walk_of_a_root_alone() -> None:
    assert follow_verified_tree(empty_tree(), [7]) == ([], 7)


def test_walk_refuses_another_number_of_rows() -> None:
    with pytest.raises(ValueError, match="3 target ids"):
        follow_verified_tree(build_ddtree_tree_from_logits(torch.zeros(1, 2), 2), [1, 2])


def test_summary() -> None:
    #   root ─ 0 ─ 2 ─ 3
    #        └ 1   └─ 4
    tree = DraftTree(
        token_ids=torch.tensor([5, 6, 5, 5, 6]),
        parents=torch.tensor([-1, -1, 0, 2, 2]),
        depths=torch.tensor([1, 1, 2, 3, 3]),
        logprobs=torch.zeros(5),
        ranks=torch.tensor([0, 1, 0, 0, 1]),
        budget=8,
    )
    assert_prefix_closed(tree, [0, 2, 4])
    assert summarize_ddtree(tree, [0, 2, 4]) == {
        "budget": 8,
        "node_count": 5,
        "max_depth": 3,
        "leaf_count": 3,
        "branch_count": 2,
        "accepted_node_count": 3,
    }
    assert summarize_ddtree(empty_tree()) == {
        "budget": 0,
        "node_count": 0,
        "max_depth": 0,
        "leaf_count": 0,
        "branch_count": 0,
        "accepted_node_count": 0,
    }


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"parents": torch.tensor([1, -1])}, "before its parent"),
        ({"parents": torch.tensor([-1, 1])}, "before its parent"),
        ({"depths": torch.tensor([1, 3])}, "depth 3 below depth 1"),
        ({"parents": torch.tensor([-1, -1]), "depths": torch.tensor([1, 1])}, "repeats token 4"),
        ({"budget": 1}, "exceed the budget"),
        ({"logprobs": torch.tensor([-0.1, 0.5])}, "log-probability"),
        ({"logprobs": torch.tensor([-0.1, float("nan")])}, "log-probability"),
        ({"ranks": torch.tensor([0])}, "differ in length"),
    ],
)
def test_broken_trees_are_found(change: dict[str, object], complaint: str) -> None:
    whole = {
        "token_ids": torch.tensor([4, 4]),
        "parents": torch.tensor([-1, 0]),
        "depths": torch.tensor([1, 2]),
        "logprobs": torch.tensor([-0.1, -0.2]),
        "ranks": torch.tensor([0, 0]),
        "budget": 2,
    }
    assert_prefix_closed(DraftTree(**whole))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=complaint):
        assert_prefix_closed(DraftTree(**{**whole, **change}))  # type: ignore[arg-type]


def test_accepted_paths_that_skip_are_found() -> None:
    chain = build_chain_from_logits(random_logits(1, 9, 4))
    for accepted in ([1], [0, 2], [0, 1, 1], [9]):
        with pytest.raises(AssertionError, match="skips"):
            assert_prefix_closed(chain, accepted)


@pytest.mark.parametrize("budget", [0, -3])
def test_budgets_below_one_are_refused(budget: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        build_ddtree_tree_from_logits(torch.zeros(2, 4), budget)


def test_other_bad_logits_are_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        build_ddtree_tree_from_logits(torch.zeros(4), 2)
    with pytest.raises(ValueError, match="NaN"):
        build_ddtree_tree_from_logits(torch.tensor([[0.0, float("nan")]]), 2)
    for broken in ([0.0, float("inf")], [float("nan"), 0.0], [-float("inf")] * 2):
        for build in (lambda logits: build_ddtree_tree_from_logits(logits, 3), build_chain_from_logits):
            with pytest.raises(ValueError, match="inf"):
                build(torch.tensor([[1.0, 2.0], broken]))
    assert len(build_chain_from_logits(torch.tensor([[1.0, -float("inf")]])).token_ids) == 1


def test_to_networkx() -> None:
    tree = build_tree_from_candidates(
        torch.tensor([[3, 1], [2, 0]]), torch.tensor([[-0.1, -3.0], [-0.2, -2.0]]), 3
    )
    graph = tree.to_networkx(root_id=9)
    assert graph.nodes[-1] == {"depth": 0, "token_id": 9}
    assert set(graph.edges) == {(-1, 0), (0, 1), (0, 2)}
    assert graph.nodes[1]["token_id"] == 2
    assert graph.nodes[1]["logprob"] == pytest.approx(-0.2)


def test_the_module_can_be_dropped_into_another_project() -> None:
    source = Path(engine.ddtree.__file__).read_text()
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).split(".")[0])
    assert names - set(sys.stdlib_module_names) == {"torch"}
