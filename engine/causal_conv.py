"""The short causal convolution before a gated delta rule, over a tree of rows.

Row i convolves its own input with those of its nearest ancestors; a path shorter than the kernel runs on
into the last inputs of the committed text (the window). Depth-wise, one kernel per channel.
"""

from __future__ import annotations

import torch
from torch import Tensor


def gather_index(row_parents: Tensor, window: int) -> Tensor:
    """Which inputs each row convolves, oldest first.

    Args:
        row_parents: int64 (R,), -1 for rows that continue the committed text.
        window: committed inputs kept, kernel size - 1.

    Returns:
        int64 (R, window + 1), indices into the concatenation of the window's inputs and the rows'.
    """
    # Parents over that concatenation: an input of the window follows the one before it, a row with
    # no parent follows the window's last. Nothing is asked for before the window's first.
    before = torch.cat((torch.arange(-1, window - 1, device=row_parents.device), row_parents + window))
    columns = [torch.arange(row_parents.shape[0], device=row_parents.device) + window]
    for _ in range(window):
        columns.append(before[columns[-1]])
    return torch.stack(columns[::-1], dim=1)


def convolve(inputs: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Σ_t weight[c, t] · inputs[index[r, t], c] (+ bias[c]).

    Args:
        inputs: (window + R, C), the window's inputs and the rows'.
        index: int64 (R, K), from ``gather_index``.
        weight: (C, K).
        bias: (C,) or None.

    Returns:
        (R, C) in the accumulation type: float64 for float64 inputs, else float32.
    """
    accumulate = torch.float64 if inputs.dtype == torch.float64 else torch.float32
    out = torch.einsum("rkc,ck->rc", inputs[index].to(accumulate), weight.to(accumulate))
    return out if bias is None else out + bias.to(accumulate)
