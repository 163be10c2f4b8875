"""The Triton kernels on the device, against their twins in float64."""

from __future__ import annotations

import pytest
import torch
from kernel_checks import (
    check_delta,
    check_elementwise,
    check_inputs,
    check_stacked_commit,
    dispatched,
    worst,
)
from round_checks import check_append, check_close, check_rank, check_statistics, check_walk
from tree_checks import check_broken_candidates, check_candidates, check_tree, check_whole_build

pytestmark = pytest.mark.gpu

KERNELS = dispatched()
COARSE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 6e-3}


@pytest.mark.parametrize("kind", ["usual", "alike", "decaying"])
@pytest.mark.parametrize("rows", [1, 2, 17, 65, 130, 257])
def test_tree_delta(rows: int, kind: str) -> None:
    name, error = worst(check_delta(KERNELS, "cuda", rows, (2, 6), (128, 128), kind=kind, padding=rows % 3))
    assert error < 1e-5, name


def test_commit_of_all_layers_at_once() -> None:
    assert worst(check_stacked_commit(KERNELS, "cuda"))[1] < 1e-5


@pytest.mark.parametrize("dtype", COARSE)
@pytest.mark.parametrize("rows", [1, 65])
def test_delta_inputs(rows: int, dtype: torch.dtype) -> None:
    name, error = worst(check_inputs(KERNELS, "cuda", rows, (2, 6), (128, 128), dtype=dtype))
    assert error < COARSE[dtype], name


@pytest.mark.parametrize("dtype", COARSE)
def test_elementwise(dtype: torch.dtype) -> None:
    name, error = worst(check_elementwise(KERNELS, "cuda", 65, dtype=dtype))
    assert error < COARSE[dtype], name


BUILDS = [(budget, 10_007) for budget in (1, 16, 64, 256, 1024)] + [(64, 151_936), (1024, 248_320)]


@pytest.mark.parametrize("dtype", COARSE)
@pytest.mark.parametrize(("budget", "vocab"), BUILDS)
def test_draft_trees(budget: int, vocab: int, dtype: torch.dtype) -> None:
    name, error = worst(check_candidates(KERNELS, "cuda", 15, vocab, budget, dtype=dtype))
    assert error < 1e-6, name
    name, error = worst(check_whole_build(KERNELS, "cuda", 15, vocab, budget, dtype=dtype))
    assert error == 0, name


@pytest.mark.parametrize("budget", [1, 16, 64, 256, 1024])
def test_draft_trees_within_limits(budget: int) -> None:
    name, error = worst(check_tree(KERNELS, "cuda", 15, 2000, budget, dtype=torch.bfloat16))
    assert error == 0, name
    name, error = worst(check_broken_candidates(KERNELS, "cuda", 2000, budget))
    assert error == 0, name


@pytest.mark.parametrize("dtype", COARSE)
@pytest.mark.parametrize(("rows", "vocab"), [(1, 248320), (65, 151936), (9, 4099), (1025, 9000)])
def test_statistics_and_ranks(rows: int, vocab: int, dtype: torch.dtype) -> None:
    name, error = worst(check_statistics(KERNELS, "cuda", rows, vocab, dtype))
    assert error < 1e-6, name
    assert worst(check_rank(KERNELS, "cuda", vocab, dtype))[1] == 0


@pytest.mark.parametrize("rows", [1, 2, 17, 65, 129, 1025])
def test_walk_and_the_end_of_a_round(rows: int) -> None:
    name, error = worst(check_walk(KERNELS, "cuda", rows))
    assert error == 0, name
    name, error = worst(check_close(KERNELS, "cuda", rows, 9000, torch.bfloat16))
    assert error == 0, name
    assert worst(check_append(KERNELS, "cuda", 25600, torch.bfloat16))[1] == 0
