"""Puts trained models on disk the way anyone's loader expects them: bf16 safetensors, JSON beside them."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import GenerationConfig, Qwen3_5ForCausalLM, Qwen3_5TextConfig

from engine.demo.recipe import Recipe
from engine.train.drafter_shape import DrafterShape

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def target_config(recipe: Recipe, vocab_size: int, pad_id: int, stop_ids: list[int]) -> Qwen3_5TextConfig:
    """Three gated-delta layers to one attention layer, rotary angles on a quarter of the head."""
    rotary = int(recipe.head_dim * 0.25)
    rope: dict[str, Any] = {
        "rope_type": "default",
        "rope_theta": recipe.rope_theta,
        "partial_rotary_factor": 0.25,
        "mrope_interleaved": True,
        "mrope_section": [rotary // 2 - 2 * (rotary // 6), rotary // 6, rotary // 6],
    }
    return Qwen3_5TextConfig(
        vocab_size=vocab_size,
        hidden_size=recipe.hidden_size,
        intermediate_size=recipe.intermediate_size,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.attention_heads,
        num_key_value_heads=recipe.key_value_heads,
        head_dim=recipe.head_dim,
        linear_num_key_heads=recipe.delta_key_heads,
        linear_num_value_heads=recipe.delta_value_heads,
        linear_key_head_dim=recipe.delta_head_dim,
        linear_value_head_dim=recipe.delta_head_dim,
        max_position_embeddings=recipe.max_position_embeddings,
        rope_parameters=rope,
        tie_word_embeddings=True,
        pad_token_id=pad_id,
        eos_token_id=stop_ids,
    )


def export_target(model: Qwen3_5ForCausalLM, tokenizer: Path, folder: Path, recipe: Recipe) -> None:
    """Weights in shards, config, generation config and the tokenizer's files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shipped = nn.Module.to(copy.deepcopy(model), "cpu", torch.bfloat16)
    stops = model.config.eos_token_id
    shipped.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=False, eos_token_id=stops, pad_token_id=model.config.pad_token_id
    )
    shipped.save_pretrained(folder, max_shard_size=f"{recipe.shard_megabytes}MB")
    for name in TOKENIZER_FILES:
        shutil.copyfile(tokenizer / name, folder / name)
    for path in folder.iterdir():
        path.chmod(0o644)  # safetensors writes for the owner's eyes only


def drafter_shape(recipe: Recipe) -> DrafterShape:
    """The drafter of a recipe; heads are the target's."""
    return DrafterShape(
        layers=recipe.drafter_layers,
        intermediate_size=recipe.drafter_intermediate_size,
        heads=recipe.attention_heads,
        key_value_heads=recipe.key_value_heads,
        head_dim=recipe.head_dim,
        block_size=recipe.block_size,
        taps=recipe.tap_layers,
    )


def load_target(folder: Path, device: torch.device, dtype: torch.dtype = torch.float32) -> Qwen3_5ForCausalLM:
    """The exported target, frozen."""
    model = Qwen3_5ForCausalLM.from_pretrained(folder, dtype=dtype)
    nn.Module.to(model, device).requires_grad_(False).eval()  # type: ignore[no-untyped-call]
    return model
