from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ddtree import ancestors_or_self
from engine.gated_delta import CHUNK, DeltaRows, commit_path, run_chain, run_nodes, solve_tree


def random_rows(count: int, seed: int, dtype: torch.dtype, heads: int = 3) -> tuple[DeltaRows, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    q, k, v = draw(count, heads, 8), draw(count, heads, 8), draw(count, heads, 5)
    rows = DeltaRows(
        q=torch.nn.functional.normalize(q, dim=-1) * 8**-0.5,
        k=torch.nn.functional.normalize(k, dim=-1),
        v=v,
        g=-torch.nn.functional.softplus(3 * draw(count, heads)),
        beta=torch.sigmoid(draw(count, heads)),
    )
    columns = (x.to(dtype) for x in (rows.q, rows.k, rows.v, rows.g, rows.beta))
    return DeltaRows(*columns), draw(heads, 8, 5).to(dtype)


def random_parents(count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.tensor(
        [-1] + [int(torch.randint(0, row, (1,), generator=generator)) for row in range(1, count)]
    )


def path_to(parents: torch.Tensor, row: int) -> torch.Tensor:
    path = []
    while row >= 0:
        path.append(row)
        row = int(parents[row])
    return torch.tensor(path[::-1])


@given(st.integers(1, 70), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_tree_solve_equals_the_recurrence(count: int, seed: int) -> None:
    rows, state = random_rows(count, seed, torch.float64)
    parents = random_parents(count, seed)
    before = state.clone()
    out, solution = solve_tree(rows, ancestors_or_self(parents), state)
    expected, states = run_nodes(rows, parents, state)
    assert (out - expected).abs().max() < 1e-12
    for row in {0, count // 2, count - 1}:
        committed = commit_path(state, solution, path_to(parents, row))
        assert (committed - states[row]).abs().max() < 1e-12
    assert torch.equal(state, before)


def test_float32_is_as_good_as_float32_can_be() -> None:
    rows, state = random_rows(65, 3, torch.float32, heads=48)
    parents = random_parents(65, 3)
    out, _ = solve_tree(rows, ancestors_or_self(parents), state)
    wide = DeltaRows(*(x.double() for x in (rows.q, rows.k, rows.v, rows.g, rows.beta)))
    expected, _ = run_nodes(wide, parents, state.double())
    assert (out - expected).norm() / expected.norm() < 1e-6


def test_strong_decay_on_a_long_path_does_not_overflow() -> None:
    """e^{-G_j} alone would be e^{3000}."""
    rows, state = random_rows(60, 4, torch.float32)
    rows = DeltaRows(rows.q, rows.k, rows.v, torch.full_like(rows.g, -50.0), rows.beta)
    chain = ancestors_or_self(torch.arange(60) - 1)
    out, solution = solve_tree(rows, chain, state)
    expected, states = run_nodes(rows, torch.arange(60) - 1, state)
    assert torch.isfinite(out).all()
    assert torch.allclose(out, expected, atol=1e-6)
    assert torch.allclose(commit_path(state, solution, torch.arange(60)), states[-1], atol=1e-6)


def test_a_branch_is_blind_to_its_siblings() -> None:
    rows, state = random_rows(3, 5, torch.float64)
    parents = torch.tensor([-1, 0, 0])
    out, _ = solve_tree(rows, ancestors_or_self(parents), state)
    changed = DeltaRows(rows.q, rows.k.clone(), rows.v.clone(), rows.g, rows.beta)
    changed.k[1], changed.v[1] = changed.k[0], -7.0
    after, _ = solve_tree(changed, ancestors_or_self(parents), state)
    assert torch.equal(out[2], after[2])
    assert not torch.allclose(out[1], after[1])


@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_chain_in_chunks_equals_the_recurrence(count: int) -> None:
    rows, state = random_rows(count, 6, torch.float64)
    out, last = run_chain(rows, state)
    expected, states = run_nodes(rows, torch.arange(count) - 1, state)
    assert (out - expected).abs().max() < 1e-11
    assert (last - states[-1]).abs().max() < 1e-11
