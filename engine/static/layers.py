"""The target's layers with their small operations fused, for the families whose layers are known by heart.

Weights stay in transformers' modules; what changes is how often a row travels between memory and the chip:
residual and norm in one pass, q/k norm, rotary and the cache's write in one, SwiGLU in one. Experts are
``engine.static.experts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.cache import KeyValueRows
from engine.kernels.attention import tree_attention
from engine.kernels.elementwise import attention_inputs, rms_norm, rotary_angles, swiglu
from engine.merged import project
from engine.spread import is_spread
from engine.static import experts
from engine.static.cache import StaticCache
from engine.target import Target


@dataclass(frozen=True)
class Family:
    """What differs between the layers of families that are otherwise alike.

    Attributes:
        one_plus: norms multiply by 1 + weight.
        gated: the query projection also holds a gate on the attention's output.
        head_norms: queries and keys are normed per head.
        sinks: attention has a sink per head.
    """

    one_plus: bool = False
    gated: bool = False
    head_norms: bool = True
    sinks: bool = False


FAMILIES = {
    "gpt_oss": Family(head_norms=False, sinks=True),
    "llama": Family(head_norms=False),
    "qwen3": Family(),
    "qwen3_5_moe_text": Family(one_plus=True, gated=True),
    "qwen3_5_text": Family(one_plus=True, gated=True),
    "qwen3_moe": Family(),
    "qwen3_next": Family(one_plus=True, gated=True),
}


def fusable(target: Target) -> bool:
    """Whether ``forward`` knows the target's layers."""
    config, mlps = target.model.config, [layer.mlp for layer in target.model.model.layers]
    return (
        config.model_type in FAMILIES
        and config.hidden_act == "silu"
        and target.rotary_frequencies is not None
        and not target.quantised
        and all(experts.is_known(mlp) for mlp in mlps if experts.is_mixture(mlp))
    )


def capturable(target: Target) -> bool:
    """Whether a pass can be captured in a CUDA graph, its steps the same whatever the values.

    Layers that ``forward`` knows can, and transformers' own unless they have experts, which are sent the rows
    that are routed to them. None can with rotary frequencies that depend on the longest position, which
    transformers reads on the host, or on several devices, whole or divided, or with quantised weights, of
    whose kernels nothing is known here.
    """
    layers = target.model.model.layers
    dense = not any(experts.is_mixture(layer.mlp) for layer in layers)
    on_one_device = target.ranks is None and not is_spread(layers) and not target.quantised
    return (dense or fusable(target)) and target.rotary_frequencies is not None and on_one_device


def forward(target: Target, cache: StaticCache, ids: Tensor) -> tuple[Tensor, Tensor]:
    """``Target.forward`` over ``cache.rows``: final hidden states (R, hidden) and features of the rows."""
    assert cache.rows is not None
    model, family = target.model.model, FAMILIES[target.model.config.model_type]
    added: Tensor = target.embed(ids)  # what the last half layer adds to the residual stream
    total: Tensor | None = None
    assert target.rotary_frequencies is not None
    angles = rotary_angles(cache.device_length, cache.rows.depths, *target.rotary_frequencies, added.dtype)
    outputs: dict[int, Tensor] = {}
    for number, layer in enumerate(model.layers):
        normed, total = _norm(layer.input_layernorm, added, total, family)
        outputs[number - 1] = total
        if hasattr(layer, "linear_attn"):
            mixed = cache.forward_delta(layer.linear_attn, normed[None])[0]
        else:
            mixed = _attend(layer.self_attn, normed, angles, cache, number, family)
        normed, total = _norm(layer.post_attention_layernorm, mixed, total, family)
        mlp = layer.mlp
        if experts.is_mixture(mlp):
            added = experts.forward(mlp, normed)
        else:
            (added,) = project(swiglu(*project(normed, mlp.gate_proj, mlp.up_proj)), mlp.down_proj)
    hidden, _ = _norm(model.norm, added, total, family)
    outputs[len(model.layers) - 1] = hidden
    features = [outputs[number] for number in target.tapped]
    return hidden, torch.cat(features, dim=-1) if features else hidden[:, :0]


def _norm(module: Any, x: Tensor, residual: Tensor | None, family: Family) -> tuple[Tensor, Tensor]:
    """The norm of x + residual, and that sum."""
    return rms_norm(x, module.weight, _eps(module), residual=residual, one_plus=family.one_plus)


def _eps(module: Any) -> float:
    eps: float = module.variance_epsilon if hasattr(module, "variance_epsilon") else module.eps
    return eps


def _attend(
    module: Any,
    hidden: Tensor,
    angles: tuple[Tensor, Tensor],
    cache: StaticCache,
    number: int,
    family: Family,
) -> Tensor:
    """One attention layer over the rows: (R, hidden) in and out; keys and values stay pending."""
    assert cache.rows is not None
    layer = cache.layers[number]
    assert isinstance(layer, KeyValueRows)
    keys, values = (buffer[0] for buffer in layer.buffers())
    rows, width = hidden.shape[0], module.head_dim
    q, k, v = project(hidden, module.q_proj, module.k_proj, module.v_proj)
    q = q.view(rows, -1, width * (2 if family.gated else 1))
    q, gate = torch.split(q, width, dim=-1) if family.gated else (q, None)
    k, v = (part.view(rows, -1, width) for part in (k, v))
    q = attention_inputs(
        q,
        k,
        v,
        *angles,
        keys,
        values,
        cache.device_length,
        q_weight=module.q_norm.weight if family.head_norms else None,
        k_weight=module.k_norm.weight if family.head_norms else None,
        eps=_eps(module.q_norm) if family.head_norms else 1e-6,
        one_plus=family.one_plus,
    )
    window = cache.windows[number]
    out = tree_attention(
        q,
        keys,
        values,
        cache.device_length,
        cache.rows.visible,
        module.scaling,
        depths=cache.rows.depths if window else None,
        window=window,
        sinks=module.sinks if family.sinks else None,
        gate=gate,
    )
    return project(out.flatten(1), module.o_proj)[0]
