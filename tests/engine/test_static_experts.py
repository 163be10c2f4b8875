"""The mixture of experts of rounds on the device against transformers' own blocks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import tiny_model, use_float64_throughout

from engine.static import experts

FAMILIES = ("qwen3_moe", "qwen3_next", "qwen3_5_moe", "gpt_oss")


def block_of(family: str, **options: Any) -> Any:
    (block, *_) = (layer.mlp for layer in tiny_model(family, **options).model.layers)
    return block


def transformers_answer(block: Any, hidden: torch.Tensor) -> torch.Tensor:
    answer = block(hidden[None])
    return (answer[0] if isinstance(answer, tuple) else answer)[0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rows", [1, 2, 3, 40])
@torch.no_grad()
def test_the_same_as_transformers_block(family: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_float64_throughout(monkeypatch)
    block = block_of(family, dtype=torch.float64)
    hidden = torch.randn(rows, 32, dtype=torch.float64)
    expected = transformers_answer(block, hidden)
    assert (experts.forward(block, hidden) - expected).abs().max() < 1e-12


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("normalise", [False, True])
@torch.no_grad()
def test_rounds_no_worse_than_transformers(family: str, normalise: bool) -> None:
    """In bfloat16, against the same weights in float32."""
    block = block_of(family)
    router = getattr(block, "router", getattr(block, "gate", None))
    if hasattr(router, "norm_topk_prob"):
        router.norm_topk_prob = normalise
    hidden = torch.randn(60, 32).bfloat16()
    for parameter in block.parameters():
        parameter.copy_(parameter.bfloat16())
    exact = transformers_answer(block, hidden.float())
    assert torch.allclose(experts.forward(block, hidden.float()), exact, atol=1e-5)
    block.bfloat16()
    # Rows routed otherwise by rounded logits say nothing about the experts.
    theirs = (transformers_answer(block, hidden).float() - exact).norm(dim=1)
    ours = (experts.forward(block, hidden).float() - exact).norm(dim=1)
    assert ours.median() < 1.2 * theirs.median()


def test_every_block_is_known() -> None:
    for family in FAMILIES:
        layers = tiny_model(family).model.layers
        mixtures = [layer.mlp for layer in layers if experts.is_mixture(layer.mlp)]
        assert len(mixtures) >= 3
        assert all(experts.is_known(mlp) for mlp in mixtures)


def test_packed_weights_are_not_known() -> None:
    block = block_of("qwen3_5_moe")
    packed = block.experts.gate_up_proj.data.to(torch.float8_e4m3fn)
    block.experts.gate_up_proj = torch.nn.Parameter(packed, requires_grad=False)
    assert not experts.is_known(block)
    block = block_of("qwen3_5_moe")
    block.shared_expert_gate = torch.nn.Sequential(block.shared_expert_gate)
    assert not experts.is_known(block)
    block = block_of("gpt_oss")
    block.experts = torch.nn.ModuleList()
    assert not experts.is_known(block)
