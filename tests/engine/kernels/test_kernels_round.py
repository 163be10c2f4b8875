"""The twins of walk and commit against plain Python and the draft tree's own walk."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import dispatched, worst
from round_checks import (
    STEPS,
    RoundCase,
    check_append,
    check_close,
    check_rank,
    check_statistics,
    check_walk,
)

from engine.ddtree import follow_verified_tree
from engine.kernels.logits import row_statistics
from engine.kernels.walk import walk_tree

TYPES = [torch.float32, torch.bfloat16, torch.float64]


@given(
    st.integers(1, 40),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.6, 0.95, 1.0]),
    st.integers(1, STEPS + 1),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_a_walk_is_that_of_the_draft_tree(
    rows: int, seed: int, agrees: float, remaining: int, done: bool
) -> None:
    case = RoundCase.random(
        rows, "cpu", seed=seed, padding=seed % 3, agrees=agrees, remaining=remaining, done=done
    )
    got = walk_tree(case.choices, case.tree, case.is_node, case.text, STEPS)
    nodes, bonus = follow_verified_tree(case.tree.keep(case.is_node), case.choices[:rows])
    path = [0, *(node + 1 for node in nodes)]
    assert got.path.tolist() == path + [path[-1]] * (STEPS - len(path))
    assert (int(got.accepted), int(got.bonus)) == (len(nodes), bonus)
    tokens = [*case.tree.token_ids[nodes].tolist(), bonus]
    assert got.tokens.tolist() == tokens + [bonus] * (STEPS - len(tokens))
    # One token after the other, as the plain loop adds them.
    added, ended = [], done
    for token in tokens if not done else []:
        added.append(token)
        ended = token in case.text.stop_ids or len(added) == remaining
        if ended:
            break
    assert int(got.count) == len(added)
    assert bool(got.ended) == ended


@pytest.mark.parametrize("dtype", TYPES)
def test_statistics_ranks_and_records(dtype: torch.dtype) -> None:
    kernels = dispatched()
    for rows in (1, 9):
        for check in (check_statistics, check_close):
            name, error = worst(check(kernels, "cpu", rows, 120, dtype))
            assert error < 1e-6, (check.__name__, name)
    assert worst(check_rank(kernels, "cpu", 60, dtype))[1] == 0
    assert worst(check_append(kernels, "cpu", 12, dtype))[1] == 0
    assert worst(check_walk(kernels, "cpu", 30))[1] == 0


def test_statistics_in_float64_stay_so() -> None:
    logits = torch.randn(3, 50, dtype=torch.float64)
    got = row_statistics(logits)
    assert got.logsumexp.dtype == torch.float64
    assert torch.allclose(got.logsumexp, logits.logsumexp(-1), atol=1e-14, rtol=0)
