"""Kernels of what a gated-delta layer does before its solve."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.gated_delta import L2_EPSILON
from engine.kernels.delta_inputs import DeltaInputs
from engine.kernels.jit.launch import innermost_contiguous, on_device, packed, power_of_two


@triton.jit
def _convolve(
    inputs, window, parents, weight, bias, kept, rows, channels, input_row, window_row, R, C, wanted,
    K: tl.constexpr, HAS_BIAS: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """SiLU(Σ_t weight[c, t] x_t[c]) for rows × channels, from the row's own input back up the tree; with
    ``KEEP``, the row's own is left in ``kept``."""
    total = tl.zeros_like(wanted).to(tl.float32)
    # Places: 0..K-2 are the window's inputs, K-1 + r is row r's.
    place = rows + (K - 1)
    for back in tl.static_range(K):
        own = place >= K - 1
        fresh = tl.load(
            inputs + (place - (K - 1))[:, None] * input_row + channels[None, :],
            mask=wanted & own[:, None],
            other=0.0,
        )
        old = tl.load(
            window + place[:, None] * window_row + channels[None, :],
            mask=wanted & (place < K - 1)[:, None],
            other=0.0,
        )
        if KEEP and back == 0:
            tl.store(kept + rows[:, None] * C + channels[None, :], fresh, mask=wanted)
        x = tl.where(own[:, None], fresh, old.to(fresh.dtype)).to(tl.float32)
        tap = tl.load(weight + channels * K + (K - 1 - back), mask=channels < C, other=0.0).to(tl.float32)
        total += tap[None, :] * x
        if back < K - 1:
            parent = tl.load(parents + place - (K - 1), mask=own & (rows < R), other=0).to(tl.int32)
            place = tl.where(own, parent + (K - 1), place - 1)
    if HAS_BIAS:
        total += tl.load(bias + channels, mask=channels < C, other=0.0).to(tl.float32)[None, :]
    return total * tl.sigmoid(total)


