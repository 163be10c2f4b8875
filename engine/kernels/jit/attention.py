"""Kernels of attention over a tree.

The query heads that share a key head are packed with the rows into one tall matrix, so that a key read once
serves them all. The columns (the committed text, then the tree) are split over programs; each leaves its
unnormalised share and the logarithm of its weight, and a second kernel joins them (flash decoding). The grid
is fixed; how many columns there are is read on the device, and programs beyond them end at once.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.attention import LayerBuffers
from engine.kernels.jit.launch import MIN_DOT, innermost_contiguous, multiprocessors, on_device, power_of_two

PRECISION = "tf32x3"
"""Of products of float32 inputs; bfloat16 and float16 are not concerned."""

MASKED = 32
"""Columns of a block that needs a mask; narrow, since masks take registers."""


@triton.jit
def _columns(length, R, splits, WINDOW: tl.constexpr, BN: tl.constexpr):
    """First column to look at, and columns per split, both multiples of BN."""
    first = 0
    if WINDOW > 0:
        first = tl.maximum(length - WINDOW + 1, 0) // BN * BN
    blocks = tl.cdiv(length + R - first, BN)
    return first, tl.cdiv(blocks, splits) * BN


@triton.jit
def _absorb(scores, v, best, weight, total, PRECISION: tl.constexpr):
    """One block of columns into the running softmax (base 2)."""
    highest = tl.maximum(best, tl.max(scores, axis=1))
    anchor = tl.where(highest == float("-inf"), 0.0, highest)  # a row may have seen nothing yet
    shrink = tl.exp2(best - anchor)
    shares = tl.exp2(scores - anchor[:, None])
    weight = weight * shrink + tl.sum(shares, axis=1)
    total = tl.dot(shares.to(v.dtype), v, total * shrink[:, None], input_precision=PRECISION)
    return highest, weight, total


@triton.jit
def _finish(total, gate, place, wanted, HAS_GATE: tl.constexpr, dtype: tl.constexpr):
    """The result in the layer's type, gated; rounded before the gate as transformers does."""
    total = total.to(dtype)
    if HAS_GATE:
        factor = tl.load(gate + place, mask=wanted, other=0.0).to(tl.float32)
        total = (total.to(tl.float32) * tl.sigmoid(factor).to(dtype).to(tl.float32)).to(dtype)
    return total


