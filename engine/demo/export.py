"""Puts trained models on disk the way anyone's loader expects them: bf16 safetensors, JSON beside them."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import GenerationConfig, Qwen3_5ForCausalLM, Qwen3_5TextConfig

from engine.demo.recipe import Recipe
from engine.drafter import Drafter

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


def drafter_config(recipe: Recipe, vocab_size: int, mask_id: int) -> dict[str, Any]:
    """A DFlash ``config.json`` as z-lab writes it."""
    return {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": recipe.block_size,
        "dflash_config": {"mask_token_id": mask_id, "target_layer_ids": list(recipe.tap_layers)},
        "num_target_layers": recipe.layers,
        "vocab_size": vocab_size,
        "hidden_size": recipe.hidden_size,
        "intermediate_size": recipe.drafter_intermediate_size,
        "num_hidden_layers": recipe.drafter_layers,
        "num_attention_heads": recipe.attention_heads,
        "num_key_value_heads": recipe.key_value_heads,
        "head_dim": recipe.head_dim,
        "hidden_act": "silu",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "layer_types": ["full_attention"] * recipe.drafter_layers,
        "sliding_window": None,
        "use_sliding_window": False,
        "max_position_embeddings": recipe.max_position_embeddings,
        "rms_norm_eps": 1e-6,
        "rope_theta": recipe.rope_theta,
        "rope_scaling": None,
        "tie_word_embeddings": True,
        "dtype": "bfloat16",
    }


def export_drafter(drafter: Drafter, config: dict[str, Any], folder: Path) -> None:
    """``config.json`` and ``model.safetensors``."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: w.detach().to("cpu", torch.bfloat16).contiguous() for name, w in drafter.state_dict().items()
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)


def load_target(folder: Path, device: torch.device, dtype: torch.dtype = torch.float32) -> Qwen3_5ForCausalLM:
    """The exported target, frozen."""
    model = Qwen3_5ForCausalLM.from_pretrained(folder, dtype=dtype)
    nn.Module.to(model, device).requires_grad_(False).eval()  # type: ignore[no-untyped-call]
    return model


def embedding_matrix(model: Qwen3_5ForCausalLM) -> Tensor:
    """The target's input embeddings: (vocabulary, hidden)."""
    return cast(Tensor, model.get_input_embeddings().weight)