@triton.jit
def _tree_conv(
    inputs, window, parents, weight, bias, out, input_row, window_row, R, C,
    K: tl.constexpr, HAS_BIAS: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    channels = tl.program_id(1) * BC + tl.arange(0, BC)
    wanted = (rows[:, None] < R) & (channels[None, :] < C)
    mixed = _convolve(
        inputs, window, parents, weight, bias, out, rows, channels, input_row, window_row, R, C, wanted,
        K, HAS_BIAS, False,
    )  # fmt: skip
    tl.store(out + rows[:, None] * C + channels[None, :], mixed.to(out.dtype.element_ty), mask=wanted)


@triton.jit
def _conv_window(
    window, inputs, path, count, out, window_layer, input_layer, input_row, C,
    KEPT: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    layer = tl.program_id(1).to(tl.int64)
    channels = tl.program_id(0) * BC + tl.arange(0, BC)
    known = channels < C
    n = tl.load(count)
    window += layer * window_layer
    out += layer * window_layer
    inputs += layer * input_layer
    # In place: oldest first, entry t comes from entry t + n or from the inputs, so nothing is read after it
    # was written; and one thread sees to one channel throughout.
    for t in tl.static_range(KEPT):
        place = t + n
        if place < KEPT:
            x = tl.load(window + place * C + channels, mask=known, other=0.0)
        else:
            row = tl.load(path + place - KEPT)
            x = tl.load(inputs + row * input_row + channels, mask=known, other=0.0).to(out.dtype.element_ty)
        tl.store(out + t * C + channels, x, mask=known)


@triton.jit
def _delta_inputs(
    mixed, window, parents, weight, bias, a, b, a_log, dt_bias, q, k, v, g, beta, kept,
    mixed_row, window_row, a_row, b_row, R, C, scale,
    HK: tl.constexpr, HV: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, K: tl.constexpr,
    HAS_BIAS: tl.constexpr, KEEP: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr, BHV: tl.constexpr,
    EPSILON: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    head = tl.program_id(1)
    if head < 2 * HK + HV:
        dims = tl.arange(0, BD)
        is_value = head >= 2 * HK
        width = tl.where(is_value, DV, DK)
        start = tl.where(is_value, 2 * HK * DK + (head - 2 * HK) * DV, head * DK)
        wanted = (rows[:, None] < R) & (dims[None, :] < width)
        x = _convolve(
            mixed, window, parents, weight, bias, kept, rows, start + dims, mixed_row, window_row, R, C,
            wanted, K, HAS_BIAS, KEEP,
        )  # fmt: skip
        # The convolution's result is rounded to the layer's type, as transformers does.
        x = tl.where(wanted, x.to(mixed.dtype.element_ty).to(tl.float32), 0.0)
        if is_value:
            place = (rows[:, None] * HV + head - 2 * HK) * DV + dims[None, :]
            tl.store(v + place, x.to(v.dtype.element_ty), mask=wanted)
        else:
            x *= tl.rsqrt(tl.sum(x * x, axis=1) + EPSILON)[:, None]
            if head < HK:
                tl.store(q + (rows[:, None] * HK + head) * DK + dims[None, :], x * scale, mask=wanted)
            else:
                tl.store(k + (rows[:, None] * HK + head - HK) * DK + dims[None, :], x, mask=wanted)
    else:
        heads = tl.arange(0, BHV)
        known = (rows[:, None] < R) & (heads[None, :] < HV)
        step = tl.load(a + rows[:, None] * a_row + heads[None, :], mask=known, other=0.0).to(tl.float32)
        step += tl.load(dt_bias + heads, mask=heads < HV, other=0.0).to(tl.float32)[None, :]
        rate = tl.exp(tl.load(a_log + heads, mask=heads < HV, other=0.0).to(tl.float32))
        # log(1 + e^step) without overflow, and without losing e^step of a small one to the 1.
        small = tl.exp(-tl.abs(step))
        log1p = tl.where(small < 1e-3, small * (1.0 - 0.5 * small), tl.log(1.0 + small))
        gates = rows[:, None] * HV + heads[None, :]
        tl.store(g + gates, -rate[None, :] * (tl.maximum(step, 0.0) + log1p), mask=known)
        y = tl.load(b + rows[:, None] * b_row + heads[None, :], mask=known, other=0.0)
        strength = tl.sigmoid(y.to(tl.float32)).to(b.dtype.element_ty)
        tl.store(beta + gates, strength.to(tl.float32), mask=known)


def tree_conv(
    inputs: Tensor,
    window: Tensor,
    parents: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """``engine.kernels.delta_inputs.tree_conv``."""
    R, C = inputs.shape
    innermost_contiguous(inputs, window)
    out = inputs.new_empty(R, C)
    BR, BC = min(16, power_of_two(R)), 128
    with on_device(inputs):
        _tree_conv[(triton.cdiv(R, BR), triton.cdiv(C, BC))](
            inputs, window, parents, weight.contiguous(), weight if bias is None else bias, out,
            inputs.stride(0), window.stride(0), R, C, weight.shape[1], bias is not None, BR, BC, num_warps=4,
        )  # fmt: skip
    return out


def conv_window(window: Tensor, inputs: Tensor, path: Tensor, count: Tensor, out: Tensor) -> Tensor:
    """``engine.kernels.delta_inputs.conv_window``."""
    KEPT, C = window.shape[-2:]
    stacked = window.ndim == 3
    innermost_contiguous(inputs)
    BC = min(512, power_of_two(C))
    with on_device(window):
        _conv_window[(triton.cdiv(C, BC), window.shape[0] if stacked else 1)](
            window, inputs, path, count, out, KEPT * C, inputs.stride(0) if stacked else 0,
            inputs.stride(-2), C, KEPT, BC, num_warps=4,
        )  # fmt: skip
    return out


def delta_inputs(
    mixed: Tensor,
    window: Tensor,
    parents: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    a: Tensor,
    b: Tensor,
    a_log: Tensor,
    dt_bias: Tensor,
    heads: tuple[int, int],
    dims: tuple[int, int],
    *,
    k: Tensor | None = None,
    kept: Tensor | None = None,
    together: int = 8,
    warps: int = 4,
) -> DeltaInputs:
    """``engine.kernels.delta_inputs.delta_inputs``.

    Args:
        together: rows of a program at most, a power of two.
    """
    (HK, HV), (DK, DV), (R, C) = heads, dims, mixed.shape
    innermost_contiguous(mixed, window, a, b)
    q = mixed.new_empty(R, HK, DK, dtype=torch.float32)
    k = torch.empty_like(q) if k is None else packed(k)
    v = mixed.new_empty(R, HV, DV)
    g, beta = mixed.new_empty(2, R, HV, dtype=torch.float32)
    BR = min(together, power_of_two(R))
    with on_device(mixed):
        _delta_inputs[(triton.cdiv(R, BR), 2 * HK + HV + 1)](
            mixed, window, parents, weight.contiguous(), weight if bias is None else bias, a, b, a_log,
            dt_bias, q, k, v, g, beta, mixed if kept is None else packed(kept),
            mixed.stride(0), window.stride(0), a.stride(0), b.stride(0), R, C, DK**-0.5,
            HK, HV, DK, DV, weight.shape[1], bias is not None, kept is not None, BR,
            power_of_two(max(DK, DV)), power_of_two(HV), L2_EPSILON, num_warps=warps,
        )  # fmt: skip
    return DeltaInputs(q, k, v, g, beta)
