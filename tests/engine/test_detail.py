"""The best candidates of rows of logits."""

from __future__ import annotations

import pytest
import torch

from engine.detail import ROWS_AT_ONCE, TopRows, top_rows
from engine.events import TOP_CANDIDATES


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, ROWS_AT_ONCE, 2 * ROWS_AT_ONCE + 3])
def test_they_are_those_of_the_whole_softmax(dtype: torch.dtype, rows: int) -> None:
    logits = (10 * torch.randn(rows, 300, generator=torch.Generator().manual_seed(rows))).to(dtype)
    top = top_rows(logits)
    expected = torch.log_softmax(logits.double(), dim=-1).topk(TOP_CANDIDATES, dim=-1)
    assert top.ids.shape == top.logprobs.shape == (rows, TOP_CANDIDATES)
    assert torch.allclose(top.logprobs.double(), expected.values, atol=1e-5)
    assert torch.equal(logits.gather(-1, top.ids), logits.gather(-1, expected.indices))


def test_there_are_as_many_as_asked_for_and_a_small_vocabulary_has_fewer() -> None:
    assert top_rows(torch.zeros(2, 30), 20).ids.shape == (2, 20)
    assert top_rows(torch.zeros(2, 3)).ids.shape == (2, 3)


def test_for_an_event_they_are_short_and_finite() -> None:
    top = TopRows(torch.tensor([[3, 1], [0, 2]]), torch.tensor([[-0.123456, -float("inf")], [-1.0, -2.0]]))
    candidates = top.candidates(1)
    assert candidates.ids == [[3, 1]]
    assert candidates.logprobs == [[-0.1235, -1e4]]
    assert len(top.candidates().ids) == 2
