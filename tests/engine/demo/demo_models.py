"""A tiny random target and drafter in the demo's shapes."""

from __future__ import annotations

import dataclasses

import torch
from transformers import Qwen3_5ForCausalLM

from engine.demo.export import drafter_config, target_config
from engine.demo.recipe import TINY, Recipe
from engine.demo.train_drafter import new_drafter
from engine.drafter import Drafter

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


def random_drafter(seed: int = 0, spread: float = 0.15) -> Drafter:
    torch.manual_seed(seed)
    drafter = new_drafter(drafter_config(RECIPE, VOCAB, MASK)).eval()
    with torch.no_grad():
        for parameter in drafter.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(std=spread)
    return drafter
