"""Kernels of a mixture of experts.

A pair is a row and one of its experts, numbered row · top_k + place. Each expert gets a list of its pairs
(``_group``); then one program per expert and tile of its weights serves that list, ``BM`` pairs at a time,
and ends at once where the list is empty. A single row needs no lists: its pairs are the experts to visit.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.experts import ExpertWeights
from engine.kernels.jit.launch import MIN_DOT, innermost_contiguous, on_device, packed, power_of_two

PRECISION = "tf32x3"
"""Of products of float32 inputs; bfloat16 and float16 are not concerned."""

Shape = tuple[int, int, int, int]
"""Columns of a tile of weights, steps along the inner dimension, warps and stages."""


@triton.jit
def _route(
    logits, chosen, weights, logits_row, E,
    K: tl.constexpr, BK: tl.constexpr, BE: tl.constexpr, NORMALISE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    ids = tl.arange(0, BE)
    places = tl.arange(0, BK)
    left = tl.load(logits + row * logits_row + ids, mask=ids < E, other=float("-inf")).to(tl.float32)
    highest = tl.max(left, axis=0)
    total = tl.sum(tl.exp(left - highest), axis=0)
    best = tl.full([BK], float("-inf"), tl.float32)
    best_ids = tl.zeros([BK], tl.int32)
    for place in tl.static_range(K):
        value, at = tl.max(left, axis=0, return_indices=True)
        at = tl.minimum(at, E - 1)  # where logits are NaN there is no best: any expert will do
        best = tl.where(places == place, value, best)
        best_ids = tl.where(places == place, at, best_ids)
        left = tl.where(ids == at, float("-inf"), left)
    shares = tl.exp(best - highest)
    if NORMALISE:
        total = tl.sum(shares, axis=0)
    tl.store(chosen + row * K + places, best_ids, mask=places < K)
    tl.store(weights + row * K + places, (shares / total).to(weights.dtype.element_ty), mask=places < K)


@triton.jit
def _group(chosen, lists, counts, P, R, BP: tl.constexpr):
    """The pairs of one expert in ascending order; at most R, as a row has an expert once."""
    expert = tl.program_id(0)
    found = 0
    for first in range(0, P, BP):
        pair = first + tl.arange(0, BP)
        mine = tl.load(chosen + pair, mask=pair < P, other=-1) == expert
        place = found + tl.cumsum(mine.to(tl.int32), axis=0) - 1
        tl.store(lists + expert * R + place, pair, mask=mine & (place < R))
        found += tl.sum(mine.to(tl.int32), axis=0)
    tl.store(counts + expert, tl.minimum(found, R))


@triton.jit
def _visit(chosen, counts, slot, ALONE: tl.constexpr):
    """The expert of a program and how many pairs it has."""
    if ALONE:
        return tl.load(chosen + slot).to(tl.int64), 1
    return slot.to(tl.int64), tl.load(counts + slot)


@triton.jit
def _pairs(lists, slot, first, count, R, BM: tl.constexpr, ALONE: tl.constexpr):
    """Pairs ``first``, … of a program's list, and which of them there are."""
    place = first + tl.arange(0, BM)
    if ALONE:
        return slot + 0 * place, place < count
    return tl.load(lists + slot * R + place, mask=place < count, other=0), place < count


