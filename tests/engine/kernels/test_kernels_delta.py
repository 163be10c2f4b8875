"""The twins in plain torch against the recurrence and ``engine.gated_delta``."""

from __future__ import annotations

import subprocess
import sys

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import DeltaCase, check_delta, check_stacked_commit, dispatched, one, worst

from engine.ddtree import empty_tree
from engine.gated_delta import DeltaRows, commit_path, run_nodes, solve_tree
from engine.kernels.delta import tree_delta, tree_delta_commit
from engine.kernels.draft_tree import build_tree, tree_candidates
from engine.rows import Rows

HEADS, DIMS = (2, 6), (8, 5)


def exact_rows(case: DeltaCase) -> DeltaRows:
    """One query and key head per value head, float64."""
    q, k, v, g, beta = (x.double() for x in case.rows)
    return DeltaRows(q.repeat_interleave(3, dim=1), k.repeat_interleave(3, dim=1), v, g, beta)


@given(st.integers(1, 60), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_solve_and_commit_equal_the_recurrence(rows: int, seed: int) -> None:
    case = DeltaCase.random(rows, HEADS, DIMS, "cpu", seed=seed)
    doubled = [x.double() for x in case.rows]
    out, solution = tree_delta(*doubled, case.tree.visible, case.state.double())
    expected, states = run_nodes(exact_rows(case), case.tree.parents, case.state.double())
    assert (out - expected).abs().max() < 1e-11
    for row in {0, rows // 2, rows - 1}:
        path, count = case.tree.padded_path(row)
        state = case.state.double()
        assert tree_delta_commit(state, solution, path, one(count, "cpu"), state) is state
        assert (state - states[row]).abs().max() < 1e-11


def test_the_same_as_the_eager_layer() -> None:
    case = DeltaCase.random(40, HEADS, DIMS, "cpu", seed=1)
    rows, state = exact_rows(case), case.state.double()
    expected, exact = solve_tree(rows, case.tree.visible, state)
    out, solution = tree_delta(*(x.double() for x in case.rows), case.tree.visible, state)
    assert torch.allclose(out, expected, atol=1e-12)
    assert torch.allclose(solution.u, exact.u, atol=1e-12)
    path, count = case.tree.padded_path(39)
    committed = tree_delta_commit(state, solution, path, one(count, "cpu"), torch.empty_like(state))
    assert torch.allclose(committed, commit_path(state, exact, path[:count].long()), atol=1e-12)


def test_the_root_is_an_ancestor_of_every_row() -> None:
    """``tree_delta`` relies on it, also where a round has places that are no nodes, and in chains."""
    number, few = torch.tensor(5), torch.tensor(3)
    for count, depths in ((16, 7), (1, 15)):
        candidates = tree_candidates(torch.randn(depths, 40), count)
        for remaining, budget in ((100, number), (100, few), (2, None), (0, None)):
            built = build_tree(candidates, 16, number, torch.tensor(remaining), budget)
            assert built.visible[:, 0].all()
            assert built.visible.diagonal().all()
            assert not built.visible.triu(1).any()
    for chain in (Rows.chain(9, torch.device("cpu")), Rows.tree(empty_tree(), "solve")):
        assert chain.visible[:, 0].all()


def test_a_chain_and_padding_equal_the_recurrence() -> None:
    for case in (
        DeltaCase.random(40, HEADS, DIMS, "cpu", reach=1),
        DeltaCase.random(12, HEADS, DIMS, "cpu", padding=8),
    ):
        out, _ = tree_delta(*(x.double() for x in case.rows), case.tree.visible, case.state.double())
        expected, _ = run_nodes(exact_rows(case), case.tree.parents, case.state.double())
        assert torch.allclose(out, expected, atol=1e-9)


def test_float32_padding_commits_and_stacks() -> None:
    kernels = dispatched()
    for options in ({}, {"padding": 7}, {"kind": "alike"}, {"kind": "decaying"}):
        name, error = worst(check_delta(kernels, "cpu", 65, HEADS, (32, 24), **options))
        assert error < 1e-5, (name, options)
    assert worst(check_stacked_commit(kernels, "cpu"))[1] < 1e-6


def test_results_go_where_they_are_wanted() -> None:
    case = DeltaCase.random(9, HEADS, DIMS, "cpu", seed=2)
    out, u, decay = torch.empty(9, 6, 5), torch.empty(9, 6, 5), torch.empty(9, 6)
    got, solution = tree_delta(*case.rows, case.tree.visible, case.state, out=out, u=u, decay=decay)
    assert got is out
    assert solution.u is u
    assert solution.decay is decay
    fresh, again = tree_delta(*case.rows, case.tree.visible, case.state)
    assert torch.equal(out, fresh)
    assert torch.equal(u, again.u)


def test_the_engine_needs_no_triton() -> None:
    """Importing every module of the package but the kernels themselves never imports Triton."""
    script = (
        "import sys; sys.modules['triton'] = None\n"
        "from engine.kernels import attention, backend, delta, delta_inputs, elementwise\n"
        "import torch; assert not backend.use_triton(torch.zeros(1))"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=240)
