"""The drafter over a context whose length is on the device, its small operations fused."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.drafter import Drafter, DrafterContext, DrafterLayer, RMSNorm
from engine.kernels.attention import tree_attention
from engine.kernels.elementwise import attention_inputs, rms_norm, rotary_angles, swiglu
from engine.merged import merge, merge_all, project, project_stacked
from engine.room import MAX_PENDING
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
        self._layers = [layer for layer in drafter.layers if isinstance(layer, DrafterLayer)]
        attentions = [layer.self_attn for layer in self._layers]
        # All layers in one buffer, so that their keys and values of one row of the context are one product.
        merge([linear for each in attentions for linear in (each.q_proj, each.k_proj, each.v_proj)])
        merge_all(drafter)
        context.reserve(capacity)
        self.drafter, self.context = drafter, context
        self.embedding, self.head = embedding, head
        size = drafter.config.block_size
        self._masks = torch.full((size,), drafter.config.mask_token_id, device=drafter.device)
        self._order = torch.arange(max(size, MAX_PENDING), device=drafter.device)
        config, kinds = drafter.config, range(len(drafter.layers))
        self._visible = [_visible(self._order[:size], config.causal(i), config.window(i)) for i in kinds]

    def draft(self, state: StaticState, block_size: int) -> Tensor:
        """Take over the features of the last commit, then draft behind it: logits (B - 1, V)."""
        self.hand_over(state, state.block_size)
        order = self._order[:block_size]
        ids = torch.where(order == 0, state.root_id, self._masks[:block_size])
        added = self.drafter.embed(ids, self.embedding).to(self.drafter.dtype)
        angles = self._angles(state.length, order)
        total: Tensor | None = None
        for index, layer in enumerate(self._layers):
            normed, total = _norm(layer.input_layernorm, added, total)
            attended = self._attend(index, layer, normed, angles, state.length, order)
            normed, total = _norm(layer.post_attention_layernorm, attended, total)
            gate, up = project(normed, layer.mlp.gate_proj, layer.mlp.up_proj)
            silu = self.drafter.config.hidden_act == "silu"
            gated = swiglu(gate, up) if silu else layer.mlp.activation(gate) * up
            (added,) = project(gated, layer.mlp.down_proj)
        hidden, _ = _norm(self.drafter.norm, added, total)
        return self.drafter.logits(hidden, self.head)

    def hand_over(self, state: StaticState, rows: int) -> None:
        """Write context rows for the first ``rows`` places of ``features``, at least all that count.

        Those that do not count fall behind the committed length, where nothing is read before it is
        written again.
        """
        start = state.length - state.feature_rows.int()
        (features,) = project(state.features[:rows].to(self.drafter.dtype), self.drafter.fc)
        encoded, _ = _norm(self.drafter.hidden_norm, features, None)
        angles = self._angles(start, self._order[:rows])
        for index, (k, v) in enumerate(self._context_rows(encoded)):
            module = self._layers[index].self_attn
            attention_inputs(
                k[:, :0],
                k,
                v,
                *angles,
                self.context.keys[index][0],
                self.context.values[index][0],
                start,
                q_weight=module.q_norm.weight,
                k_weight=module.k_norm.weight,
                eps=module.k_norm.eps,
            )
        state.feature_rows.zero_()

    def _context_rows(self, encoded: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Per layer, keys and values (R, kv heads, d) of encoded features (R, hidden), before norm and
        rotary."""
        pairs = [(layer.self_attn.k_proj, layer.self_attn.v_proj) for layer in self._layers]
        stacked = project_stacked(encoded, pairs)
        if stacked is None:
            projected = [project(encoded, *pair) for pair in pairs]
        else:
            projected = [part.chunk(2, dim=-1) for part in stacked]
        width = self.drafter.config.head_dim
        return [(k.view(len(k), -1, width), v.view(len(v), -1, width)) for k, v in projected]

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
            part.view(len(order), -1, module.head_dim)
            for part in project(normed, module.q_proj, module.k_proj, module.v_proj)
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
            self._visible[index][: len(order), : len(order)],
            module.head_dim**-0.5,
            depths=order,
            window=window,
        )
        return project(out.flatten(1), module.o_proj)[0]

    def _angles(self, start: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines (R, head dim / 2) at positions start + offsets, one per pair."""
        rotary, dtype = self.drafter.rotary, self.drafter.dtype
        frequencies = rotary.frequencies.to(torch.promote_types(dtype, torch.float32))
        return rotary_angles(start, offsets, frequencies, rotary.scaling, dtype)


def _visible(order: Tensor, causal: bool, window: int | None) -> Tensor:
    """Which slots of the block a slot sees, bool (B, B); a window looks both ways."""
    distance = order[None, :] - order[:, None]
    visible = torch.ones_like(distance, dtype=torch.bool) if not causal else distance <= 0
    return visible if window is None else visible & (distance.abs() < window)


def _norm(module: RMSNorm, x: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
    """The norm of x + residual, and that sum."""
    return rms_norm(x, module.weight, module.eps, residual=residual)