@triton.jit
def _product(
    a, a_known, w, w_known, w_inner,
    INNER: tl.constexpr, BM: tl.constexpr, BW: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Rows at ``a`` (BM,) times columns at ``w`` (BW,), ``w_inner`` apart within: float32 (BM, BW)."""
    total = tl.zeros([BM, BW], tl.float32)
    for first in range(0, INNER, BK):
        inner = first + tl.arange(0, BK)
        if INNER % BK == 0:
            a_mk = tl.load(a[:, None] + inner[None, :], mask=a_known[:, None], other=0.0)
            w_kn = tl.load(w[None, :] + inner[:, None] * w_inner, mask=w_known[None, :], other=0.0)
        else:
            inside = inner < INNER
            a_mk = tl.load(a[:, None] + inner[None, :], mask=a_known[:, None] & inside[None, :], other=0.0)
            w_kn = tl.load(
                w[None, :] + inner[:, None] * w_inner, mask=w_known[None, :] & inside[:, None], other=0.0
            )
        total = tl.dot(a_mk, w_kn, total, input_precision=PRECISION)
    return total


@triton.jit
def _gate_up(
    x, chosen, lists, counts, gate_up, bias, out, expert_stride, column_stride, inner_stride, R, limit, slope,
    K: tl.constexpr, H: tl.constexpr, W: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ALONE: tl.constexpr, CLAMPED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    slot = tl.program_id(1)
    expert, count = _visit(chosen, counts, slot, ALONE)
    start = tl.program_id(0) * BN
    # Gate and up of one place side by side, whatever their order in memory.
    turn = tl.arange(0, 2 * BN)
    if CLAMPED:
        column = 2 * start + turn
        known = column < 2 * W
    else:
        column = start + turn // 2 + turn % 2 * W
        known = start + turn // 2 < W
    w = gate_up + expert * expert_stride + column * column_stride
    place = start + tl.arange(0, BN)
    dtype: tl.constexpr = out.dtype.element_ty
    for first in range(0, count, BM):
        pair, there = _pairs(lists, slot, first, count, R, BM, ALONE)
        both = _product(x + pair // K * H, there, w, known, inner_stride, H, BM, 2 * BN, BK, PRECISION)
        both = both.to(dtype).to(tl.float32)
        if CLAMPED:
            added = tl.load(bias + expert * 2 * W + column, mask=known, other=0.0).to(tl.float32)
            both = (both + added[None, :]).to(dtype).to(tl.float32)
        gate, up = tl.split(tl.reshape(both, (BM, BN, 2)))
        if CLAMPED:
            gate = tl.minimum(gate, limit)
            up = (tl.minimum(tl.maximum(up, -limit), limit) + 1).to(dtype).to(tl.float32)
            opened = tl.sigmoid((gate * slope).to(dtype).to(tl.float32)).to(dtype).to(tl.float32)
            active = (gate * opened).to(dtype).to(tl.float32)
        else:
            active = (gate * tl.sigmoid(gate)).to(dtype).to(tl.float32)
        where = out + pair[:, None] * W + place[None, :]
        tl.store(where, (active * up).to(dtype), mask=there[:, None] & (place < W)[None, :])


@triton.jit
def _down(
    x, chosen, lists, counts, weights, down, bias, out, expert_stride, column_stride, inner_stride, R,
    H: tl.constexpr, W: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ALONE: tl.constexpr, HAS_BIAS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """What an expert gives its pairs, times their weights."""
    slot = tl.program_id(1)
    expert, count = _visit(chosen, counts, slot, ALONE)
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    known = column < H
    w = down + expert * expert_stride + column * column_stride
    dtype: tl.constexpr = out.dtype.element_ty
    for first in range(0, count, BM):
        pair, there = _pairs(lists, slot, first, count, R, BM, ALONE)
        given = _product(x + pair * W, there, w, known, inner_stride, W, BM, BN, BK, PRECISION)
        given = given.to(dtype).to(tl.float32)
        if HAS_BIAS:
            added = tl.load(bias + expert * H + column, mask=known, other=0.0).to(tl.float32)
            given = (given + added[None, :]).to(dtype).to(tl.float32)
        weight = tl.load(weights + pair, mask=there, other=0.0).to(tl.float32)
        where = out + pair[:, None] * H + column[None, :]
        tl.store(where, (given * weight[:, None]).to(dtype), mask=there[:, None] & known[None, :])


@triton.jit
def _combine(
    given, x, shared, gate, out, H,
    K: tl.constexpr, BH: tl.constexpr, BX: tl.constexpr, HAS_SHARED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    dims = tl.program_id(1) * BH + tl.arange(0, BH)
    dtype: tl.constexpr = out.dtype.element_ty
    total = tl.zeros([BH], tl.float32)
    for place in tl.static_range(K):
        total += tl.load(given + (row * K + place) * H + dims, mask=dims < H, other=0.0).to(tl.float32)
    if HAS_SHARED:
        inner = tl.arange(0, BX)
        rows = tl.load(x + row * H + inner, mask=inner < H, other=0.0).to(tl.float32)
        opened = tl.sum(rows * tl.load(gate + inner, mask=inner < H, other=0.0).to(tl.float32), axis=0)
        opened = tl.sigmoid(opened.to(dtype).to(tl.float32)).to(dtype).to(tl.float32)
        more = tl.load(shared + row * H + dims, mask=dims < H, other=0.0).to(tl.float32)
        total = total.to(dtype).to(tl.float32) + (opened * more).to(dtype).to(tl.float32)
    tl.store(out + row * H + dims, total.to(dtype), mask=dims < H)


def route(logits: Tensor, top_k: int, *, normalise: bool) -> tuple[Tensor, Tensor]:
    """``engine.kernels.experts.route``."""
    R, E = logits.shape
    innermost_contiguous(logits)
    chosen = torch.empty((R, top_k), dtype=torch.int32, device=logits.device)
    weights = logits.new_empty(R, top_k)
    with on_device(logits):
        _route[(R,)](
            logits, chosen, weights, logits.stride(0), E,
            top_k, power_of_two(top_k), power_of_two(E), normalise, num_warps=1,
        )  # fmt: skip
    return chosen, weights


def experts(
    x: Tensor,
    chosen: Tensor,
    weights: Tensor,
    of: ExpertWeights,
    *,
    shared: Tensor | None = None,
    shared_gate: Tensor | None = None,
    shapes: tuple[Shape, Shape] | None = None,
) -> Tensor:
    """``engine.kernels.experts.experts``.

    Args:
        shapes: of the products with gate and up, and with down.
    """
    (R, H), K, E = x.shape, chosen.shape[1], of.down.shape[0]
    clamped = of.clamp is not None
    W = of.gate_up.shape[2 if clamped else 1] // 2
    innermost_contiguous(of.gate_up, of.down)
    BM = max(MIN_DOT, min(64, power_of_two(2 * R * K // E)))
    usual = 64, 128 if x.element_size() <= 2 else 64, 4, 4 if BM == MIN_DOT else 3
    (BU, BH, up_warps, up_stages), (BD, BW, down_warps, down_stages) = shapes or (usual, usual)
    given, active, out = x.new_empty(R * K, H), x.new_empty(R * K, W), torch.empty_like(x)
    limit, slope = of.clamp or (0.0, 0.0)
    with on_device(x):
        lists, counts = (chosen, chosen) if R == 1 else _lists(chosen, E)
        visits = (packed(chosen), lists, counts)
        slots = K if R == 1 else E
        BU, BH = _tile(W, BU // 2), _tile(H, BH)
        _gate_up[(triton.cdiv(W, BU), slots)](
            packed(x), *visits, of.gate_up, x if of.gate_up_bias is None else of.gate_up_bias, active,
            *_strides(of.gate_up, clamped), R, limit, slope, K, H, W, BM, BU, BH,
            R == 1, clamped, PRECISION, num_warps=up_warps, num_stages=up_stages,
        )  # fmt: skip
        BD, BW = _tile(H, BD), _tile(W, BW)
        _down[(triton.cdiv(H, BD), slots)](
            active, *visits, packed(weights), of.down, x if of.down_bias is None else of.down_bias, given,
            *_strides(of.down, clamped), R, H, W, BM, BD, BW,
            R == 1, of.down_bias is not None, PRECISION, num_warps=down_warps, num_stages=down_stages,
        )  # fmt: skip
        BC = min(512, power_of_two(H))
        more, opened = (x if part is None else packed(part) for part in (shared, shared_gate))
        _combine[(R, triton.cdiv(H, BC))](
            given, x, more, opened, out, H, K, BC, power_of_two(H), shared is not None, num_warps=4
        )
    return out


def _lists(chosen: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Per expert its pairs (E, R) and how many they are (E,), int32."""
    rows, pairs = chosen.shape[0], chosen.numel()
    lists, counts = chosen.new_empty(count, rows), chosen.new_empty(count)
    BP = min(1024, power_of_two(pairs))
    _group[(count,)](chosen, lists, counts, pairs, rows, BP, num_warps=max(1, BP // 256))
    return lists, counts


def _strides(weight: Tensor, transposed: bool) -> tuple[int, int, int]:
    """Steps from expert to expert, output to output and input to input."""
    expert, outer, inner = weight.stride()
    return (expert, inner, outer) if transposed else (expert, outer, inner)


def _tile(size: int, most: int) -> int:
    return max(MIN_DOT, min(most, power_of_two(size)))
