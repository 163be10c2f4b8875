"""The Triton kernels of the experts, on the CPU, against their twins in float64."""

from __future__ import annotations

import pytest
import torch
from expert_checks import KINDS, check_experts, triton_experts
from kernel_checks import worst

KERNELS = triton_experts()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 17, 65])
def test_experts(rows: int, kind: str) -> None:
    name, error = worst(check_experts(KERNELS, "cpu", rows, kind=kind, seed=rows))
    assert error < 2e-6, name


def test_more_pairs_than_a_list_is_made_of_at_a_time() -> None:
    errors = check_experts(KERNELS, "cpu", 301, count=8, top_k=5, hidden=20, width=12)
    assert worst(errors)[1] < 2e-6


def test_sizes_that_fill_every_tile() -> None:
    errors = check_experts(KERNELS, "cpu", 20, count=40, top_k=8, hidden=256, width=64, kind="shared")
    assert worst(errors)[1] < 2e-6


def test_half_precision() -> None:
    for kind in KINDS:
        errors = check_experts(KERNELS, "cpu", 9, kind=kind, dtype=torch.float16)
        assert worst(errors)[1] < 2e-3


def test_logits_that_are_not_numbers_choose_experts_all_the_same() -> None:
    logits = torch.full((3, 6), torch.nan)
    chosen, weights = KERNELS.route(logits, 2, normalise=True)
    assert ((chosen >= 0) & (chosen < 6)).all()
    assert weights.isnan().all()
