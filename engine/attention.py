"""Attention with sinks, which no kernel of torch's computes."""

from __future__ import annotations

import torch
from torch import Tensor


def attend_with_sinks(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, sinks: Tensor, scaling: float
) -> Tensor:
    """Attention in which each head may also attend to nothing (gpt-oss).

    A sink is one more score per head, without a value: weight_ij = exp(s_ij) / (exp(sink) + Σ_j exp(s_ij)).

    Args:
        query: (1, heads, R, d); key and value: (1, kv heads, K, d).
        mask: bool (1, 1, R, K).
        sinks: (heads,).

    Returns:
        (1, heads, R, d).
    """
    shared = query.shape[1] // key.shape[1]
    by_key_head = query.unflatten(1, (-1, shared))
    scores = (by_key_head @ key[:, :, None].transpose(-1, -2)).flatten(1, 2) * scaling
    if scores.dtype != torch.float64:
        scores = scores.float()
    scores = scores.masked_fill(~mask, -torch.inf)
    sink = sinks.to(scores.dtype)[None, :, None, None].expand(*scores.shape[:3], 1)
    weights = torch.cat((scores, sink), dim=-1).softmax(-1)[..., :-1].to(value.dtype)
    return (weights.unflatten(1, (-1, shared)) @ value[:, :, None]).flatten(1, 2)
