"""Kernels of the small operations of every layer: one program per row, or per row and head."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.jit.launch import innermost_contiguous, on_device, power_of_two


@triton.jit
def _scaled(x, factor, weight, ONE_PLUS: tl.constexpr, dtype: tl.constexpr):
    """The product x · factor · weight, rounded to ``dtype`` where transformers rounds; float32."""
    w = weight.to(tl.float32)
    if ONE_PLUS:
        return (x * factor * (1.0 + w)).to(dtype).to(tl.float32)
    return ((x * factor).to(dtype).to(tl.float32) * w).to(dtype).to(tl.float32)


@triton.jit
def _rms_norm(
    x, residual, weight, out, total, x_row, residual_row, eps,
    D: tl.constexpr, BD: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ONE_PLUS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    dims = tl.arange(0, BD)
    dtype: tl.constexpr = out.dtype.element_ty
    # Everything is asked for before anything is waited for: most of the time here is latency.
    w = tl.load(weight + dims, mask=dims < D, other=0.0)
    value = tl.load(x + row * x_row + dims, mask=dims < D, other=0.0).to(tl.float32)
    if HAS_RESIDUAL:
        value += tl.load(residual + row * residual_row + dims, mask=dims < D, other=0.0).to(tl.float32)
        value = value.to(dtype).to(tl.float32)
        tl.store(total + row * D + dims, value.to(dtype), mask=dims < D)
    factor = tl.rsqrt(tl.sum(value * value, axis=0) / D + eps)
    result = _scaled(value, factor, w, ONE_PLUS, dtype)
    tl.store(out + row * D + dims, result.to(dtype), mask=dims < D)


@triton.jit
def _gated_rms_norm(
    x, gate, weight, out, x_row, x_head, gate_row, gate_head, heads, eps,
    D: tl.constexpr, BD: tl.constexpr, BH: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    head = (tl.program_id(1) * BH + tl.arange(0, BH))[:, None]
    dims = tl.arange(0, BD)[None, :]
    wanted = (head < heads) & (dims < D)
    dtype: tl.constexpr = out.dtype.element_ty
    w = tl.load(weight + dims, mask=dims < D, other=0.0)
    z = tl.load(gate + row * gate_row + head * gate_head + dims, mask=wanted, other=0.0).to(tl.float32)
    value = tl.load(x + row * x_row + head * x_head + dims, mask=wanted, other=0.0)
    value = value.to(dtype).to(tl.float32)
    factor = tl.rsqrt(tl.sum(value * value, axis=1) / D + eps)
    normed = _scaled(value, factor[:, None], w, False, dtype)
    result = normed * (z * tl.sigmoid(z))
    tl.store(out + (row * heads + head) * D + dims, result.to(dtype), mask=wanted)


@triton.jit
def _swiglu(gate, up, out, gate_row, up_row, width, BW: tl.constexpr):
    row = tl.program_id(0)
    places = tl.program_id(1) * BW + tl.arange(0, BW)
    dtype: tl.constexpr = out.dtype.element_ty
    z = tl.load(gate + row * gate_row + places, mask=places < width, other=0.0).to(tl.float32)
    y = tl.load(up + row * up_row + places, mask=places < width, other=0.0).to(tl.float32)
    active = (z * tl.sigmoid(z)).to(dtype).to(tl.float32)
    tl.store(out + row * width + places, (active * y).to(dtype), mask=places < width)


@triton.jit
def _rotary_angles(start, offsets, frequencies, cos, sin, scaling, HALF: tl.constexpr, BD: tl.constexpr):
    row = tl.program_id(0)
    dims = tl.arange(0, BD)
    dtype: tl.constexpr = cos.dtype.element_ty
    position = (tl.load(start) + tl.load(offsets + row)).to(tl.float32)
    angle = position * tl.load(frequencies + dims, mask=dims < HALF, other=0.0)
    tl.store(cos + row * HALF + dims, (tl.cos(angle) * scaling).to(dtype), mask=dims < HALF)
    tl.store(sin + row * HALF + dims, (tl.sin(angle) * scaling).to(dtype), mask=dims < HALF)


@triton.jit
def _rotated(
    x, cos, sin, weight, row, dims, eps,
    D: tl.constexpr, HALF: tl.constexpr, HAS_WEIGHT: tl.constexpr, ONE_PLUS: tl.constexpr,
    dtype: tl.constexpr,
):  # fmt: skip
    """One head at ``x``, normed and turned: float32."""
    turned = dims < 2 * HALF
    partner = tl.where(turned, tl.where(dims < HALF, dims + HALF, dims - HALF), dims)
    own = tl.load(x + dims, mask=dims < D, other=0.0).to(tl.float32)
    other = tl.load(x + partner, mask=dims < D, other=0.0).to(tl.float32)
    angle = row * HALF + dims % HALF
    c = tl.load(cos + angle, mask=turned, other=1.0).to(tl.float32)
    s = tl.load(sin + angle, mask=turned, other=0.0).to(tl.float32)
    if HAS_WEIGHT:
        own_weight = tl.load(weight + dims, mask=dims < D, other=0.0)
        other_weight = tl.load(weight + partner, mask=dims < D, other=0.0)
        factor = tl.rsqrt(tl.sum(own * own, axis=0) / D + eps)
        own = _scaled(own, factor, own_weight, ONE_PLUS, dtype)
        other = _scaled(other, factor, other_weight, ONE_PLUS, dtype)
    return own * c + tl.where(dims < HALF, -other, other) * s


@triton.jit
def _rotate_heads(
    x, cos, sin, weight, out, x_row, x_head, out_row, out_head, eps,
    D: tl.constexpr, BD: tl.constexpr, HALF: tl.constexpr, HAS_WEIGHT: tl.constexpr, ONE_PLUS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    head = tl.program_id(1)
    dims = tl.arange(0, BD)
    dtype: tl.constexpr = x.dtype.element_ty
    value = _rotated(
        x + row * x_row + head * x_head,
        cos,
        sin,
        weight,
        row,
        dims,
        eps,
        D,
        HALF,
        HAS_WEIGHT,
        ONE_PLUS,
        dtype,
    )
    place = out + row * out_row + head * out_head + dims
    tl.store(place, value.to(out.dtype.element_ty), mask=dims < D)


@triton.jit
def _attention_inputs(
    q, k, v, cos, sin, q_weight, k_weight, out, keys, values, length_at,
    q_row, q_head, k_row, k_head, v_row, v_head, keys_head, values_head, HQ, HKV, capacity, eps,
    D: tl.constexpr, BD: tl.constexpr, HALF: tl.constexpr, HAS_WEIGHT: tl.constexpr, ONE_PLUS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    head = tl.program_id(1)
    dims = tl.arange(0, BD)
    dtype: tl.constexpr = q.dtype.element_ty
    if head < HQ:
        query = _rotated(
            q + row * q_row + head * q_head, cos, sin, q_weight, row, dims, eps,
            D, HALF, HAS_WEIGHT, ONE_PLUS, dtype,
        )  # fmt: skip
        tl.store(out + (row * HQ + head) * D + dims, query.to(dtype), mask=dims < D)
    else:
        column = tl.load(length_at) + row
        kept = (dims < D) & (column + 0 * dims < capacity)
        if head < HQ + HKV:
            head -= HQ
            key = _rotated(
                k + row * k_row + head * k_head, cos, sin, k_weight, row, dims, eps,
                D, HALF, HAS_WEIGHT, ONE_PLUS, dtype,
            )  # fmt: skip
            place = keys + head.to(tl.int64) * keys_head + column * D + dims
            tl.store(place, key.to(keys.dtype.element_ty), mask=kept)
        else:
            head -= HQ + HKV
            value = tl.load(v + row * v_row + head * v_head + dims, mask=dims < D, other=0.0)
            place = values + head.to(tl.int64) * values_head + column * D + dims
            tl.store(place, value.to(values.dtype.element_ty), mask=kept)


def rms_norm(
    x: Tensor,
    weight: Tensor,
    eps: float,
    *,
    residual: Tensor | None = None,
    one_plus: bool = False,
) -> tuple[Tensor, Tensor]:
    """``engine.kernels.elementwise.rms_norm``."""
    R, D = x.shape
    innermost_contiguous(x)
    out = x.new_empty(R, D)
    total = x if residual is None else x.new_empty(R, D)
    BD = power_of_two(D)
    with on_device(x):
        _rms_norm[(R,)](
            x, x if residual is None else residual, weight, out, total, x.stride(0),
            0 if residual is None else residual.stride(0), eps, D, BD, residual is not None, one_plus,
            num_warps=max(1, min(8, BD // 512)),
        )  # fmt: skip
    return out, total


def gated_rms_norm(
    x: Tensor,
    gate: Tensor,
    weight: Tensor,
    eps: float,
    *,
    together: int | None = None,
    warps: int | None = None,
) -> Tensor:
    """``engine.kernels.elementwise.gated_rms_norm``.

    Args:
        together: heads of a program, a power of two.
    """
    R, heads, D = x.shape
    innermost_contiguous(x, gate)
    out = gate.new_empty(R, heads, D)
    BD = power_of_two(D)
    BH = together or (max(1, min(1024 // BD, power_of_two(heads))) if R > 1 else 1)
    with on_device(x):
        _gated_rms_norm[(R, triton.cdiv(heads, BH))](
            x, gate, weight, out, x.stride(0), x.stride(1), gate.stride(0), gate.stride(1), heads, eps,
            D, BD, BH, num_warps=warps or max(1, min(4, BD * BH // 256)),
        )  # fmt: skip
    return out


def swiglu(gate: Tensor, up: Tensor, *, share: int = 1024, warps: int = 4) -> Tensor:
    """``engine.kernels.elementwise.swiglu``.

    Args:
        share: columns of a program at most, a power of two.
    """
    R, width = gate.shape
    innermost_contiguous(gate, up)
    out = gate.new_empty(R, width)
    BW = min(share, power_of_two(width))
    with on_device(gate):
        _swiglu[(R, triton.cdiv(width, BW))](
            gate, up, out, gate.stride(0), up.stride(0), width, BW, num_warps=warps
        )
    return out


def rotary_angles(
    start: Tensor, offsets: Tensor, frequencies: Tensor, scaling: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """``engine.kernels.elementwise.rotary_angles``."""
    rows, half = offsets.shape[0], frequencies.shape[0]
    innermost_contiguous(offsets, frequencies)
    cos, sin = frequencies.new_empty(2, rows, half, dtype=dtype)
    with on_device(frequencies):
        _rotary_angles[(rows,)](
            start, offsets, frequencies, cos, sin, scaling, half, power_of_two(half), num_warps=1
        )
    return cos, sin


def rotate_heads(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    weight: Tensor | None = None,
    eps: float = 1e-6,
    one_plus: bool = False,
) -> Tensor:
    """``engine.kernels.elementwise.rotate_heads``."""
    R, heads, D = x.shape
    innermost_contiguous(x)
    out = x.new_empty(R, heads, D)
    with on_device(x):
        _rotate_heads[(R, heads)](
            x, cos.contiguous(), sin.contiguous(), x if weight is None else weight, out,
            x.stride(0), x.stride(1), out.stride(0), out.stride(1), eps,
            D, power_of_two(D), cos.shape[1], weight is not None, one_plus, num_warps=1,
        )  # fmt: skip
    return out


def attention_inputs(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    length: Tensor,
    *,
    q_weight: Tensor | None = None,
    k_weight: Tensor | None = None,
    eps: float = 1e-6,
    one_plus: bool = False,
) -> Tensor:
    """``engine.kernels.elementwise.attention_inputs``."""
    (R, HQ, D), (HKV, capacity, _) = q.shape, keys.shape
    innermost_contiguous(q, k, v, keys, values)
    out = q.new_empty(R, HQ, D)
    normed = q_weight is not None and k_weight is not None
    with on_device(q):
        _attention_inputs[(R, HQ + 2 * HKV)](
            q, k, v, cos.contiguous(), sin.contiguous(), q_weight if normed else q, k_weight if normed else q,
            out, keys, values, length, q.stride(0), q.stride(1), k.stride(0), k.stride(1),
            v.stride(0), v.stride(1), keys.stride(0), values.stride(0), HQ, HKV, capacity, eps,
            D, power_of_two(D), cos.shape[1], normed, one_plus, num_warps=1,
        )  # fmt: skip
    return out
