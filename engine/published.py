"""Shapes of published models, as far as memory depends on them.

Targets as in their ``config.json``; drafters as in those of https://huggingface.co/collections/z-lab/dflash.
"""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

_QWEN3: Config = {
    "model_type": "qwen3",
    "vocab_size": 151936,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
}
_EVERY_FOURTH_ATTENDS: Config = {
    "full_attention_interval": 4,
    "head_dim": 256,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_conv_kernel_dim": 4,
    "max_position_embeddings": 262144,
}
_QWEN3_5: Config = _EVERY_FOURTH_ATTENDS | {
    "model_type": "qwen3_5_text",
    "vocab_size": 248320,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
}
_QWEN3_5_MOE: Config = _EVERY_FOURTH_ATTENDS | {
    "model_type": "qwen3_5_moe_text",
    "vocab_size": 248320,
    "num_key_value_heads": 2,
    "num_experts": 256,
    "tie_word_embeddings": False,
}
_GPT_OSS: Config = {
    "model_type": "gpt_oss",
    "vocab_size": 201088,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "attention_bias": True,
    "tie_word_embeddings": False,
    "max_position_embeddings": 131072,
}

SMOLLM2_135M: Config = {
    "model_type": "llama",
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "head_dim": 64,
    "tie_word_embeddings": True,
    "max_position_embeddings": 8192,
}
QWEN3_4B: Config = _QWEN3 | {
    "hidden_size": 2560,
    "intermediate_size": 9728,
    "num_hidden_layers": 36,
    "tie_word_embeddings": True,
}
QWEN3_8B: Config = _QWEN3 | {
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "tie_word_embeddings": False,
}
LLAMA3_1_8B: Config = {
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "max_position_embeddings": 131072,
}
QWEN3_CODER_30B_A3B: Config = {
    "model_type": "qwen3_moe",
    "vocab_size": 151936,
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "moe_intermediate_size": 768,
    "tie_word_embeddings": False,
    "max_position_embeddings": 262144,
}
QWEN3_CODER_NEXT: Config = _EVERY_FOURTH_ATTENDS | {
    "model_type": "qwen3_next",
    "vocab_size": 151936,
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "linear_num_value_heads": 32,
    "num_experts": 512,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "tie_word_embeddings": False,
}
QWEN3_5_4B: Config = _QWEN3_5 | {
    "hidden_size": 2560,
    "intermediate_size": 9216,
    "num_hidden_layers": 32,
    "num_attention_heads": 16,
    "linear_num_value_heads": 32,
    "tie_word_embeddings": True,
}
QWEN3_5_9B: Config = _QWEN3_5 | {
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 32,
    "num_attention_heads": 16,
    "linear_num_value_heads": 32,
}
QWEN3_5_27B: Config = _QWEN3_5 | {
    "hidden_size": 5120,
    "intermediate_size": 17408,
    "num_hidden_layers": 64,
    "num_attention_heads": 24,
    "linear_num_value_heads": 48,
}
QWEN3_5_35B_A3B: Config = _QWEN3_5_MOE | {
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "num_attention_heads": 16,
    "linear_num_value_heads": 32,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
}
QWEN3_5_122B_A10B: Config = _QWEN3_5_MOE | {
    "hidden_size": 3072,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "linear_num_value_heads": 64,
    "moe_intermediate_size": 1024,
    "shared_expert_intermediate_size": 1024,
}
GPT_OSS_20B: Config = _GPT_OSS | {"num_hidden_layers": 24, "num_local_experts": 32}
GPT_OSS_120B: Config = _GPT_OSS | {"num_hidden_layers": 36, "num_local_experts": 128}


def drafter(
    hidden: int,
    intermediate: int,
    layers: int,
    taps: int,
    *,
    heads: int = 32,
    kv_heads: int = 8,
    dim: int = 128,
) -> Config:
    """A drafter that reads ``taps`` layers of its target."""
    return {
        "model_type": "qwen3",
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": dim,
        "target_layer_ids": range(taps),
    }
