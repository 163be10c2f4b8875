"""The drafter over a context whose length is on the device."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.drafter import Drafter, DrafterContext, DrafterLayer
from engine.static.attention import PrefixMask
from engine.static.state import StaticState


class StaticDrafter:
    """Hands over features and drafts with fixed shapes, in the session's own context buffers.

    Args:
        context: its buffers must hold ``capacity`` rows and stay where they are.
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

    def draft(self, state: StaticState, block_size: int, extent: int) -> Tensor:
        """Take over the features of the last commit, then draft behind it: logits (B - 1, V)."""
        self.hand_over(state, state.block_size)
        order = self._order[:block_size]
        ids = torch.where(order == 0, state.root_id, self._masks[:block_size])
        hidden = self.drafter.embed(ids[None], self.embedding).to(self.drafter.dtype)
        angles = self.drafter.rotary((state.length + order)[None], self.drafter.dtype)
        for index, layer in enumerate(self.drafter.layers):
            assert isinstance(layer, DrafterLayer)
            normed = layer.input_layernorm(hidden)
            self._write(index, state.length + order, layer.self_attn.keys_values(normed, angles))
            keys, values = self.context.keys[index], self.context.values[index]
            mask = self._mask(index, state.length, order, extent)
            attended = layer.self_attn(normed, keys[:, :, :extent], values[:, :, :extent], angles, mask)
            hidden = hidden + attended
            hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
        return self.drafter.logits(self.drafter.norm(hidden), self.head)[0]

    def hand_over(self, state: StaticState, rows: int) -> None:
        """Write context rows for the first ``rows`` places of ``features``, at least all that count.

        Those that do not count fall behind the committed length, where nothing is read before it is
        written again.
        """
        at = state.length - state.feature_rows + torch.arange(rows, device=state.device)
        encoded = self.drafter.encode(state.features[None, :rows].to(self.drafter.dtype))
        angles = self.drafter.rotary(at[None], self.drafter.dtype)
        for index, layer in enumerate(self.drafter.layers):
            assert isinstance(layer, DrafterLayer)
            self._write(index, at, layer.self_attn.keys_values(encoded, angles))
        state.feature_rows.zero_()

    def _write(self, layer: int, at: Tensor, rows: tuple[Tensor, Tensor]) -> None:
        self.context.keys[layer].index_copy_(2, at, rows[0])
        self.context.values[layer].index_copy_(2, at, rows[1])

    def _mask(self, layer: int, length: Tensor, order: Tensor, extent: int) -> Tensor:
        """Who sees whom: bool (B, extent). Context rows before the root, and the block itself."""
        causal, window = self.drafter.config.causal(layer), self.drafter.config.window(layer)
        visible = torch.ones(len(order), len(order), dtype=torch.bool, device=length.device)
        if causal:
            visible = visible.tril()
        mask = PrefixMask(length, visible, order, extent, window).dense()
        if window is not None and not causal:
            # A window that looks both ways.
            columns = torch.arange(extent, device=length.device)
            mask = mask & (columns - (length + order)[:, None] < window)
        return mask
