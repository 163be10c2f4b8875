"""The MLP of a layer where it is a mixture of experts."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from engine.kernels.elementwise import swiglu
from engine.kernels.experts import ExpertWeights, experts, route
from engine.merged import project

EXPERTS = ("GptOssExperts", "Qwen3MoeExperts", "Qwen3NextExperts", "Qwen3_5MoeExperts")
"""transformers' classes whose weights ``weights_of`` reads."""


def is_mixture(mlp: Any) -> bool:
    return hasattr(mlp, "experts")


def is_known(mlp: Any) -> bool:
    """Whether ``forward`` can run a mixture: its weights are of a known class and not packed by a
    quantisation."""
    module, router = mlp.experts, _router(mlp)
    gate = getattr(mlp, "shared_expert_gate", None)
    return (
        type(module).__name__ in EXPERTS
        and all(type(x) is nn.Parameter and x.dtype == router.weight.dtype for x in module.parameters())
        and (gate is None or type(gate) is nn.Linear)
    )


def forward(mlp: Any, hidden: Tensor) -> Tensor:
    """All rows through the experts they are routed to: (R, hidden) in and out."""
    router = _router(mlp)
    logits = F.linear(hidden, router.weight, getattr(router, "bias", None))
    chosen, weights = route(logits, router.top_k, normalise=getattr(router, "norm_topk_prob", True))
    of = weights_of(mlp.experts)
    if not hasattr(mlp, "shared_expert"):
        return experts(hidden, chosen, weights, of)
    each = mlp.shared_expert
    (shared,) = project(swiglu(*project(hidden, each.gate_proj, each.up_proj)), each.down_proj)
    gate = mlp.shared_expert_gate.weight[0]
    return experts(hidden, chosen, weights, of, shared=shared, shared_gate=gate)


def weights_of(module: Any) -> ExpertWeights:
    """The weights of a module of ``EXPERTS``, where they are."""
    if type(module).__name__ == "GptOssExperts":
        return ExpertWeights(
            gate_up=module.gate_up_proj,
            down=module.down_proj,
            gate_up_bias=module.gate_up_proj_bias,
            down_bias=module.down_proj_bias,
            clamp=(module.limit, module.alpha),
        )
    return ExpertWeights(gate_up=module.gate_up_proj, down=module.down_proj)


def _router(mlp: Any) -> Any:
    return mlp.router if hasattr(mlp, "router") else mlp.gate
