"""Small operations of every layer, each in one launch.

Roundings are those of transformers' layers: sums in float32, then the layer's type at the same places.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.kernels.backend import use_triton, wide


def rms_norm(
    x: Tensor,
    weight: Tensor,
    eps: float,
    *,
    residual: Tensor | None = None,
    one_plus: bool = False,
) -> tuple[Tensor, Tensor]:
    """Root mean square norm of each row, after adding a residual.

    Args:
        x: (R, hidden).
        weight: (hidden,).
        eps: added to the mean square.
        residual: (R, hidden), added to ``x`` and rounded to its type before the norm.
        one_plus: scale by 1 + weight, in float32 (Qwen3.5), instead of by weight.

    Returns:
        The normed rows, and what they were before the norm: x + residual, or ``x`` itself.
    """
    if use_triton(x):
        import engine.kernels.jit.elementwise as jit

        return jit.rms_norm(x, weight, eps, residual=residual, one_plus=one_plus)
    return rms_norm_torch(x, weight, eps, residual=residual, one_plus=one_plus)


def rms_norm_torch(
    x: Tensor,
    weight: Tensor,
    eps: float,
    *,
    residual: Tensor | None = None,
    one_plus: bool = False,
) -> tuple[Tensor, Tensor]:
    """``rms_norm`` in plain torch."""
    if residual is not None:
        x = x + residual
    return _normed(x, weight, eps, one_plus), x


def gated_rms_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
    """norm(x) · silu(gate) over the last dimension, as after Qwen3.5's gated delta rule.

    Args:
        x: (R, heads, d), float32 or the layer's type; rounded to the latter first.
        gate: (R, heads, d) in the layer's type. Rows and heads may be strided.
        weight: (d,).
        eps: added to the mean square.

    Returns:
        (R, heads, d) in the type of ``gate``.
    """
    if use_triton(x):
        import engine.kernels.jit.elementwise as jit

        return jit.gated_rms_norm(x, gate, weight, eps)
    return gated_rms_norm_torch(x, gate, weight, eps)


def gated_rms_norm_torch(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
    """``gated_rms_norm`` in plain torch."""
    normed = _normed(x.to(gate.dtype), weight, eps, one_plus=False)
    return (normed * F.silu(gate.to(wide(gate.dtype)))).to(gate.dtype)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) · up.

    Args:
        gate: (R, width); with ``up``, may be one half of a fused projection's output.
        up: (R, width).

    Returns:
        (R, width), contiguous.
    """
    if use_triton(gate):
        import engine.kernels.jit.elementwise as jit

        return jit.swiglu(gate, up)
    return swiglu_torch(gate, up)


def swiglu_torch(gate: Tensor, up: Tensor) -> Tensor:
    """``swiglu`` in plain torch."""
    return F.silu(gate) * up


def rotary_angles(
    start: Tensor, offsets: Tensor, frequencies: Tensor, scaling: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary embedding at positions start + offsets.

    Args:
        start: int32 or int64, one element.
        offsets: int32 or int64 (R,).
        frequencies: (r,), the angles of position 1; angles are computed in their type.
        scaling: factor on cosines and sines.
        dtype: of the results.

    Returns:
        Two tensors (R, r).
    """
    if use_triton(frequencies):
        import engine.kernels.jit.elementwise as jit

        return jit.rotary_angles(start, offsets, frequencies, scaling, dtype)
    return rotary_angles_torch(start, offsets, frequencies, scaling, dtype)


def rotary_angles_torch(
    start: Tensor, offsets: Tensor, frequencies: Tensor, scaling: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """``rotary_angles`` in plain torch."""
    angles = (start + offsets)[:, None].to(frequencies.dtype) * frequencies
    return (angles.cos() * scaling).to(dtype), (angles.sin() * scaling).to(dtype)


def rotate_heads(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    weight: Tensor | None = None,
    eps: float = 1e-6,
    one_plus: bool = False,
) -> Tensor:
    """Norm of each head (with a weight), then rotary embedding of its first dimensions.

    Dimension i turns with dimension i + r, r = ``cos.shape[1]``; dimensions from 2 r on stay.

    Args:
        x: (R, heads, d). Rows and heads may be strided.
        cos: (R, r) with 2 r ≤ d, one angle per pair.
        sin: (R, r).
        weight: (d,) of the norm; none, no norm.
        eps: of the norm.
        one_plus: scale by 1 + weight.

    Returns:
        (R, heads, d).
    """
    if use_triton(x):
        import engine.kernels.jit.elementwise as jit

        return jit.rotate_heads(x, cos, sin, weight=weight, eps=eps, one_plus=one_plus)
    return rotate_heads_torch(x, cos, sin, weight=weight, eps=eps, one_plus=one_plus)


def rotate_heads_torch(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    weight: Tensor | None = None,
    eps: float = 1e-6,
    one_plus: bool = False,
) -> Tensor:
    """``rotate_heads`` in plain torch."""
    if weight is not None:
        x = _normed(x, weight, eps, one_plus)
    dtype = wide(x.dtype)
    half = cos.shape[1]
    c, s = cos.to(dtype)[:, None], sin.to(dtype)[:, None]
    first, second = x[..., :half].to(dtype), x[..., half : 2 * half].to(dtype)
    turned = torch.cat((first * c - second * s, second * c + first * s), dim=-1).to(x.dtype)
    return torch.cat((turned, x[..., 2 * half :]), dim=-1)


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
    """``rotate_heads`` of queries and keys, and ``kv_write`` of the rotated keys and the values, in one.

    Args:
        q: (R, Hq, d). All three may be strided over rows and heads. Hq may be 0, for keys and values alone.
        k: (R, Hkv, d).
        v: (R, Hkv, d).
        cos, sin, eps, one_plus: as in ``rotate_heads``.
        keys, values, length: as in ``engine.kernels.attention.kv_write``.
        q_weight: (d,) of the queries' norm.
        k_weight: (d,) of the keys' norm; given when ``q_weight`` is.

    Returns:
        The rotated queries (R, Hq, d).
    """
    if use_triton(q):
        import engine.kernels.jit.elementwise as jit

        return jit.attention_inputs(
            q, k, v, cos, sin, keys, values, length,
            q_weight=q_weight, k_weight=k_weight, eps=eps, one_plus=one_plus,
        )  # fmt: skip
    return attention_inputs_torch(
        q, k, v, cos, sin, keys, values, length,
        q_weight=q_weight, k_weight=k_weight, eps=eps, one_plus=one_plus,
    )  # fmt: skip


def attention_inputs_torch(
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
    """``attention_inputs`` in plain torch."""
    from engine.kernels.attention import kv_write_torch

    rotated = rotate_heads_torch(k, cos, sin, weight=k_weight, eps=eps, one_plus=one_plus)
    kv_write_torch(rotated, v, keys, values, length)
    return rotate_heads_torch(q, cos, sin, weight=q_weight, eps=eps, one_plus=one_plus)


def _normed(x: Tensor, weight: Tensor, eps: float, one_plus: bool) -> Tensor:
    dtype = wide(x.dtype)
    wider = x.to(dtype)
    wider = wider * torch.rsqrt(wider.square().mean(-1, keepdim=True) + eps)
    if one_plus:
        return (wider * (1.0 + weight.to(dtype))).to(x.dtype)
    return weight * wider.to(x.dtype)
