"""Pairs of random weights in published shapes, and text for them: the time of a round depends on no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

from engine.cache import KeyValueRows
from engine.codec import EncodedPrompt
from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.events import Tokens
from engine.pair import Pair
from engine.presets import PRESETS
from engine.published import Config, drafter
from engine.static.layers import capturable
from engine.target import Target

BLOCK = 16
SHAPES: dict[str, tuple[Config, Config]] = {
    name: (preset.target_config, preset.drafter_config)
    for name, preset in PRESETS.items()
    if preset.target_config and preset.drafter_config
}
"""Target and drafter of every published pair, and three for a CPU."""
_TINY: Config = {
    "vocab_size": 500,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "tie_word_embeddings": False,
    "max_position_embeddings": 4096,
}
_TINY_DELTA: Config = {
    "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
_TINY_DRAFTER = drafter(64, 96, 2, taps=1, heads=2, kv_heads=1, dim=32)
SHAPES["tiny"] = ({"model_type": "qwen3_5_text", **_TINY, **_TINY_DELTA}, _TINY_DRAFTER)
SHAPES["tiny-dense"] = ({"model_type": "qwen3", **_TINY}, _TINY_DRAFTER)
_TINY_EXPERTS: Config = {
    "num_experts": 12,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
}
SHAPES["tiny-experts"] = (
    {"model_type": "qwen3_5_moe_text", **_TINY, **_TINY_DELTA, **_TINY_EXPERTS},
    _TINY_DRAFTER,
)


class NoText:
    """A codec without text: every prompt is ``length`` arbitrary ids, and nothing ends an answer."""

    stop_ids: frozenset[int] = frozenset()
    special_ids: frozenset[int] = frozenset()
    think_open_id = think_close_id = None
    has_template = strips_first_space = supports_thinking = False

    def __init__(self, vocab_size: int, length: int) -> None:
        self.vocab_size, self.length = vocab_size, length

    @property
    def ids(self) -> list[int]:
        generator = torch.Generator().manual_seed(0)
        ids: list[int] = torch.randint(0, self.vocab_size - 10, (self.length,), generator=generator).tolist()
        return ids

    def encode_chat(self, messages: Any, thinking: bool, *, context: int | None = None) -> EncodedPrompt:
        return EncodedPrompt(ids=self.ids, text="", stable=0, in_thinking=False)

    def token_bytes(self, token_id: int) -> bytes:
        return b"x"

    def tokens_event(self, ids: Any) -> Tokens:
        return Tokens()


def random_pair(shape: str, context: int, device: torch.device, dtype: torch.dtype) -> Pair:
    """A pair of random weights with room for ``context`` tokens, in rounds on the device if it can be."""
    settings, drafting = SHAPES[shape]
    kind = settings["model_type"]
    sizes = {name: value for name, value in settings.items() if name != "model_type"}
    config = AutoConfig.for_model(kind, **sizes | {"max_position_embeddings": context})
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model = model.to_empty(device=device)
    with device:
        draft = Drafter(_drafter_config(settings, drafting, context)).to(device, dtype)
    torch.manual_seed(0)
    for module in (model, draft):
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=0.02)
        for name, norm in module.named_modules():
            if hasattr(norm, "weight") and "norm" in name and not _one_plus(kind, module is model, name):
                norm.weight.data.add_(1.0)
    for layer in model.model.layers:
        if hasattr(layer, "linear_attn"):
            layer.linear_attn.A_log.data.uniform_(0, 2)
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(config).to(device)  # its frequencies are no weights
    target = Target(model.eval(), draft.config.target_layer_ids)
    codec: Any = NoText(settings["vocab_size"], 1)
    info: Any = SimpleNamespace()
    return Pair(target, draft.eval(), codec, info, on_device=capturable(target))


def _one_plus(kind: str, of_target: bool, name: str) -> bool:
    """Qwen3.5 and Qwen3-Next multiply by 1 + weight, except behind their gated-delta layers."""
    return of_target and kind.startswith(("qwen3_5", "qwen3_next")) and "linear_attn" not in name


def _drafter_config(target: Config, sizes: Config, context: int) -> DFlashConfig:
    layers, taps = target["num_hidden_layers"], len(sizes["target_layer_ids"])
    spread = [round(1 + i * (layers - 4) / max(1, taps - 1)) for i in range(taps)]
    return DFlashConfig.from_dict(
        sizes
        | {
            "rope_theta": 10_000_000.0,
            "max_position_embeddings": context,
            "vocab_size": target["vocab_size"],
            "num_target_layers": layers,
            "block_size": BLOCK,
            "mask_token_id": target["vocab_size"] - 1,
            "target_layer_ids": spread,
        }
    )


@torch.inference_mode()
def fill(pair: Pair, context: int) -> None:
    """Pretend that a text of ``context`` tokens is in the caches, with random keys and values: what a round
    costs depends on how many there are, not on what they are. The next answer's prompt goes on from it."""
    codec: Any = pair.codec
    codec.length = context + 1
    session, ids = pair.session, codec.ids
    session.reset()
    for _ in session.prefill(ids[:BLOCK], 0):
        pass
    session.hand_over()
    for layer in session.cache.layers:
        if isinstance(layer, KeyValueRows):
            layer.reserve(context + BLOCK)
            _fill(layer.buffers(), layer.length, context)
            layer.length = context
    session.cache.length = context
    if session.context is not None:
        session.context.reserve(context + BLOCK)
        _fill((*session.context.keys, *session.context.values), session.context.length, context)
        session.context.length = context
    session.ids = ids[:context]


def _fill(buffers: tuple[torch.Tensor, ...], start: int, stop: int) -> None:
    for buffer in buffers:
        buffer[:, :, start:stop].normal_()
