"""The training form of the gated delta rule against the recurrence, and inside transformers' model."""

from __future__ import annotations

import pytest
import torch
from transformers import Qwen3_5ForCausalLM
from transformers.models.qwen3_5 import modeling_qwen3_5

from engine.demo.delta import delta_rule, training_delta_rule
from engine.demo.export import target_config
from engine.demo.recipe import TINY
from engine.gated_delta import DeltaRows, run_nodes

CPU = torch.device("cpu")


@pytest.mark.parametrize("length", [1, 63, 64, 65, 150])
@pytest.mark.parametrize("groups", [1, 2])
def test_equals_the_recurrence(length: int, groups: int) -> None:
    torch.manual_seed(length)
    keys, width = 2, 8
    q, k = (torch.randn(2, length, keys, width) for _ in range(2))
    v = torch.randn(2, length, keys * groups, width)
    g, beta = -torch.rand(2, length, keys * groups), torch.rand(2, length, keys * groups)
    out = delta_rule(q, k, v, g, beta)
    for row in range(2):
        unit_q, unit_k = (
            torch.nn.functional.normalize(x[row].double(), dim=-1).repeat_interleave(groups, dim=1)
            for x in (q, k)
        )
        rows = DeltaRows(unit_q * width**-0.5, unit_k, v[row].double(), g[row].double(), beta[row].double())
        state = torch.zeros(keys * groups, width, width, dtype=torch.float64)
        expected, _ = run_nodes(rows, torch.arange(length) - 1, state)
        assert (out[row] - expected).abs().max() < 1e-5


def test_gradients_equal_transformers_own() -> None:
    torch.manual_seed(0)
    model = Qwen3_5ForCausalLM(target_config(TINY, 300, 0, [1]))
    ids = torch.randint(0, 300, (3, 100))

    def run() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        model.zero_grad()
        logits = model(input_ids=ids, use_cache=False).logits
        logits.logsumexp(-1).sum().backward()
        return logits.detach(), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}

    expected, expected_grads = run()
    original = modeling_qwen3_5.torch_chunk_gated_delta_rule
    with training_delta_rule(CPU) as compiled:
        assert not compiled
        assert modeling_qwen3_5.torch_chunk_gated_delta_rule is not original
        logits, grads = run()
    assert modeling_qwen3_5.torch_chunk_gated_delta_rule is original
    assert (logits - expected).abs().max() < 1e-4
    assert grads.keys() == expected_grads.keys()
    for name, grad in grads.items():
        assert (grad - expected_grads[name]).norm() <= 1e-3 * expected_grads[name].norm() + 1e-5, name
