"""Kernels that pass over rows of logits: every row in shares of the vocabulary, joined by a second kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.jit.launch import innermost_contiguous, on_device, power_of_two
from engine.kernels.logits import RowStatistics

SHARE = 4096
"""Entries of a row that a program reads."""


@triton.jit
def _row_shares(logits, ids, numbers, logits_row, R, V, S, BV: tl.constexpr):
    share = tl.program_id(0)
    row = tl.program_id(1)
    places = share * BV + tl.arange(0, BV)
    x = tl.load(logits + row.to(tl.int64) * logits_row + places, mask=places < V, other=-float("inf"))
    x = x.to(tl.float32)
    best = tl.max(x, axis=0)
    # No entry equals the best where all are NaN: V then.
    best_id = tl.min(tl.where(x == best, places, V), axis=0)
    second = tl.max(tl.where(places == best_id, -float("inf"), x), axis=0)
    # NaN reaches the sum even where the maximum passes over it.
    total = tl.sum(tl.exp(x - tl.where(best == -float("inf"), 0.0, best)), axis=0)
    place = row * S + share
    tl.store(ids + place, best_id)
    tl.store(numbers + place, best)
    tl.store(numbers + R * S + place, second)
    tl.store(numbers + 2 * R * S + place, total)


@triton.jit
def _row_join(ids, numbers, best_id_at, statistics, R, V, S, BS: tl.constexpr):
    row = tl.program_id(0)
    shares = tl.arange(0, BS)
    known = shares < S
    line = row * S + shares
    bests = tl.load(numbers + line, mask=known, other=-float("inf"))
    seconds = tl.load(numbers + R * S + line, mask=known, other=-float("inf"))
    totals = tl.load(numbers + 2 * R * S + line, mask=known, other=0.0)
    own_ids = tl.load(ids + line, mask=known, other=V)
    best = tl.max(bests, axis=0)
    best_id = tl.min(tl.where(bests == best, own_ids, V), axis=0)
    second = tl.max(tl.where(own_ids == best_id, seconds, bests), axis=0)
    shift = tl.where(best == -float("inf"), 0.0, best)
    total = tl.sum(totals * tl.exp(bests - shift), axis=0)
    tl.store(best_id_at + row, tl.minimum(best_id, V - 1))
    tl.store(statistics + row, best)
    tl.store(statistics + R + row, second)
    tl.store(statistics + 2 * R + row, shift + tl.log(total))


@triton.jit
def _count_better(logits, row_at, token_at, counts, logits_row, D, V, BV: tl.constexpr):
    share = tl.program_id(0)
    places = share * BV + tl.arange(0, BV)
    row = tl.minimum(tl.load(row_at), D - 1).to(tl.int64)
    token = tl.load(token_at)
    logits += row * logits_row
    score = tl.load(logits + token).to(tl.float32)
    x = tl.load(logits + places, mask=places < V, other=-float("inf")).to(tl.float32)
    better = (places < V) & ((x > score) | ((x == score) & (places < token)))
    tl.store(counts + share, tl.sum(better.to(tl.int32), axis=0))


def row_statistics(logits: Tensor, *, share: int = SHARE, warps: int = 4) -> RowStatistics:
    """``engine.kernels.logits.row_statistics``."""
    R, V = logits.shape
    innermost_contiguous(logits)
    S = triton.cdiv(V, share)
    ids = logits.new_empty(R, S, dtype=torch.int32)
    numbers = logits.new_empty(3, R, S, dtype=torch.float32)
    best_id = logits.new_empty(R, dtype=torch.int64)
    statistics = logits.new_empty(3, R, dtype=torch.float32)
    with on_device(logits):
        _row_shares[(S, R)](logits, ids, numbers, logits.stride(0), R, V, S, share, num_warps=warps)
        _row_join[(R,)](ids, numbers, best_id, statistics, R, V, S, power_of_two(S), num_warps=1)
    return RowStatistics(best_id, *statistics)


def count_better(logits: Tensor, row: Tensor, token: Tensor) -> Tensor:
    """``engine.kernels.logits.count_better``."""
    D, V = logits.shape
    innermost_contiguous(logits)
    counts = logits.new_empty(triton.cdiv(V, SHARE), dtype=torch.int32)
    with on_device(logits):
        _count_better[(len(counts),)](logits, row, token, counts, logits.stride(0), D, V, SHARE, num_warps=4)
    return counts
