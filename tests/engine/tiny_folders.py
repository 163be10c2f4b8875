"""Checkpoints made from scratch: random tiny targets and drafters with a real tokenizer, as folders."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

VOCAB_SIZE = 512
HIDDEN_SIZE = 32
LAYERS = 4
MASK_ID = VOCAB_SIZE - 1
"""Beyond the tokenizer, inside the embedding."""

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
THINK = ("<think>", "</think>")
TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n<think>\\n' }}
{%- if not (enable_thinking is defined and enable_thinking is true) %}
{{- '\\n</think>\\n\\n' }}
{%- endif %}
{%- endif %}
"""
TRAINING_TEXT = (
    "The draft tree grows from the root; the accepted path is the longest one the target agrees with.",
    "What is 12 + 30? It is 42. Write a function that adds two numbers: def add(a, b): return a + b",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
)

SHAPE: dict[str, Any] = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": HIDDEN_SIZE,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
}


def write_tokenizer(folder: Path, *, template: str | None = TEMPLATE) -> None:
    """A byte-level BPE tokenizer with Qwen's chat markers."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(TRAINING_TEXT, trainer)
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in THINK])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
        },
    )
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")


def tiny_target(family: str = "qwen3_5", **changes: Any) -> Any:
    """A random causal LM of a family of ``tiny_models``, float32, with this module's sizes."""
    import torch
    from tiny_models import tiny_config
    from transformers.models.auto.modeling_auto import AutoModelForCausalLM

    torch.manual_seed(0)
    config = tiny_config(family)
    own = {name: size for name, size in SHAPE.items() if name not in ("intermediate_size", "head_dim")}
    values = config.to_dict() | own | {"tie_word_embeddings": True} | changes
    return AutoModelForCausalLM.from_config(type(config).from_dict(values))


def write_target(folder: Path, family: str = "qwen3_5", **changes: Any) -> Path:
    """A target folder: bf16 safetensors, configs, tokenizer, chat template."""
    import torch
    from transformers import GenerationConfig

    model = tiny_target(family, **changes).to(torch.bfloat16)
    model.generation_config = GenerationConfig(eos_token_id=[400, 402])
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def drafter_dict(**changes: Any) -> dict[str, Any]:
    """A drafter's ``config.json`` as z-lab writes it, for the tiny targets."""
    config = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": 8,
        "dflash_config": {"mask_token_id": MASK_ID, "target_layer_ids": [0, 2, 3]},
        "num_target_layers": LAYERS,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "dtype": "bfloat16",
    }
    return {**SHAPE, "num_hidden_layers": 2, **config, **changes}


def write_drafter(folder: Path, **changes: Any) -> Path:
    """A drafter folder with random bf16 weights."""
    import torch
    from safetensors.torch import save_file

    from engine.drafter import Drafter
    from engine.drafter_config import DFlashConfig

    folder.mkdir(parents=True, exist_ok=True)
    config = drafter_dict(**changes)
    torch.manual_seed(1)
    weights = Drafter(DFlashConfig.from_dict(config)).to(torch.bfloat16).state_dict()
    save_file({name: w.contiguous() for name, w in weights.items()}, folder / "model.safetensors")
    write_json(folder / "config.json", config)
    return folder


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def main() -> None:
    """``python tests/engine/tiny_folders.py FOLDER FAMILY``: a random pair in ``target`` and ``drafter``."""
    folder, family = Path(sys.argv[1]), sys.argv[2]
    write_target(folder / "target", family)
    write_drafter(folder / "drafter")


if __name__ == "__main__":
    main()
