"""The DFlash drafter: a block-diffusion transformer that reads the target (arXiv 2602.06036).

One forward proposes a whole block. The block's slots (root token, then masks) attend to one another and to
the *context*: features of the accepted tokens, taken from some of the target's layers. Context rows enter
each layer only as keys and values,

    c_t = hidden_norm(fc(features_t)),   k_t = rope_t(k_norm(k_proj(c_t))),   v_t = v_proj(c_t),

so they are computed once per accepted token and kept in a ``DrafterContext``; rows of rejected tokens never
get in. The classes follow z-lab's checkpoint format; embeddings and head are the target's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, pad, scaled_dot_product_attention
from transformers.activations import ACT2FN
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config

from engine.drafter_config import DFlashConfig
from engine.errors import EngineError

_MIN_CAPACITY = 256


class DrafterContext:
    """Keys and values of the accepted tokens' features, per layer, at positions 0 .. length - 1.

    The buffers have room beyond ``length``: a forward writes its block's rows there, and the next
    ``extend`` or block writes over them. They grow by doubling, up to ``limit`` rows if there is one.

    Attributes:
        positions: int64 (B,), where the slots of the last block stood, for whoever wants to know.
        first_keys: per layer, the first row that the last block has read.
    """

    def __init__(
        self,
        config: DFlashConfig,
        device: torch.device,
        dtype: torch.dtype,
        capacity: int,
        limit: int | None = None,
    ) -> None:
        self.length = 0
        self.positions: Tensor | None = None
        self._limit = limit
        shape = (1, config.num_key_value_heads, capacity, config.head_dim)
        layers = range(config.num_hidden_layers)
        self.first_keys = [0 for _ in layers]
        self.keys = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]
        self.values = [torch.zeros(shape, device=device, dtype=dtype) for _ in layers]

    @property
    def capacity(self) -> int:
        """Rows the buffers hold."""
        return self.keys[0].shape[2]

    def truncate(self, length: int) -> None:
        """Keep only the first ``length`` rows, for a prompt that shares just those with the last one.

        Raises:
            ValueError: when the context is shorter than that.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate a context of {self.length} rows to {length}")
        self.length = length

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` rows in all."""
        if rows <= self.capacity:
            return
        doubled = 2 * self.capacity if self._limit is None else min(2 * self.capacity, self._limit)
        extra = max(rows, doubled) - self.capacity
        for buffers in (self.keys, self.values):
            for layer, buffer in enumerate(buffers):
                buffers[layer] = pad(buffer, (0, 0, 0, extra))

    def rows(self) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of the accepted tokens per layer, (1, kv heads, length, head dim) each."""
        buffers = zip(self.keys, self.values, strict=True)
        return [(keys[:, :, : self.length], values[:, :, : self.length]) for keys, values in buffers]

    @torch.inference_mode()
    def replace(self, rows: list[tuple[Tensor, Tensor]]) -> None:
        """Hold such rows, from whatever device, instead of others."""
        length = rows[0][0].shape[2]
        self.reserve(length)
        for layer, (keys, values) in enumerate(rows):
            self.write(layer, 0, keys, values)
        self.length = length

    def write(self, layer: int, start: int, keys: Tensor, values: Tensor) -> None:
        """Put rows (1, kv heads, rows, head dim) at positions ``start`` on, in place."""
        stop = start + keys.shape[2]
        self.keys[layer][:, :, start:stop] = keys
        self.values[layer][:, :, start:stop] = values


class Drafter(nn.Module):
    """The DFlash drafter. Computes in its parameters' dtype, norms and angles in at least float32."""

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        self.config = config
        taps = len(config.target_layer_ids)
        self.fc = nn.Linear(taps * config.hidden_size, config.hidden_size, bias=False)
        self.hidden_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.layers = nn.ModuleList(DrafterLayer(config, index) for index in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.rotary = Rotary(config)

    @property
    def device(self) -> torch.device:
        return self.fc.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.fc.weight.dtype

    def block_ids(self, root_id: int, device: torch.device | None = None, size: int | None = None) -> Tensor:
        """The block's ids (1, B), int64: the root token in slot 0, masks after it.

        ``size``: a block shorter than the drafter was trained with.
        """
        size = size or self.config.block_size
        ids = torch.full((1, size), self.config.mask_token_id, dtype=torch.long, device=device or self.device)
        ids[0, 0] = root_id
        return ids

    def block_positions(self, length: int, size: int) -> Tensor:
        """Positions of a block of ``size`` slots behind a context of ``length`` rows: int64 (B,)."""
        return torch.arange(length, length + size, device=self.device)

    def embed(self, ids: Tensor, weight: Tensor) -> Tensor:
        """(..., hidden): rows of the target's embedding matrix (vocabulary, hidden) for ``ids`` (...)."""
        rows, scale = embedding(ids, weight), self.config.input_embedding_scale
        return rows if scale == 1.0 else rows * scale

    def new_context(self, capacity: int = _MIN_CAPACITY, limit: int | None = None) -> DrafterContext:
        """An empty context with room for ``capacity`` rows. It grows when needed; ``limit``: most rows there
        will ever be."""
        return DrafterContext(self.config, self.device, self.dtype, capacity, limit)

    @torch.no_grad()
    def extend(self, context: DrafterContext, features: Tensor) -> None:
        """Append accepted tokens, in order.

        Args:
            features: (rows, taps * hidden), for each token the outputs of the target's layers
                ``target_layer_ids`` side by side, in that order.
        """
        start, rows = context.length, features.shape[0]
        context.reserve(start + rows + self.config.block_size)
        encoded = self.encode(features[None].to(self.dtype))
        angles = self.rotary(torch.arange(start, start + rows, device=self.device)[None], self.dtype)
        for index, layer in enumerate(self._layers()):
            context.write(index, start, *layer.self_attn.keys_values(encoded, angles))
        context.length = start + rows

    @torch.no_grad()
    def forward(self, block_embeddings: Tensor, context: DrafterContext) -> Tensor:
        """Draft one block behind the context.

        Args:
            block_embeddings: (1, B, hidden), of ``block_ids``; slot i is at position ``context.length + i``.
            context: left as it is.

        Returns:
            (1, B, hidden); slot i >= 1 is about the token at its own position.
        """
        length, size = context.length, block_embeddings.shape[1]
        context.reserve(length + size)
        hidden = block_embeddings.to(self.dtype)
        positions = context.positions = self.block_positions(length, size)
        angles = self.rotary(positions[None], self.dtype)
        for index, layer in enumerate(self._layers()):
            first, mask = self._block_mask(index, length, positions)
            context.first_keys[index] = first
            normed = layer.input_layernorm(hidden)
            context.write(index, length, *layer.self_attn.keys_values(normed, angles))
            keys = context.keys[index][:, :, first : length + size]
            values = context.values[index][:, :, first : length + size]
            hidden = hidden + layer.self_attn(normed, keys, values, angles, mask)
            hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
        return cast(Tensor, self.norm(hidden))

    def forward_blocks(self, block_embeddings: Tensor, features: Tensor, roots: Tensor) -> Tensor:
        """Draft many blocks of many sequences in one pass, as in training; gradients flow.

        The same as ``forward`` for each block with the context cut at its root.

        Args:
            block_embeddings: (N, K, B, hidden).
            features: (N, T, taps * hidden), from position 0 on; rows at or behind a root are hidden from it.
            roots: (N, K) positions of the blocks' slot 0.

        Returns:
            (N, K, B, hidden).
        """
        batch, blocks, size, width = block_embeddings.shape
        context_length = features.shape[1]
        encoded = self.encode(features)
        positions = roots[:, :, None] + torch.arange(size, device=roots.device)
        angles = self.rotary(positions.flatten(1), self.dtype)
        context_angles = self.rotary(torch.arange(context_length, device=roots.device)[None], self.dtype)
        hidden = block_embeddings.reshape(batch, blocks * size, width)
        masks: dict[tuple[bool, int | None], Tensor] = {}
        for index, layer in enumerate(self._layers()):
            kind = self.config.causal(index), self.config.window(index)
            if kind not in masks:
                masks[kind] = _many_blocks_mask(positions, context_length, *kind)
            normed = layer.input_layernorm(hidden)
            context_keys, context_values = layer.self_attn.keys_values(encoded, context_angles)
            block_keys, block_values = layer.self_attn.keys_values(normed, angles)
            keys = torch.cat([context_keys, block_keys], dim=2)
            values = torch.cat([context_values, block_values], dim=2)
            hidden = hidden + layer.self_attn(normed, keys, values, angles, masks[kind])
            hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
        return cast(Tensor, self.norm(hidden)).view(batch, blocks, size, width)

    def logits(self, hidden: Tensor, head: nn.Module) -> Tensor:
        """The drafter's logits for slots 1 .. B-1: (..., B, hidden) -> (..., B - 1, vocabulary).

        ``head`` is the target's output head; multiplier and soft cap are the drafter's own.
        """
        return self.slot_logits(hidden[..., 1:, :], head)

    def slot_logits(self, hidden: Tensor, head: nn.Module) -> Tensor:
        """The same for slots that are not in blocks: (..., hidden) -> (..., vocabulary)."""
        logits = cast(Tensor, head(hidden))
        if self.config.output_multiplier != 1.0:
            logits = logits * self.config.output_multiplier
        cap = self.config.final_logit_softcapping
        return logits if cap is None else torch.tanh(logits / cap) * cap

    def encode(self, features: Tensor) -> Tensor:
        """Features (..., taps * hidden) as the context rows (..., hidden) that all layers read."""
        return cast(Tensor, self.hidden_norm(self.fc(features)))

    def _layers(self) -> list[DrafterLayer]:
        return cast("list[DrafterLayer]", list(self.layers))

    def _block_mask(self, layer: int, length: int, positions: Tensor) -> tuple[int, Tensor | None]:
        """First key a block needs to read in this layer, and who sees whom from there on (None: all)."""
        causal, window = self.config.causal(layer), self.config.window(layer)
        if not causal and window is None:
            return 0, None
        first = 0 if window is None else max(0, length - window + 1)
        keys = torch.arange(first, length + len(positions), device=positions.device)
        return first, _visible(positions[:, None], keys[None, :], causal, window)


class DrafterLayer(nn.Module):
    """Weights of one layer; the order of its steps stands in ``Drafter``, where the keys come from."""

    def __init__(self, config: DFlashConfig, index: int) -> None:
        super().__init__()
        self.self_attn = DrafterAttention(config)
        self.mlp = GatedMLP(config)
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)


class DrafterAttention(nn.Module):
    """Grouped-query attention with normed queries and keys (Qwen3), keys given from outside."""

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        self.head_dim = config.head_dim
        self.groups = config.num_attention_heads // config.num_key_value_heads
        queries = config.num_attention_heads * config.head_dim
        pairs = config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, queries, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, pairs, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, pairs, bias=config.attention_bias)
        self.o_proj = nn.Linear(queries, config.hidden_size, bias=config.attention_bias)
        self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps)
        self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps)

    def keys_values(self, rows: Tensor, angles: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """(N, rows, hidden) -> rotated keys and values, each (N, kv heads, rows, head dim)."""
        keys = self.k_norm(self._heads(self.k_proj(rows))).transpose(1, 2)
        return _rotate(keys, angles), self._heads(self.v_proj(rows)).transpose(1, 2)

    def forward(
        self, rows: Tensor, keys: Tensor, values: Tensor, angles: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> Tensor:
        """(N, rows, hidden) over keys and values (N, kv heads, columns, head dim); True in mask: may see."""
        queries = _rotate(self.q_norm(self._heads(self.q_proj(rows))).transpose(1, 2), angles)
        grouped = self.groups > 1
        if grouped and mask is not None:
            # The fused kernels take a mask or grouped heads, not both; masked layers read few columns.
            keys, values = (part.repeat_interleave(self.groups, dim=1) for part in (keys, values))
            grouped = False
        mixed = scaled_dot_product_attention(queries, keys, values, attn_mask=mask, enable_gqa=grouped)
        return cast(Tensor, self.o_proj(mixed.transpose(1, 2).flatten(2)))

    def _heads(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:-1], -1, self.head_dim)


class GatedMLP(nn.Module):
    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        if config.hidden_act not in ACT2FN:
            raise EngineError(
                "drafter_config",
                f"The drafter's hidden_act {config.hidden_act!r} is unknown.",
                "Check the drafter's config.json.",
            )
        self.activation: Callable[[Tensor], Tensor] = ACT2FN[config.hidden_act]

    def forward(self, rows: Tensor) -> Tensor:
        return cast(Tensor, self.down_proj(self.activation(self.gate_proj(rows)) * self.up_proj(rows)))


class RMSNorm(nn.Module):
    """Qwen3's norm; the mean square is taken in float32, or in float64 for a float64 module."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, rows: Tensor) -> Tensor:
        wide = rows.to(torch.promote_types(rows.dtype, torch.float32))
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(rows.dtype)


class Rotary(nn.Module):
    """Rotary angles of positions. The frequencies stay float32 whatever the module is cast to."""

    def __init__(self, config: DFlashConfig) -> None:
        super().__init__()
        frequencies, self.scaling = rope_frequencies(config)
        self.frequencies: Tensor
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """(N, rows) positions -> cosines and sines (N, 1, rows, head dim) in ``dtype``."""
        wide = torch.promote_types(dtype, torch.float32)
        angles = positions[:, None, :, None].to(wide) * self.frequencies.to(wide)
        angles = torch.cat([angles, angles], dim=-1)
        return (angles.cos() * self.scaling).to(dtype), (angles.sin() * self.scaling).to(dtype)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Rotary:
        frequencies = self.frequencies
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.frequencies = frequencies.to(self.frequencies.device)
        return self


def rope_frequencies(config: DFlashConfig) -> tuple[Tensor, float]:
    """Inverse frequencies (head dim / 2,), float32 on the CPU, and the factor on cosines and sines."""
    if config.rope["rope_type"] == "default":
        exponents = torch.arange(0, config.head_dim, 2, device="cpu", dtype=torch.float32) / config.head_dim
        return 1.0 / (config.rope["rope_theta"] ** exponents), 1.0
    stand_in = Qwen3Config(
        hidden_size=config.hidden_size,
        num_attention_heads=config.num_attention_heads,
        head_dim=config.head_dim,
        max_position_embeddings=config.max_position_embeddings,
        rope_parameters=cast(Any, dict(config.rope)),
    )
    cpu = torch.device("cpu")
    with cpu:  # also while the module around is being built on the meta device
        frequencies, scaling = ROPE_INIT_FUNCTIONS[config.rope["rope_type"]](stand_in, device=cpu)
    return frequencies.float(), float(scaling)


def _rotate(heads: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = angles
    first, second = heads.chunk(2, dim=-1)
    return heads * cos + torch.cat([-second, first], dim=-1) * sin


def _visible(queries: Tensor, keys: Tensor, causal: bool, window: int | None) -> Tensor:
    """Which key positions a query position may see, before asking to which block a key belongs."""
    ahead = keys - queries
    seen = torch.ones_like(ahead, dtype=torch.bool)
    if causal:
        seen &= ahead <= 0
    if window is not None:
        seen &= ahead.abs() < window
    return seen


def _many_blocks_mask(positions: Tensor, context_length: int, causal: bool, window: int | None) -> Tensor:
    """Mask (N, 1, K*B, T + K*B) for blocks at ``positions`` (N, K, B): a slot sees the context before its
    root and its own block."""
    batch, blocks, size = positions.shape
    flat = positions.flatten(1)
    context = torch.arange(context_length, device=positions.device)
    before = context[None, None, :] < positions[:, :, :1].expand(-1, -1, size).flatten(1)[:, :, None]
    before = before & _visible(flat[:, :, None], context[None, None, :], causal, window)
    owner = torch.arange(blocks, device=positions.device).repeat_interleave(size)
    within = (owner[:, None] == owner[None, :])[None].expand(batch, -1, -1)
    within = within & _visible(flat[:, :, None], flat[:, None, :], causal, window)
    return torch.cat([before, within], dim=-1)[:, None]
