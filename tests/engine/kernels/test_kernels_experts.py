from __future__ import annotations

import pytest
import torch
from expert_checks import KINDS, check_experts, dispatched_experts, random_experts
from kernel_checks import worst

from engine.kernels.experts import experts, route


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 3, 4, 65])
def test_float32_is_as_good_as_float32_can_be(rows: int, kind: str) -> None:
    name, error = worst(check_experts(dispatched_experts(), "cpu", rows, kind=kind, seed=rows))
    assert error < 1e-6, name


@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_depend_on_their_company(kind: str) -> None:
    """One row after another, from copies of its experts, equals all rows through all experts."""
    torch.manual_seed(0)
    of = random_experts(5, 24, 12, "cpu", kind=kind, dtype=torch.float64)
    x = torch.randn(30, 24, dtype=torch.float64)
    chosen, weights = route(torch.randn(30, 5, dtype=torch.float64), 2, normalise=True)
    together = experts(x, chosen, weights, of)
    apart = [experts(x[r : r + 1], chosen[r : r + 1], weights[r : r + 1], of) for r in range(30)]
    assert torch.allclose(torch.cat(apart), together, atol=1e-13)


def test_an_expert_by_hand() -> None:
    of = random_experts(3, 4, 2, "cpu", dtype=torch.float64)
    x, gate, shared = torch.randn(1, 4).double(), torch.randn(4).double(), torch.randn(1, 4).double()
    chosen, weights = torch.tensor([[2, 0]], dtype=torch.int32), torch.tensor([[0.25, 0.5]]).double()
    expected = torch.zeros(4, dtype=torch.float64)
    for expert, weight in ((2, 0.25), (0, 0.5)):
        g, u = (of.gate_up[expert] @ x[0]).chunk(2)
        expected += weight * (of.down[expert] @ (g * torch.sigmoid(g) * u))
    assert torch.allclose(experts(x, chosen, weights, of)[0], expected)
    expected += torch.sigmoid(gate @ x[0]) * shared[0]
    assert torch.allclose(experts(x, chosen, weights, of, shared=shared, shared_gate=gate)[0], expected)


def test_weights_of_the_chosen() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0, -5.0]])
    chosen, weights = route(logits, 2, normalise=False)
    assert chosen.tolist() == [[1, 2]]
    assert torch.allclose(weights, logits.softmax(-1)[:, [1, 2]])
    _, normed = route(logits, 2, normalise=True)
    assert torch.allclose(normed, weights / weights.sum())