@triton.jit
def _attend(
    q, keys, values, length_at, visible, depths, sinks, gate, out, shares, weights,
    q_row, q_head, k_head, k_column, v_head, v_column, gate_row, gate_head, R, HQ, scale, splits,
    group: tl.constexpr, D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BT: tl.constexpr, WINDOW: tl.constexpr, ALONE: tl.constexpr, HAS_SINKS: tl.constexpr,
    HAS_GATE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    length = tl.load(length_at)
    split = tl.program_id(2)
    kv_head = tl.program_id(1)
    first, per_split = _columns(length, R, splits, WINDOW, BN)
    start = first + split * per_split
    stop = tl.minimum(start + per_split, length + R)
    if start >= stop:
        return
    packed = tl.program_id(0) * BM + tl.arange(0, BM)
    row = packed // group
    head = kv_head * group + packed % group
    dims = tl.arange(0, BD)
    wanted = (row[:, None] < R) & (dims[None, :] < D)
    q_m = tl.load(q + row[:, None] * q_row + head[:, None] * q_head + dims[None, :], mask=wanted, other=0.0)
    k_base = keys + kv_head.to(tl.int64) * k_head
    v_base = values + kv_head.to(tl.int64) * v_head
    best = tl.full([BM], float("-inf"), tl.float32)
    weight = tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, BD], tl.float32)

    text_end = length // BN * BN  # blocks before it hold committed text alone
    if WINDOW > 0:
        text_end = 0
    for column in range(start, tl.minimum(stop, text_end), BN):
        place = column + tl.arange(0, BN)
        if D == BD:
            k_n = tl.load(k_base + place[:, None] * k_column + dims[None, :])
            v_n = tl.load(v_base + place[:, None] * v_column + dims[None, :])
        else:
            inside = dims[None, :] < D
            k_n = tl.load(k_base + place[:, None] * k_column + dims[None, :], mask=inside, other=0.0)
            v_n = tl.load(v_base + place[:, None] * v_column + dims[None, :], mask=inside, other=0.0)
        scores = tl.dot(q_m, tl.trans(k_n), input_precision=PRECISION) * scale
        best, weight, total = _absorb(scores, v_n, best, weight, total, PRECISION)

    if WINDOW > 0:
        position = length + tl.load(depths + row, mask=row < R, other=0).to(tl.int32)
    for column in range(tl.maximum(start, text_end), stop, BT):
        place = column + tl.arange(0, BT)
        known = (place[:, None] < stop) & (dims[None, :] < D)
        k_n = tl.load(k_base + place[:, None] * k_column + dims[None, :], mask=known, other=0.0)
        v_n = tl.load(v_base + place[:, None] * v_column + dims[None, :], mask=known, other=0.0)
        node = place - length
        of_tree = (node >= 0) & (place < stop)
        seen = tl.load(
            visible + row[:, None] * R + node[None, :], mask=(row[:, None] < R) & of_tree[None, :], other=0
        )
        allowed = (seen != 0) | (node < 0)[None, :]
        if WINDOW > 0:
            depth = tl.load(depths + node, mask=of_tree, other=0).to(tl.int32)
            at = tl.where(node < 0, place, length + depth)
            allowed &= position[:, None] - at[None, :] < WINDOW
        scores = tl.dot(q_m, tl.trans(k_n), input_precision=PRECISION) * scale
        scores = tl.where(allowed, scores, float("-inf"))
        best, weight, total = _absorb(scores, v_n, best, weight, total, PRECISION)

    if ALONE:
        if HAS_SINKS:
            sink = tl.load(sinks + head, mask=row < R, other=0.0).to(tl.float32) * 1.4426950408889634
            highest = tl.maximum(best, sink)
            shrink = tl.exp2(best - highest)
            weight = weight * shrink + tl.exp2(sink - highest)
            total *= shrink[:, None]
        total /= tl.where(weight > 0.0, weight, 1.0)[:, None]
        gate_place = row[:, None] * gate_row + head[:, None] * gate_head + dims[None, :]
        result = _finish(total, gate, gate_place, wanted, HAS_GATE, out.dtype.element_ty)
        tl.store(out + (row[:, None] * HQ + head[:, None]) * D + dims[None, :], result, mask=wanted)
    else:
        line = (split * R + row) * HQ + head
        tl.store(shares + line[:, None] * D + dims[None, :], total, mask=wanted)
        tl.store(weights + 2 * line, best, mask=row < R)
        tl.store(weights + 2 * line + 1, weight, mask=row < R)


