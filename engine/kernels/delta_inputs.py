"""What a gated-delta layer does between its projections and its solve, over the rows of a tree.

The causal convolution is that of ``engine.causal_conv``: row i convolves its own input with those of its
nearest ancestors, running on into the last inputs of the committed text (the window).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from engine import causal_conv
from engine.gated_delta import normalise
from engine.kernels.backend import use_triton, wide


class DeltaInputs(NamedTuple):
    """The arguments of ``tree_delta``, in its order.

    Attributes:
        q: float32 (R, Hk, dk), normalised and scaled by dk^-1/2.
        k: float32 (R, Hk, dk), normalised.
        v: (R, Hv, dv) in the layer's type.
        g: float32 (R, Hv), log decay.
        beta: float32 (R, Hv), write strength.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    beta: Tensor


def tree_conv(
    inputs: Tensor,
    window: Tensor,
    parents: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """SiLU of the convolution of every row with its ancestors.

    Args:
        inputs: (R, C), the rows' own. Rows may be strided.
        window: (K - 1, C), the last inputs of the committed text, oldest first.
        parents: int32 or int64 (R,), -1 for rows that continue the committed text.
        weight: (C, K), oldest input first.
        bias: (C,).

    Returns:
        (R, C) in the type of ``inputs``; summed in float32.
    """
    if use_triton(inputs):
        import engine.kernels.jit.delta_inputs as jit

        return jit.tree_conv(inputs, window, parents, weight, bias)
    return tree_conv_torch(inputs, window, parents, weight, bias)


def tree_conv_torch(
    inputs: Tensor,
    window: Tensor,
    parents: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """``tree_conv`` in plain torch."""
    index = causal_conv.gather_index(parents.long(), window.shape[0])
    return F.silu(causal_conv.convolve(torch.cat((window, inputs)), index, weight, bias)).to(inputs.dtype)


def conv_window(window: Tensor, inputs: Tensor, path: Tensor, count: Tensor, out: Tensor) -> Tensor:
    """The window after the first ``count`` rows of a path.

    Args:
        window: (K - 1, C), or (L, K - 1, C) with inputs (L, R, C).
        inputs: (R, C), the rows' own.
        path: int32 (B,), rows from the root's down; entries from ``count`` on are not looked at.
        count: int32, one element.
        out: like ``window``; may be ``window`` itself.

    Returns:
        ``out``.
    """
    if use_triton(window):
        import engine.kernels.jit.delta_inputs as jit

        return jit.conv_window(window, inputs, path, count, out)
    return conv_window_torch(window, inputs, path, count, out)


def conv_window_torch(window: Tensor, inputs: Tensor, path: Tensor, count: Tensor, out: Tensor) -> Tensor:
    """``conv_window`` in plain torch."""
    kept = window.shape[-2]
    # Places in the window's inputs followed by the path's.
    places = torch.arange(kept, device=path.device) + count
    steps = (places - kept).clamp(min=0, max=path.shape[0] - 1)
    rows = torch.where(places < kept, 0, path.index_select(0, steps.long())).long()
    old = window.index_select(-2, places.clamp(max=kept - 1).long())
    return out.copy_(torch.where((places < kept)[:, None], old, inputs.index_select(-2, rows)))


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
) -> DeltaInputs:
    """Convolution, SiLU, split, normalisation and gates of a layer, in one launch.

    Args:
        mixed: (R, C), C = 2 Hk dk + Hv dv, the projections of queries, keys and values before the
            convolution. Its rows may be strided, and so may those of ``a`` and ``b``.
        window, parents, weight, bias: as in ``tree_conv``.
        a: (R, Hv), projection of the decay: g = -exp(a_log) · softplus(a + dt_bias).
        b: (R, Hv), projection of the write strength: beta = sigmoid(b).
        a_log: (Hv,).
        dt_bias: (Hv,).
        heads: Hk, Hv.
        dims: dk, dv.
        k: float32 (R, Hk, dk) to write the keys into.
        kept: (R, C), where a copy of ``mixed`` is left.
    """
    rows = (mixed, window, parents, weight, bias, a, b, a_log, dt_bias, heads, dims)
    if use_triton(mixed):
        import engine.kernels.jit.delta_inputs as jit

        return jit.delta_inputs(*rows, k=k, kept=kept)
    return delta_inputs_torch(*rows, k=k, kept=kept)


def delta_inputs_torch(
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
) -> DeltaInputs:
    """``delta_inputs`` in plain torch."""
    dtype = wide(mixed.dtype)
    (HK, HV), (DK, DV), rows = heads, dims, mixed.shape[0]
    convolved = tree_conv_torch(mixed, window, parents, weight, bias)
    queries, keys, v = torch.split(convolved, [HK * DK, HK * DK, HV * DV], dim=-1)
    q, keys = (normalise(x.reshape(rows, HK, DK).to(dtype)) for x in (queries, keys))
    g = -a_log.to(dtype).exp() * F.softplus(a.to(dtype) + dt_bias.to(dtype))
    if kept is not None:
        kept.copy_(mixed)
    # The strength is rounded to the layer's type, as transformers does.
    beta = torch.sigmoid(b).to(dtype)
    keys = keys if k is None else k.copy_(keys)
    return DeltaInputs(q * DK**-0.5, keys, v.reshape(rows, HV, DV), g, beta)
