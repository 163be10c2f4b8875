"""The routed MLP of a mixture of experts, with shapes that no routing enters.

Rows are sent to experts on the device: which experts are needed, and by how many rows, is never known to the
host. On CUDA the weights of an expert are read once, however many rows it serves, and not at all if it serves
none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.kernels.backend import use_triton, wide


@dataclass(frozen=True)
class ExpertWeights:
    """The weights of E experts of width I, laid out as transformers does.

    Attributes:
        gate_up: (E, 2 I, hidden), all gates before all ups; with ``clamp`` (E, hidden, 2 I), gate and up in
            turns.
        down: (E, hidden, I); with ``clamp`` (E, I, hidden).
        gate_up_bias: (E, 2 I), in the order of ``gate_up``; given with ``clamp``.
        down_bias: (E, hidden); given with ``clamp``.
        clamp: limit L and slope s of gpt-oss' activation, min(gate, L) · σ(s · min(gate, L)) times
            1 + clip(up, ±L); None is silu(gate) · up.
    """

    gate_up: Tensor
    down: Tensor
    gate_up_bias: Tensor | None = None
    down_bias: Tensor | None = None
    clamp: tuple[float, float] | None = None


def route(logits: Tensor, top_k: int, *, normalise: bool) -> tuple[Tensor, Tensor]:
    """The experts of each row and their weights: the softmax of the router at the largest logits.

    Args:
        logits: (R, E). Rows may be strided.
        normalise: the weights of a row add up to 1, else to the probability of its experts.

    Returns:
        int32 (R, top_k), the largest logit first, and (R, top_k) in the type of ``logits``; the softmax in
        float32.
    """
    if use_triton(logits):
        import engine.kernels.jit.experts as jit

        return jit.route(logits, top_k, normalise=normalise)
    return route_torch(logits, top_k, normalise=normalise)


def route_torch(logits: Tensor, top_k: int, *, normalise: bool) -> tuple[Tensor, Tensor]:
    """``route`` in plain torch."""
    scores = logits.to(wide(logits.dtype))
    best, chosen = torch.topk(scores, top_k, dim=-1)
    total = (best if normalise else scores).logsumexp(-1, keepdim=True)
    return chosen.int(), (best - total).exp().to(logits.dtype)


def experts(
    x: Tensor,
    chosen: Tensor,
    weights: Tensor,
    of: ExpertWeights,
    *,
    shared: Tensor | None = None,
    shared_gate: Tensor | None = None,
) -> Tensor:
    """Σ_j weights[r, j] · expert chosen[r, j] (x_r), and the share of an expert that serves all rows.

    Args:
        x: (R, hidden), contiguous.
        chosen: int32 (R, top_k), different ones in a row, as from ``route``.
        weights: (R, top_k).
        of: their weights, in the type of ``x``.
        shared: (R, hidden), what an expert of all rows gives; added times σ(x · ``shared_gate``).
        shared_gate: (hidden,); given when ``shared`` is.

    Returns:
        (R, hidden); sums in float32, rounded where transformers' grouped experts round.
    """
    if use_triton(x):
        import engine.kernels.jit.experts as jit

        return jit.experts(x, chosen, weights, of, shared=shared, shared_gate=shared_gate)
    return experts_torch(x, chosen, weights, of, shared=shared, shared_gate=shared_gate)


def experts_torch(
    x: Tensor,
    chosen: Tensor,
    weights: Tensor,
    of: ExpertWeights,
    *,
    shared: Tensor | None = None,
    shared_gate: Tensor | None = None,
) -> Tensor:
    """``experts`` in plain torch: a copy of its experts' weights for each row where these are few, else every
    expert on every row, of which the chosen are picked."""
    (rows, top_k), count = chosen.shape, of.down.shape[0]
    index = chosen.long()
    if rows * top_k <= count:
        each = x[:, None].expand(rows, top_k, -1).reshape(rows * top_k, 1, -1)
        out = _mlp(each, of, index.flatten()).view(rows, top_k, -1)
    else:
        row = torch.arange(rows, device=x.device)[:, None]
        out = _mlp(x.expand(count, *x.shape), of, slice(None))[index, row]
    total = (out * weights[..., None]).sum(1)
    if shared is not None:
        assert shared_gate is not None
        total = total + torch.sigmoid(F.linear(x, shared_gate[None])) * shared
    return total


def _mlp(x: Tensor, of: ExpertWeights, index: Tensor | slice) -> Tensor:
    """Batch b through the b-th of the experts at ``index``: (B, R, hidden) in and out."""
    gate_up, down = of.gate_up[index], of.down[index]
    if of.clamp is None:
        gate, up = (x @ gate_up.transpose(1, 2)).chunk(2, dim=-1)
        return (F.silu(gate) * up) @ down.transpose(1, 2)
    assert of.gate_up_bias is not None
    assert of.down_bias is not None
    limit, slope = of.clamp
    both = x @ gate_up + of.gate_up_bias[index][:, None]
    gate, up = both[..., ::2].clamp(max=limit), both[..., 1::2].clamp(-limit, limit)
    return (up + 1) * (gate * torch.sigmoid(gate * slope)) @ down + of.down_bias[index][:, None]
