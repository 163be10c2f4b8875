"""The drafter over a context whose length is on the device, its small operations fused."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.drafter import Drafter, DrafterContext, DrafterLayer, RMSNorm
from engine.kernels.attention import kv_write, tree_attention
from engine.kernels.elementwise import attention_inputs, rms_norm, swiglu
from engine.static.state import StaticState


class StaticDrafter:
    """Hands over features and drafts with fixed shapes, in the session's own context buffers.

    Args:
        context: its buffers are made to hold ``capacity`` rows and stay where they are from then on.
        embedding: the target's, (V, hidden).
        head: the target's output head.
    """

    def __init__(
        self, drafter: Drafter, context: DrafterContext, embedding: Tensor, head: nn.Module, capacity: int
    ) -> None:
        context.reserve(capacity)
        self.drafter, self.context = drafter, context
        self.embedding, self.head = embedding, head
        size = drafter.config.block_size
        self._masks = torch.full((size,), drafter.config.mask_token_id, device=drafter.device)
        self._order = torch.arange(size, device=drafter.device)

    def draft(self, state: StaticState, block_size: int) -> Tensor:
        """Take over the features of the last commit, then draft behind it: logits (B - 1, V)."""
        self.hand_over(state, state.block_size)
        order = self._order[:block_size]
        ids = torch.where(order == 0, state.root_id, self._masks[:block_size])
        added = self.drafter.embed(ids, self.embedding).to(self.drafter.dtype)
        angles = self._angles(state.length + order)
        total: Tensor | None = None
        for index, layer in enumerate(self._layers()):
            normed, total = _norm(layer.input_layernorm, added, total)
            attended = self._attend(index, layer, normed, angles, state.length, order)
            normed, total = _norm(layer.post_attention_layernorm, attended, total)
            added = layer.mlp.down_proj(swiglu(layer.mlp.gate_proj(normed), layer.mlp.up_proj(normed)))
        hidden, _ = _norm(self.drafter.norm, added, total)
        return self.drafter.logits(hidden, self.head)

    def hand_over(self, state: StaticState, rows: int) -> None:
        """Write context rows for the first ``rows`` places of ``features``, at least all that count.

        Those that do not count fall behind the committed length, where nothing is read before it is
        written again.
        """
        start = state.length - state.feature_rows.int()
        encoded = self.drafter.encode(state.features[None, :rows].to(self.drafter.dtype))
        at = start + torch.arange(rows, device=state.device)
        angles = self.drafter.rotary(at[None], self.drafter.dtype)
        for index, layer in enumerate(self._layers()):
            keys, values = (part[0].transpose(0, 1) for part in layer.self_attn.keys_values(encoded, angles))
            kv_write(keys, values, self.context.keys[index][0], self.context.values[index][0], start)
        state.feature_rows.zero_()

    def _attend(
        self,
        index: int,
        layer: DrafterLayer,
        normed: Tensor,
        angles: tuple[Tensor, Tensor],
        length: Tensor,
        order: Tensor,
    ) -> Tensor:
        module, config = layer.self_attn, self.drafter.config
        keys, values = self.context.keys[index][0], self.context.values[index][0]
        q, k, v = (
            project(normed).view(len(order), -1, module.head_dim)
            for project in (module.q_proj, module.k_proj, module.v_proj)
        )
        q = attention_inputs(
            q,
            k,
            v,
            *angles,
            keys,
            values,
            length,
            q_weight=module.q_norm.weight,
            k_weight=module.k_norm.weight,
            eps=module.q_norm.eps,
        )
        window = config.window(index)
        out = tree_attention(
            q,
            keys,
            values,
            length,
            _visible(order, config.causal(index), window),
            module.head_dim**-0.5,
            depths=order,
            window=window,
        )
        projected: Tensor = module.o_proj(out.flatten(1))
        return projected

    def _angles(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines (B, head dim / 2), one angle per pair of dimensions."""
        cos, sin = self.drafter.rotary(positions[None], self.drafter.dtype)
        half = cos.shape[-1] // 2
        return cos[0, 0, :, :half], sin[0, 0, :, :half]

    def _layers(self) -> list[DrafterLayer]:
        return [layer for layer in self.drafter.layers if isinstance(layer, DrafterLayer)]


def _visible(order: Tensor, causal: bool, window: int | None) -> Tensor:
    """Which slots of the block a slot sees, bool (B, B); a window looks both ways."""
    distance = order[None, :] - order[:, None]
    visible = torch.ones_like(distance, dtype=torch.bool) if not causal else distance <= 0
    return visible if window is None else visible & (distance.abs() < window)


def _norm(module: RMSNorm, x: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
    """The norm of x + residual, and that sum."""
    return rms_norm(x, module.weight, module.eps, residual=residual)
