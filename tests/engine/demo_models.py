"""A tiny random target and drafter in the demo's shapes."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from transformers import Qwen3_5ForCausalLM

from engine.demo.export import drafter_shape, target_config
from engine.demo.recipe import TINY, Recipe
from engine.drafter import Drafter
from engine.train.drafter_shape import drafter_config
from engine.train.drafter_training import new_drafter

VOCAB, PAD, STOP, MASK = 40, 39, 38, 37
RECIPE: Recipe = dataclasses.replace(TINY, block_size=6)


def random_target(seed: int = 0, spread: float = 0.15) -> Qwen3_5ForCausalLM:
    """Weights wide enough that greedy text varies."""
    torch.manual_seed(seed)
    model = Qwen3_5ForCausalLM(target_config(RECIPE, VOCAB, PAD, [STOP, PAD])).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(std=spread)
    return model.requires_grad_(False)


def random_drafter_config(recipe: Recipe = RECIPE) -> dict[str, Any]:
    target = target_config(recipe, VOCAB, PAD, [STOP, PAD])
    return drafter_config(drafter_shape(recipe), target, MASK)


def random_drafter(seed: int = 0, spread: float = 0.15) -> Drafter:
    torch.manual_seed(seed)
    drafter = new_drafter(random_drafter_config()).eval()
    with torch.no_grad():
        for parameter in drafter.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(std=spread)
    return drafter
