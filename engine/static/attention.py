"""Attention over a committed prefix whose length is on the device, and the rows of a tree behind it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.cache import TreeMask
from engine.kernels.attention import tree_attention


@dataclass(frozen=True)
class PrefixMask(TreeMask):
    """Columns 0 .. length - 1 are the committed text, the next R the tree's own rows; the rest is not read.

    Attributes:
        length: int32 (), on the device.
        visible: bool (R, R), which of the tree's rows a row sees.
        depths: int64 (R,), position = length + depth.
        window: positions a sliding window covers, the row's own included.
    """

    length: Tensor
    visible: Tensor
    depths: Tensor
    window: int | None = None

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, scaling: float | None, sinks: Tensor | None
    ) -> Tensor:
        """Key and value are the whole buffers, (1, kv heads, capacity, d)."""
        out = tree_attention(
            query[0].transpose(0, 1),
            key[0],
            value[0],
            self.length,
            self.visible,
            query.shape[-1] ** -0.5 if scaling is None else scaling,
            depths=self.depths,
            window=self.window,
            sinks=sinks,
        )
        return out.transpose(0, 1)[None]
