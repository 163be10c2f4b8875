"""The Triton kernels, on the CPU, against their twins in float64."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import (
    check_attention,
    check_delta,
    check_elementwise,
    check_inputs,
    check_stacked_commit,
    triton_kernels,
    worst,
)
from round_checks import check_append, check_close, check_rank, check_statistics, check_walk
from tree_checks import check_broken_candidates, check_candidates, check_tree, check_whole_build

KERNELS = triton_kernels()
HEADS, DIMS = (1, 2), (24, 40)


@pytest.mark.parametrize("rows", [1, 2, 16, 17, 18, 65, 66, 130])
def test_tree_delta(rows: int) -> None:
    name, error = worst(check_delta(KERNELS, "cpu", rows, HEADS, DIMS, seed=rows))
    assert error < 5e-6, name


@pytest.mark.parametrize("rows", [16, 100])
def test_tree_delta_of_a_chain(rows: int) -> None:
    name, error = worst(check_delta(KERNELS, "cpu", rows, HEADS, DIMS, seed=rows, reach=1))
    assert error < 5e-6, name


def test_tree_delta_of_a_large_tree() -> None:
    name, error = worst(check_delta(KERNELS, "cpu", 257, (1, 1), (16, 16), seed=1))
    assert error < 5e-6, name


def test_tree_delta_of_keys_read_in_steps() -> None:
    name, error = worst(check_delta(KERNELS, "cpu", 70, (1, 1), (80, 16), seed=1))
    assert error < 5e-6, name


@pytest.mark.parametrize("tiles", [(32, 16, 16, 32), (16, 32, 32, 16)])
def test_tree_delta_launched_otherwise(tiles: tuple[int, ...]) -> None:
    kernels = SimpleNamespace(**vars(KERNELS) | {"tree_delta": partial(KERNELS.tree_delta, tiles=tiles)})
    name, error = worst(check_delta(kernels, "cpu", 150, HEADS, DIMS, seed=1))
    assert error < 5e-6, name


@pytest.mark.parametrize("rows", [12, 40, 130])
def test_tree_delta_of_a_bfloat16_model(rows: int) -> None:
    name, error = worst(check_delta(KERNELS, "cpu", rows, HEADS, DIMS, seed=rows, dtype=torch.bfloat16))
    assert error < 1e-5, name


@pytest.mark.parametrize("kind", ["alike", "decaying"])
@pytest.mark.parametrize("rows", [15, 40, 100, 200])
def test_tree_delta_stays_exact_where_shortcuts_fail(kind: str, rows: int) -> None:
    name, error = worst(check_delta(KERNELS, "cpu", rows, HEADS, DIMS, seed=2, kind=kind))
    assert error < 1e-5, name


@pytest.mark.parametrize(("rows", "padding"), [(1, 30), (4, 12), (20, 30), (65, 30)])
def test_padding_does_not_reach_the_tree(rows: int, padding: int) -> None:
    name, error = worst(check_delta(KERNELS, "cpu", rows, HEADS, DIMS, seed=3, padding=padding))
    assert error < 5e-6, name


def test_commit_of_all_layers_at_once() -> None:
    assert worst(check_stacked_commit(KERNELS, "cpu"))[1] < 5e-6


@pytest.mark.parametrize(
    ("rows", "taps", "bias"), [(1, 4, False), (2, 4, True), (17, 4, False), (65, 3, True)]
)
def test_delta_inputs(rows: int, taps: int, bias: bool) -> None:
    name, error = worst(check_inputs(KERNELS, "cpu", rows, (2, 4), (12, 20), taps=taps, bias=bias, seed=rows))
    assert error < 1e-6, name


@pytest.mark.parametrize("rows", [1, 2, 17, 33])
@pytest.mark.parametrize(
    "options",
    [
        {"splits": 3},
        {"splits": 1, "sinks": True},
        {"splits": 4, "sinks": True, "gate": True, "window": 9},
        {"splits": 2, "window": 50},
        {"splits": 1, "gate": True},
    ],
    ids=lambda options: "-".join(options),
)
def test_tree_attention(rows: int, options: dict[str, Any]) -> None:
    name, error = worst(check_attention(KERNELS, "cpu", rows, (3, 1), 24, 77, seed=rows, **options))
    assert error < 1e-6, name


@pytest.mark.parametrize("length", [0, 1, 31, 32, 64, 65])
def test_tree_attention_at_every_border_of_a_block(length: int) -> None:
    name, error = worst(check_attention(KERNELS, "cpu", 3, (2, 2), 16, length, splits=2))
    assert error < 1e-6, name


def test_tree_attention_joins_many_splits() -> None:
    name, error = worst(check_attention(KERNELS, "cpu", 2, (2, 1), 16, 700, splits=24, gate=True))
    assert error < 1e-6, name


def test_tree_attention_in_half_precision() -> None:
    errors = check_attention(KERNELS, "cpu", 5, (2, 1), 32, 70, dtype=torch.float16, splits=2)
    assert worst(errors)[1] < 2e-3


@pytest.mark.parametrize("rows", [1, 7])
def test_elementwise(rows: int) -> None:
    name, error = worst(check_elementwise(KERNELS, "cpu", rows))
    assert error < 1e-6, name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("vocab", "count"), [(8, 1), (8, 64), (17, 16), (1000, 1), (1003, 16), (4097, 64), (5000, 3), (70, 70)]
)
def test_candidates(vocab: int, count: int, dtype: torch.dtype) -> None:
    name, error = worst(check_candidates(KERNELS, "cpu", 6, vocab, count, dtype=dtype, seed=count))
    assert error < 1e-6, name


def test_as_many_candidates_as_the_largest_budget() -> None:
    assert worst(check_candidates(KERNELS, "cpu", 2, 20_011, 1024, dtype=torch.bfloat16))[1] < 1e-6


@pytest.mark.parametrize(("vocab", "count"), [(10, 10), (999, 20)])
def test_broken_candidates(vocab: int, count: int) -> None:
    name, error = worst(check_broken_candidates(KERNELS, "cpu", vocab, count))
    assert error == 0, name


@pytest.mark.parametrize("seed", range(12))
def test_trees(seed: int) -> None:
    depths, vocab, places = (1, 2, 5, 15)[seed % 4], (8, 30, 200)[seed % 3], (1, 2, 15, 16, 17, 33)[seed % 6]
    name, error = worst(check_tree(KERNELS, "cpu", depths, vocab, places, seed=seed))
    assert error == 0, name


@given(st.integers(0, 10**6), st.integers(1, 15), st.integers(1, 60), st.integers(1, 20))
@settings(max_examples=20, deadline=None)
def test_trees_from_the_kernels_own_candidates(seed: int, depths: int, vocab: int, places: int) -> None:
    name, error = worst(check_whole_build(KERNELS, "cpu", depths, vocab, places, seed=seed))
    assert error == 0, name


def test_the_largest_tree() -> None:
    name, error = worst(check_whole_build(KERNELS, "cpu", 3, 1500, 1024, dtype=torch.bfloat16))
    assert error == 0, name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_statistics_and_ranks(dtype: torch.dtype) -> None:
    for rows, vocab in ((1, 3), (6, 4096), (9, 9000)):
        name, error = worst(check_statistics(KERNELS, "cpu", rows, vocab, dtype))
        assert error < 1e-6, (name, rows, vocab)
    assert worst(check_rank(KERNELS, "cpu", 9000, dtype))[1] == 0


@pytest.mark.parametrize("rows", [1, 2, 17, 65, 140])
def test_walk(rows: int) -> None:
    name, error = worst(check_walk(KERNELS, "cpu", rows))
    assert error == 0, name


@pytest.mark.parametrize("rows", [1, 2, 17, 140])
def test_the_end_of_a_round(rows: int) -> None:
    name, error = worst(check_close(KERNELS, "cpu", rows, 300, torch.bfloat16))
    assert error == 0, name
    assert worst(check_append(KERNELS, "cpu", 2100, torch.float32))[1] == 0