@triton.jit
def _join(
    length_at, shares, weights, sinks, gate, out, gate_row, gate_head, R, HQ, splits,
    D: tl.constexpr, BD: tl.constexpr, BN: tl.constexpr, BS: tl.constexpr, CHUNK: tl.constexpr,
    WINDOW: tl.constexpr, HAS_SINKS: tl.constexpr, HAS_GATE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(length_at)
    first, per_split = _columns(length, R, splits, WINDOW, BN)
    used = tl.cdiv(length + R - first, per_split)
    split = tl.arange(0, BS)
    line = (split * R + row) * HQ + head
    best = tl.load(weights + 2 * line, mask=split < used, other=float("-inf"))
    weight = tl.load(weights + 2 * line + 1, mask=split < used, other=0.0)
    highest = tl.max(best, axis=0)
    if HAS_SINKS:
        sink = tl.load(sinks + head).to(tl.float32) * 1.4426950408889634
        highest = tl.maximum(highest, sink)
    # Never -inf over all splits: a row sees itself.
    sum_of_weights = tl.sum(weight * tl.exp2(best - highest), axis=0)
    if HAS_SINKS:
        sum_of_weights += tl.exp2(sink - highest)
    dims = tl.arange(0, BD)
    total = tl.zeros([BD], tl.float32)
    for start in range(0, used, CHUNK):  # the loads of a chunk are under way together
        part = start + tl.arange(0, CHUNK)
        at = (part * R + row) * HQ + head
        known = (part < used)[:, None] & (dims < D)[None, :]
        share = tl.load(shares + at[:, None] * D + dims[None, :], mask=known, other=0.0)
        anchor = tl.load(weights + 2 * at, mask=part < used, other=float("-inf"))
        total += tl.sum(share * tl.exp2(anchor - highest)[:, None], axis=0)
    gate_place = row * gate_row + head * gate_head + dims
    result = _finish(total / sum_of_weights, gate, gate_place, dims < D, HAS_GATE, out.dtype.element_ty)
    tl.store(out + (row * HQ + head) * D + dims, result, mask=dims < D)


@triton.jit
def _kv_write(
    k, v, keys, values, length_at, k_row, k_head, v_row, v_head, keys_head, values_head, R, capacity,
    D: tl.constexpr, BD: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    length = tl.load(length_at)
    head = tl.program_id(1)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    dims = tl.arange(0, BD)
    wanted = (rows[:, None] < R) & (length + rows[:, None] < capacity) & (dims[None, :] < D)
    place = (length + rows[:, None]) * D + dims[None, :]
    x = tl.load(k + rows[:, None] * k_row + head * k_head + dims[None, :], mask=wanted, other=0.0)
    y = tl.load(v + rows[:, None] * v_row + head * v_head + dims[None, :], mask=wanted, other=0.0)
    tl.store(keys + head.to(tl.int64) * keys_head + place, x.to(keys.dtype.element_ty), mask=wanted)
    tl.store(values + head.to(tl.int64) * values_head + place, y.to(values.dtype.element_ty), mask=wanted)


@triton.jit
def _kv_commit(
    addresses, like, path, count, length_at, head_size,
    D: tl.constexpr, BD: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    n = tl.load(count)
    length = tl.load(length_at)
    buffer = tl.load(addresses + tl.program_id(1)).to(tl.pointer_type(like.dtype.element_ty))
    buffer = tl.multiple_of(buffer, 16)
    buffer += tl.program_id(0).to(tl.int64) * head_size
    dims = tl.arange(0, BD)
    # path[t] ≥ t and increases: a chunk of steps never overwrites what a later chunk reads, and within a
    # chunk the barrier keeps all reads before all writes.
    for start in range(0, n, BT):
        steps = start + tl.arange(0, BT)
        moved = (steps[:, None] < n) & (dims[None, :] < D)
        rows = tl.load(path + steps, mask=steps < n, other=0)
        x = tl.load(buffer + (length + rows)[:, None] * D + dims[None, :], mask=moved, other=0.0)
        tl.debug_barrier()
        tl.store(buffer + (length + steps)[:, None] * D + dims[None, :], x, mask=moved)
        tl.debug_barrier()


def tree_attention(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    length: Tensor,
    visible: Tensor,
    scale: float,
    *,
    depths: Tensor | None = None,
    window: int | None = None,
    sinks: Tensor | None = None,
    gate: Tensor | None = None,
    splits: int | None = None,
    shape: tuple[int, int, int, int] | None = None,
) -> Tensor:
    """``engine.kernels.attention.tree_attention``.

    Args:
        splits: most programs that share the columns of a head.
        shape: rows and columns of a block, warps, and blocks of columns under way at a time.
    """
    (R, HQ, D), HKV = q.shape, keys.shape[0]
    innermost_contiguous(q, keys, values, *([] if gate is None else [gate]))
    visible = visible.contiguous().view(torch.uint8)
    out = q.new_empty(R, HQ, D)
    group = HQ // HKV
    BD = max(MIN_DOT, power_of_two(D))
    BM, BN, warps, stages = shape or _shape(R * group, BD, q.element_size())
    tall = triton.cdiv(R * group, BM)
    if splits is None:
        splits = _splits(tall * HKV, BM, BD, keys.shape[1] if window is None else window + R, BN, q.device)
    alone = splits == 1
    shares = q.new_empty(0 if alone else splits * R * HQ * D, dtype=torch.float32)
    weights = q.new_empty(0 if alone else splits * R * HQ * 2, dtype=torch.float32)
    gate_strides = (0, 0) if gate is None else (gate.stride(0), gate.stride(1))
    flags = (sinks is not None, gate is not None)
    sinks, gate, depths = (q if x is None else x for x in (sinks, gate, depths))
    with on_device(q):
        _attend[(tall, HKV, splits)](
            q, keys, values, length, visible, depths, sinks, gate, out, shares, weights,
            q.stride(0), q.stride(1), keys.stride(0), keys.stride(1), values.stride(0), values.stride(1),
            *gate_strides, R, HQ, scale * math.log2(math.e), splits,
            group, D, BD, BM, BN, min(BN, MASKED), window or 0, alone, *flags, PRECISION,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip
        if not alone:
            _join[(R, HQ)](
                length, shares, weights, sinks, gate, out, *gate_strides, R, HQ, splits,
                D, BD, BN, power_of_two(splits), min(16, power_of_two(splits)), window or 0, *flags,
                num_warps=4 if BD > 128 else 2,
            )  # fmt: skip
    return out


def _shape(tall: int, width: int, itemsize: int) -> tuple[int, int, int, int]:
    """Rows and columns of a block, warps, and how many blocks of columns are under way at a time."""
    if itemsize == 4:
        return (16, 16, 4, 2) if width > 128 else (min(32, max(MIN_DOT, power_of_two(tall))), 32, 4, 2)
    if tall <= 32:  # bound by memory: many small loads under way
        return max(MIN_DOT, power_of_two(tall)), 64, 4, 3
    if tall <= 64:
        return 64, 64, 4, 3 if width <= 128 else 2
    return 128, 64 if width > 128 else 128, 8, 2


def _splits(others: int, tall: int, width: int, columns: int, block: int, device: torch.device) -> int:
    """So many that the multiprocessors are busy: one large tile each, or several small ones."""
    each = 1 if tall == 128 and width > 128 else 2 if tall >= 64 else 4
    return max(1, min(multiprocessors(device) * each // others, -(-columns // block), 128))


def kv_write(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, length: Tensor) -> None:
    """``engine.kernels.attention.kv_write``."""
    (R, HKV, D), capacity = k.shape, keys.shape[1]
    innermost_contiguous(k, v)
    _packed_columns(keys, values)
    BR = min(8, power_of_two(R))
    with on_device(k):
        _kv_write[(triton.cdiv(R, BR), HKV)](
            k, v, keys, values, length, k.stride(0), k.stride(1), v.stride(0), v.stride(1),
            keys.stride(0), values.stride(0), R, capacity, D, power_of_two(D), BR, num_warps=4,
        )  # fmt: skip


def kv_commit(layers: LayerBuffers, path: Tensor, count: Tensor, length: Tensor) -> None:
    """``engine.kernels.attention.kv_commit``."""
    like = layers.buffers[0]
    HKV, capacity, D = like.shape
    BT = min(16, power_of_two(path.shape[0]))
    with on_device(like):
        _kv_commit[(HKV, len(layers.buffers))](
            layers.addresses, like, path, count, length, capacity * D, D, power_of_two(D), BT, num_warps=4
        )


def _packed_columns(*buffers: Tensor) -> None:
    for buffer in buffers:
        if buffer.stride(2) != 1 or buffer.stride(1) != buffer.shape[2]:
            raise ValueError("the columns of a key or value buffer must follow one another")
