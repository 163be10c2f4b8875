"""Random tiny models of every supported family, and what is needed to run them without a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from transformers import (
    GptOssConfig,
    LlamaConfig,
    Qwen3_5MoeTextConfig,
    Qwen3_5TextConfig,
    Qwen3Config,
    Qwen3MoeConfig,
    Qwen3NextConfig,
)
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.llama import modeling_llama
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.qwen3_5 import modeling_qwen3_5
from transformers.models.qwen3_5_moe import modeling_qwen3_5_moe
from transformers.models.qwen3_moe import modeling_qwen3_moe
from transformers.models.qwen3_next import modeling_qwen3_next

from engine.codec import EncodedPrompt
from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.events import Tokens
from engine.pair import Pair
from engine.target import Target

VOCAB = 61
HIDDEN = 32
MASK_ID = VOCAB - 1
STOP_ID = VOCAB - 2
COMMON = {
    "vocab_size": VOCAB,
    "hidden_size": HIDDEN,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
}
HYBRID = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 14}
SHARED = {"shared_expert_intermediate_size": 12}
ROPE = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
MROPE = {"rope_parameters": {**ROPE, "mrope_section": [2, 1, 1]}}
WINDOW = 12
HYBRIDS = ("qwen3_5", "qwen3_next", "qwen3_5_moe")
FAMILIES = (*HYBRIDS, "qwen3", "qwen3_moe", "gpt_oss", "llama")


def tiny_config(family: str) -> Any:
    """A config of the family's text model: four layers, hybrids with one of attention."""
    if family == "qwen3_5":
        return Qwen3_5TextConfig(**COMMON, **HYBRID, **MROPE)
    if family == "qwen3_5_moe":
        sizes = {name: size for name, size in COMMON.items() if name != "intermediate_size"}
        return Qwen3_5MoeTextConfig(**sizes, **HYBRID, **EXPERTS, **SHARED, **MROPE)
    if family == "qwen3_next":
        return Qwen3NextConfig(**COMMON, **HYBRID, **EXPERTS, **SHARED, rope_parameters=ROPE)
    if family == "qwen3_moe":
        return Qwen3MoeConfig(**COMMON, **EXPERTS, norm_topk_prob=True, mlp_only_layers=[1])
    if family == "gpt_oss":
        sizes = COMMON | {"intermediate_size": 12, "num_local_experts": 4, "num_experts_per_tok": 2}
        yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
        rope = {**yarn, "rope_theta": 150000.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
        return GptOssConfig(**sizes, sliding_window=WINDOW, rope_parameters=rope)
    return Qwen3Config(**COMMON) if family == "qwen3" else LlamaConfig(**COMMON)


def tiny_model(family: str, seed: int = 0, dtype: torch.dtype = torch.float32) -> Any:
    """A random causal LM whose choices are far from uniform, so that equality means something."""
    torch.manual_seed(seed)
    # Experts one after another, as models are loaded on a CPU: nothing is packed into batches.
    model: Any = AutoModelForCausalLM.from_config(tiny_config(family), experts_implementation="eager")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    model = model.eval().to(dtype)
    rotary = model.model.rotary_emb
    rotary.inv_freq = rotary.inv_freq.to(torch.float32)  # as in a checkpoint loaded with that dtype
    return model


def tiny_drafter(
    seed: int = 1, dtype: torch.dtype = torch.float32, taps: Sequence[int] = (0, 2, 3)
) -> Drafter:
    torch.manual_seed(seed)
    config = DFlashConfig.from_dict(
        {
            "model_type": "qwen3",
            "hidden_size": HIDDEN,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0,
            "max_position_embeddings": 512,
            "vocab_size": VOCAB,
            "num_target_layers": 4,
            "block_size": 8,
            "dflash_config": {"mask_token_id": MASK_ID, "target_layer_ids": list(taps)},
        }
    )
    return Drafter(config).eval().to(dtype)


class LetterCodec:
    """A codec in which the id is the character; the prompt is the last message's characters."""

    special_ids = frozenset({MASK_ID, STOP_ID})
    think_open_id = None
    think_close_id = None
    strips_first_space = False
    supports_thinking = False
    has_template = False
    entries = VOCAB

    def __init__(self, stop_ids: Iterable[int] = (STOP_ID,)) -> None:
        self.stop_ids = frozenset(stop_ids)

    def encode_chat(
        self, messages: Sequence[Any], thinking: bool = False, *, context: int | None = None
    ) -> EncodedPrompt:
        text = "".join(message["content"] for message in messages)
        ids = [ord(letter) % (VOCAB - 2) for letter in text]
        return EncodedPrompt(ids=ids, text=text, stable=0, in_thinking=False, plain=True)

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([64 + token_id])

    def tokens_event(self, ids: Sequence[int]) -> Tokens:
        return Tokens(pieces={str(i): chr(64 + i) for i in ids})


def tiny_pair(
    family: str, seed: int = 0, dtype: torch.dtype = torch.float32, stop_ids: Iterable[int] = (STOP_ID,)
) -> Pair:
    drafter = tiny_drafter(seed + 1, dtype)
    target = Target(tiny_model(family, seed, dtype), drafter.config.target_layer_ids)
    info = SimpleNamespace(target=SimpleNamespace(name=family, quantization=None), drafter=None)
    return Pair(target, drafter, LetterCodec(stop_ids), info)  # type: ignore[arg-type]


def use_float64_throughout(monkeypatch: Any) -> None:
    """transformers computes norms, routing and the delta rule in float32 whatever the weights are: replace
    these by float64 twins, so that a float64 model shows the mathematics and not its rounding."""

    def norm(weight_of: Any) -> Any:
        def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
            eps = getattr(self, "variance_epsilon", None) or self.eps
            return weight_of(self) * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)

        return forward

    def gated(self: Any, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * normed * torch.nn.functional.silu(gate)

    narrow, softmax = torch.Tensor.float, torch.nn.functional.softmax

    def wide_softmax(x: torch.Tensor, dim: int | None = None, dtype: torch.dtype | None = None) -> Any:
        return softmax(x, dim=dim, dtype=x.dtype if x.dtype == torch.float64 else dtype)

    monkeypatch.setattr(torch.Tensor, "float", lambda x: x if x.dtype == torch.float64 else narrow(x))
    monkeypatch.setattr(torch.nn.functional, "softmax", wide_softmax)
    for module in (
        modeling_qwen3.Qwen3RMSNorm,
        modeling_qwen3_moe.Qwen3MoeRMSNorm,
        modeling_llama.LlamaRMSNorm,
        modeling_gpt_oss.GptOssRMSNorm,
    ):
        monkeypatch.setattr(module, "forward", norm(lambda m: m.weight))
    for name, models in (
        ("Qwen3_5", modeling_qwen3_5),
        ("Qwen3_5Moe", modeling_qwen3_5_moe),
        ("Qwen3Next", modeling_qwen3_next),
    ):
        monkeypatch.setattr(getattr(models, f"{name}RMSNorm"), "forward", norm(lambda m: 1 + m.weight))
        monkeypatch.setattr(getattr(models, f"{name}RMSNormGated"), "forward", gated)
        monkeypatch.setattr(models, "torch_chunk_gated_delta_rule", plain_delta_rule)


def plain_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The recurrence of Gated DeltaNet written down once more, in the inputs' precision, for a batch of one
    sequence (1, T, H, d): an independent stand-in for transformers' float32 kernel."""
    shared = value.shape[2] // key.shape[2]
    q, k = (x.repeat_interleave(shared, 2)[0] for x in (query, key))
    q, k = (x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6) for x in (q, k))
    q = q * q.shape[-1] ** -0.5
    state = torch.zeros(k.shape[1], k.shape[2], value.shape[3], dtype=value.dtype)
    if initial_state is not None:
        state = initial_state[0]
    outs = []
    for t in range(k.shape[0]):
        state = state * g[0, t].exp()[:, None, None]
        error = (value[0, t] - (state * k[t][:, :, None]).sum(1)) * beta[0, t][:, None]
        state = state + k[t][:, :, None] * error[:, None, :]
        outs.append((state * q[t][:, :, None]).sum(1))
    return torch.stack(outs)[None], state[None]
