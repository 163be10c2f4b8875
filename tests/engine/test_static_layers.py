from __future__ import annotations

import pytest
import torch
from tiny_models import FAMILIES, tiny_model

from engine.static.layers import capturable, fusable
from engine.target import Target


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_captured_by_layers_of_our_own(family: str) -> None:
    target = Target(tiny_model(family))
    assert fusable(target)
    assert capturable(target)


def test_what_cannot_be_captured_in_a_graph_is_known() -> None:
    longrope = tiny_model("llama")
    longrope.model.rotary_emb.rope_type = "longrope"
    assert not capturable(Target(longrope))
    packed = tiny_model("qwen3_moe")
    packed.model.layers[0].mlp.experts = torch.nn.ModuleList()
    assert not capturable(Target(packed))


def test_transformers_own_layers_can_be_captured_unless_they_have_experts() -> None:
    for family, dense in (("llama", True), ("qwen3_moe", False)):
        model = tiny_model(family)
        model.config.hidden_act = "gelu"
        assert not fusable(Target(model))
        assert capturable(Target(model)) is dense
