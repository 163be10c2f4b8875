"""A drafter's shape, and its checkpoint in z-lab's format: ``config.json`` and ``model.safetensors``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from engine.drafter import Drafter
from engine.train.replaced import replaced


@dataclass(frozen=True, kw_only=True)
class DrafterShape:
    """Sizes of a drafter that are not the target's.

    Attributes:
        block_size: the root and the drafts behind it.
        taps: target layers whose outputs it reads.
    """

    layers: int
    intermediate_size: int
    heads: int
    key_value_heads: int
    head_dim: int
    block_size: int
    taps: tuple[int, ...]


def spread_taps(count: int, layers: int) -> tuple[int, ...]:
    """``count`` of a target's layers, evenly from the second to the last but two, as z-lab's drafters read
    them; those there are in a target of fewer."""
    first, last = min(1, layers - 1), max(min(1, layers - 1), layers - 3)
    if count == 1:
        return (layers // 2,)
    return tuple(sorted({round(first + (last - first) * i / (count - 1)) for i in range(count)}))


def drafter_config(shape: DrafterShape, target: Any, mask_id: int) -> dict[str, Any]:
    """A DFlash ``config.json`` as z-lab writes it.

    Args:
        target: the target's text config.
    """
    rope = getattr(target, "rope_parameters", None) or {}
    theta = rope.get("rope_theta") or getattr(target, "rope_theta", None) or 10_000.0
    return {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": shape.block_size,
        "dflash_config": {"mask_token_id": mask_id, "target_layer_ids": list(shape.taps)},
        "num_target_layers": target.num_hidden_layers,
        "vocab_size": target.vocab_size,
        "hidden_size": target.hidden_size,
        "intermediate_size": shape.intermediate_size,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.key_value_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "layer_types": ["full_attention"] * shape.layers,
        "sliding_window": None,
        "use_sliding_window": False,
        "max_position_embeddings": target.max_position_embeddings,
        "rms_norm_eps": 1e-6,
        "rope_theta": theta,
        "rope_scaling": None,
        "tie_word_embeddings": True,
        "dtype": "bfloat16",
    }


def export_drafter(drafter: Drafter, config: dict[str, Any], folder: Path) -> None:
    """Write the checkpoint, in bfloat16; ``config.json`` comes last, so a folder that has it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: w.detach().to("cpu", torch.bfloat16).contiguous() for name, w in drafter.state_dict().items()
    }
    (folder / "config.json").unlink(missing_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes for the owner's eyes only
    with replaced(folder / "config.json") as half:
        half.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
