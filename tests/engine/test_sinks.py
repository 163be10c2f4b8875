"""Attention with sinks, taken piece by piece where its scores would be too many."""

from __future__ import annotations

import pytest
import torch

from engine import attention


@pytest.mark.parametrize("most", [1, 40, 4 * 13 * 3, 10**9])
def test_pieces_are_the_whole(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    rows, keys = 7, 13
    query, sinks = torch.randn(1, 4, rows, 8, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    key, value = (torch.randn(1, 2, keys, 8, dtype=torch.float64) for _ in range(2))
    mask = torch.rand(1, 1, rows, keys) < 0.6
    expected = torch.zeros(1, 4, rows, 8, dtype=torch.float64)
    for head in range(4):
        for row in range(rows):
            scores = key[0, head // 2] @ query[0, head, row] * 0.3
            weights = torch.where(mask[0, 0, row], scores.exp(), 0.0)
            weights = weights / (sinks[head].exp() + weights.sum())
            expected[0, head, row] = weights @ value[0, head // 2]
    monkeypatch.setattr(attention, "SINK_SCORES", most)
    found = attention.attend_with_sinks(query, key, value, mask, sinks, 0.3)
    assert torch.allclose(found, expected, rtol=1e-10, atol=1e-12)
