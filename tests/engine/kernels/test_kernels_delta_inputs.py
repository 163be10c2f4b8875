from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import Tree, check_inputs, dispatched, worst
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5GatedDeltaNet

from engine.cache import DeltaState
from engine.delta_layer import _convolve, _recurrence, project_apart
from engine.kernels.delta_inputs import delta_inputs, tree_conv
from engine.rows import Rows


@given(st.integers(1, 40), st.integers(2, 5), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_a_row_convolves_what_its_path_ends_with(rows: int, taps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    inputs, window, weight, bias = draw(rows, 3), draw(taps - 1, 3), draw(3, taps), draw(3)
    tree = Tree.random(rows, seed, "cpu")
    out = tree_conv(inputs, window, tree.parents, weight, bias)
    for row in range(rows):
        seen = torch.cat((window, inputs[tree.path(row)]))[-taps:]
        expected = torch.nn.functional.silu((seen * weight.T).sum(0) + bias)
        assert torch.allclose(out[row], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_same_as_the_eager_layer(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    config = Qwen3_5TextConfig(
        hidden_size=48, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8,
        linear_value_head_dim=12,
    )  # fmt: skip
    module = Qwen3_5GatedDeltaNet(config, 0).to(dtype)
    tree = Tree.random(30, 0, "cpu")
    rows = Rows(tree.parents.long(), tree.depths.long(), tree.visible, "solve")
    hidden, layer = torch.randn(30, 48, dtype=dtype), DeltaState()
    layer.window = torch.randn(3, module.conv_dim, dtype=dtype)
    with torch.no_grad():
        inputs = project_apart(module, hidden)
        mixed, _, _ = _convolve(module, inputs.qkv, rows, layer)
        expected = _recurrence(module, inputs, mixed)
        got = delta_inputs(
            inputs.qkv, layer.window, tree.parents, module.conv1d.weight[:, 0], module.conv1d.bias,
            inputs.a, inputs.b, module.A_log, module.dt_bias, (2, 4), (8, 12),
        )  # fmt: skip
    assert torch.equal(got.q.repeat_interleave(2, dim=1), expected.q)
    assert torch.equal(got.k.repeat_interleave(2, dim=1), expected.k)
    assert torch.equal(got.v.to(expected.v.dtype), expected.v)
    assert torch.equal(got.g, expected.g)
    assert torch.equal(got.beta, expected.beta)


def test_windows_follow_the_path() -> None:
    for rows in (1, 2, 3, 30):
        assert worst(check_inputs(dispatched(), "cpu", rows, (1, 2), (4, 6), seed=rows))[1] < 1e-6
