"""A target whose weights are quantised, with the drafter of the unquantised one."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from engine.target import Target

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting

LEVELS = 7
"""On either side of zero, per row: four bits."""


@torch.no_grad()
def rounded_model(target: Target) -> Any:
    """A copy of the target's model whose linear layers have weights of four bits; all others are shared."""
    model = target.model
    linear = [each for each in model.modules() if isinstance(each, nn.Linear) and each is not target.head]
    own = {id(each.weight) for each in linear}
    shared = {id(each): each for each in (*model.parameters(), *model.buffers()) if id(each) not in own}
    made = copy.deepcopy(model, shared)
    for module in made.modules():
        if isinstance(module, nn.Linear) and id(module.weight) not in shared:
            module.weight.copy_(_rounded(module.weight))
    return made


def _rounded(weight: Tensor) -> Tensor:
    scale = weight.abs().amax(-1, keepdim=True).clamp_min(1e-12) / LEVELS
    return (weight / scale).round() * scale


def _quantise(planting: Planting) -> None:
    target = planting.pair.target
    made = Target(rounded_model(target), target.tapped, target.context_length, target.ranks, quantised=True)
    target.__dict__.update(made.__dict__)


PLANTS: dict[str, Plant] = {"quantised-target": _quantise}
