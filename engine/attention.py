"""Masked attention, with sinks where a model has them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.room import SINK_SCORES


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float | None, sinks: Tensor | None
) -> Tensor:
    """Attention of R rows to the K keys their mask shows them.

    Args:
        query: (1, heads, R, d); key and value: (1, kv heads, K, d).
        mask: bool (1, 1, R, K).
        scaling: d^-1/2 when None.
        sinks: (heads,), see ``attend_with_sinks``.

    Returns:
        (1, heads, R, d).
    """
    if sinks is not None:
        return attend_with_sinks(query, key, value, mask, sinks, scaling or query.shape[-1] ** -0.5)
    grouped = query.shape[1] != key.shape[1]
    out: Tensor = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=scaling, enable_gqa=grouped
    )
    return out


def attend_with_sinks(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, sinks: Tensor, scaling: float
) -> Tensor:
    """Attention in which each head may also attend to nothing (gpt-oss).

    A sink is one more score per head, without a value: weight_ij = exp(s_ij) / (exp(sink) + Σ_j exp(s_ij)).
    Rows are taken in as many pieces as keep each piece's scores below ``SINK_SCORES``.

    Args:
        query: (1, heads, R, d); key and value: (1, kv heads, K, d).
        mask: bool (1, 1, R, K).
        sinks: (heads,).

    Returns:
        (1, heads, R, d).
    """
    _, heads, rows, dim = query.shape
    if rows > (most := max(1, SINK_SCORES // (heads * key.shape[2]))):
        pieces = zip(torch.split(query, most, 2), torch.split(mask, most, 2), strict=True)
        attended = [attend_with_sinks(part, key, value, shown, sinks, scaling) for part, shown in pieces]
        return torch.cat(attended, 2)
    grouped = (1, key.shape[1], heads // key.shape[1])
    scores = query.reshape(*grouped, rows, dim) @ key[:, :, None].transpose(-1, -2) * scaling
    if scores.dtype != torch.float64:
        scores = scores.float()
    scores.masked_fill_(~mask[:, :, None], -torch.inf)
    sink = sinks.to(scores.dtype).reshape(*grouped, 1, 1).expand(*grouped, rows, 1)
    weights = torch.cat((scores, sink), dim=-1).softmax(-1)[..., :-1].to(value.dtype)
    return (weights @ value[:, :, None]).reshape(1, heads, rows, -1)
