"""The twins against transformers' own modules, bit for bit in their types."""

from __future__ import annotations

import pytest
import torch
from kernel_checks import check_elementwise, dispatched, one, worst
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm, apply_rotary_pos_emb
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5RMSNorm, Qwen3_5RMSNormGated
from transformers.models.qwen3_5.modeling_qwen3_5 import apply_rotary_pos_emb as apply_partial_rotary

from engine.kernels.elementwise import attention_inputs, gated_rms_norm, rms_norm, rotate_heads, swiglu

TYPES = [torch.float32, torch.bfloat16, torch.float64]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("module", "one_plus"), [(Qwen3RMSNorm, False), (Qwen3_5RMSNorm, True)])
def test_norms(dtype: torch.dtype, module: type[torch.nn.Module], one_plus: bool) -> None:
    torch.manual_seed(0)
    norm = module(40, eps=1e-5)
    norm.weight.data.normal_()
    norm.to(dtype)
    x, residual = torch.randn(2, 7, 40, dtype=dtype)
    with torch.no_grad():
        got, total = rms_norm(x, norm.weight, 1e-5, residual=residual, one_plus=one_plus)
        assert torch.equal(total, x + residual)
        # In float64 transformers still norms in float32.
        atol = 1e-5 if dtype == torch.float64 else 0.0
        assert torch.allclose(got, norm(x + residual), atol=atol, rtol=0)
        plain, same = rms_norm(x, norm.weight, 1e-5, one_plus=one_plus)
        assert same is x
        assert torch.allclose(plain, norm(x), atol=atol, rtol=0)


@pytest.mark.parametrize("dtype", TYPES[:2])
def test_gated_norm(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    norm = Qwen3_5RMSNormGated(12, eps=1e-6)
    norm.weight.data.normal_()
    norm.to(dtype)
    x, gate = torch.randn(5, 3, 12), torch.randn(5, 3, 12, dtype=dtype)
    with torch.no_grad():
        assert torch.equal(gated_rms_norm(x, gate, norm.weight, 1e-6), norm(x.to(dtype), gate))


@pytest.mark.parametrize("dtype", TYPES[::2])
@pytest.mark.parametrize("half", [4, 8])
def test_rotary(dtype: torch.dtype, half: int) -> None:
    torch.manual_seed(0)
    q, k = torch.randn(6, 3, 16, dtype=dtype), torch.randn(6, 2, 16, dtype=dtype)
    angles = 30 * torch.rand(6, half, dtype=dtype)
    doubled = torch.cat((angles, angles), dim=-1)[None]
    apply = apply_rotary_pos_emb if half == 8 else apply_partial_rotary
    by_head = (x.transpose(0, 1)[None] for x in (q, k))
    expected = [x[0].transpose(0, 1) for x in apply(*by_head, doubled.cos(), doubled.sin())]
    for x, wanted in zip((q, k), expected, strict=True):
        assert torch.allclose(rotate_heads(x, angles.cos(), angles.sin()), wanted, atol=1e-6)


def test_attention_inputs_are_norm_rotary_and_writing() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(5, 4, 16), torch.randn(5, 2, 16), torch.randn(5, 2, 16)
    cos, sin, weights = torch.randn(5, 4), torch.randn(5, 4), torch.randn(2, 16)
    keys, values = torch.zeros(2, 2, 30, 16)
    got = attention_inputs(
        q, k, v, cos, sin, keys, values, one(7, "cpu"), q_weight=weights[0], k_weight=weights[1]
    )
    normed = [rms_norm(x, w, 1e-6)[0] for x, w in zip((q, k), weights, strict=True)]
    assert torch.allclose(got, rotate_heads(normed[0], cos, sin), atol=1e-6)
    assert torch.allclose(keys[:, 7:12].transpose(0, 1), rotate_heads(normed[1], cos, sin), atol=1e-6)
    assert torch.equal(values[:, 7:12].transpose(0, 1), v)
    assert not keys[:, :7].any()
    assert not keys[:, 12:].any()


def test_swiglu_of_a_fused_projection() -> None:
    fused = torch.randn(3, 20)
    gate, up = fused.chunk(2, dim=-1)
    assert torch.equal(swiglu(gate, up), torch.nn.functional.silu(gate) * up)


def test_float32_is_as_good_as_float32_can_be() -> None:
    assert worst(check_elementwise(dispatched(), "cpu", 5))[1] < 1e-6
