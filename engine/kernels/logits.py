"""What a round needs to know of a row of logits, read once in its own type."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from engine.kernels.backend import use_triton, wide
from engine.sampling import first_argmax


class RowStatistics(NamedTuple):
    """Of each row; a row that holds NaN has no best token, and any id stands for it.

    Attributes:
        best_id: int64 (R,), the largest entry's, the lowest among equals.
        best: float32 (R,).
        second: float32 (R,), the largest of the other entries, equal to ``best`` in a tie.
        logsumexp: float32 (R,); not finite exactly where the largest entry is not or there is NaN.
    """

    best_id: Tensor
    best: Tensor
    second: Tensor
    logsumexp: Tensor


def row_statistics(logits: Tensor) -> RowStatistics:
    """Best entries and log-sum-exp of all rows.

    Args:
        logits: (R, V), V at least 2. Rows may be strided.
    """
    if use_triton(logits):
        import engine.kernels.jit.logits as jit

        return jit.row_statistics(logits)
    return row_statistics_torch(logits)


def row_statistics_torch(logits: Tensor) -> RowStatistics:
    """``row_statistics`` in plain torch."""
    scores = logits.to(wide(logits.dtype))
    best, second = torch.topk(scores, 2, dim=-1).values.T.contiguous()
    best_id = first_argmax(scores).clamp(max=scores.shape[-1] - 1)
    return RowStatistics(best_id, best, second, torch.logsumexp(scores, dim=-1))


def count_better(logits: Tensor, row: Tensor, token: Tensor) -> Tensor:
    """How many entries of one row come before a token: larger ones, and equal ones of lower id.

    Args:
        logits: (D, V). Rows may be strided.
        row: int32 (), one past the last is taken for the last.
        token: int64 ().

    Returns:
        Integers (parts,); their sum is the token's rank.
    """
    if use_triton(logits):
        import engine.kernels.jit.logits as jit

        return jit.count_better(logits, row, token)
    return count_better_torch(logits, row, token)


def count_better_torch(logits: Tensor, row: Tensor, token: Tensor) -> Tensor:
    """``count_better`` in plain torch."""
    depths, vocab = logits.shape
    scores = logits.index_select(0, row.clamp(max=depths - 1).reshape(1))[0]
    score = scores.index_select(0, token.reshape(1))
    before = torch.arange(vocab, device=scores.device) < token
    return ((scores > score) | ((scores == score) & before)).sum().reshape(1)
