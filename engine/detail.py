"""The best candidates of each row of logits: what rounds decoded with ``detail`` tell beyond the others."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from engine.events import TOP_CANDIDATES, Candidates

DIGITS = 4
"""Decimals of log-probabilities and gaps in events."""
ROWS_AT_ONCE = 64
"""Rows turned to float32 together: those of a thousand nodes would take a copy of over half a gigabyte."""


class TopRows(NamedTuple):
    """``ids`` int64 (R, K) and ``logprobs`` float32 (R, K), best first, where the logits are."""

    ids: Tensor
    logprobs: Tensor

    def candidates(self, rows: int | None = None) -> Candidates:
        """The first ``rows`` rows for an event, all for None. Waits for the device."""
        return Candidates(
            ids=self.ids[:rows].tolist(), logprobs=[rounded(row) for row in self.logprobs[:rows].cpu()]
        )


def top_rows(logits: Tensor, count: int = TOP_CANDIDATES) -> TopRows:
    """The ``count`` best tokens of each row of logits (R, V), fewer where V is less.

    Never waits for the device."""
    ids, logprobs = [], []
    for rows in torch.split(logits, ROWS_AT_ONCE):
        values = rows.float() if rows.dtype in (torch.bfloat16, torch.float16) else rows
        best = torch.topk(values, min(count, values.shape[-1]), dim=-1)
        ids.append(best.indices)
        logprobs.append((best.values - torch.logsumexp(values, dim=-1, keepdim=True)).float())
    return TopRows(torch.cat(ids), torch.cat(logprobs))


def rounded(values: Tensor) -> list[float]:
    """For events: finite and short."""
    return [round(value, DIGITS) for value in values.clamp(min=-1e4, max=1e4).tolist()]
