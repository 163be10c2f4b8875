"""Attention over a committed prefix whose length is on the device, and the rows of a tree behind it."""

from __future__ import annotations

import torch
from torch import Tensor

from engine import attention
from engine.cache import TreeMask
from engine.kernels.attention import tree_attention
from engine.kernels.backend import use_triton


class PrefixMask(TreeMask):
    """Columns 0 .. length - 1 are the committed text, the next R the tree's own rows; the rest is not read.

    Args:
        length: int32 (), on the device.
        visible: bool (R, R), which of the tree's rows a row sees.
        depths: int64 (R,), position = length + depth.
        extent: columns of the buffers to look at; length + R at most.
        window: positions a sliding window covers, the row's own included.
    """

    def __init__(
        self, length: Tensor, visible: Tensor, depths: Tensor, extent: int, window: int | None
    ) -> None:
        self.length, self.visible, self.depths = length, visible, depths
        self.extent, self.window = extent, window
        self._dense: Tensor | None = None

    def sliding(self, window: int | None) -> PrefixMask:
        """The same rows under a sliding window."""
        return PrefixMask(self.length, self.visible, self.depths, self.extent, window)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, scaling: float | None, sinks: Tensor | None
    ) -> Tensor:
        """Key and value are the whole buffers, (1, kv heads, capacity, d)."""
        if use_triton(query):
            scale = query.shape[-1] ** -0.5 if scaling is None else scaling
            out = tree_attention(
                query[0].transpose(0, 1),
                key[0],
                value[0],
                self.length,
                self.visible,
                scale,
                depths=self.depths,
                window=self.window,
                sinks=sinks,
            )
            return out.transpose(0, 1)[None]
        if self._dense is None:
            self._dense = self.dense()
        keys, values = key[:, :, : self.extent], value[:, :, : self.extent]
        return attention.attend(query, keys, values, self._dense[None, None], scaling, sinks)

    def dense(self) -> Tensor:
        """The mask written out: bool (R, extent)."""
        rows = self.visible.shape[0]
        columns = torch.arange(self.extent, device=self.length.device)
        own = columns - self.length  # place among the tree's rows
        inside = (own >= 0) & (own < rows)
        mask = (columns < self.length) | (self.visible[:, own.clamp(0, rows - 1)] & inside)
        if self.window is not None:
            position = torch.where(inside, self.length + self.depths[own.clamp(0, rows - 1)], columns)
            mask = mask & ((self.length + self.depths)[:, None] - position < self.window)
        return mask
