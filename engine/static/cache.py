"""The target's cache for rounds on the device.

The same memory as ``engine.cache.TargetCache``, but the committed length is a device tensor, the rows of a
pass are written at that length in place, and a commit takes a path of fixed length and a count.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from engine.cache import DeltaRunner, KeyValueRows, Pass, TargetCache, TreeMask
from engine.kernels.attention import LayerBuffers, kv_commit, kv_write
from engine.rows import Rows
from engine.static.attention import PrefixMask
from engine.static.delta import StaticDelta


class StaticCache(TargetCache, DeltaRunner):
    """Passes over fixed numbers of rows behind a committed length on the device.

    Args:
        source: the session's cache, whose key and value buffers are used in place.
        length: int32 (), see ``StaticState``.
        capacity: rows its buffers must hold.
        delta_modules: the target's gated-delta modules in order.
        windows: per layer, the positions its sliding window covers; None without one.
    """

    def __init__(
        self,
        source: TargetCache,
        length: Tensor,
        capacity: int,
        delta_modules: list[nn.Module],
        windows: list[int | None],
    ) -> None:
        self.windows = windows
        self.device_length = length
        self.rows: Rows | None = None
        self.layers, self.states = source.layers, source.states
        for layer in self.key_values:
            layer.reserve(capacity)
        buffers = [part[0] for layer in self.key_values for part in layer.buffers()]
        self._buffers = LayerBuffers(buffers) if buffers else None
        self._place_of = {id(module): place for place, module in enumerate(delta_modules)}
        first: Any = delta_modules[0] if delta_modules else None
        self.delta_memory = StaticDelta(self.states, first.num_k_heads) if first is not None else None

    def enter(self) -> None:
        """Take over the session's recurrent states."""
        if self.delta_memory is not None:
            self.delta_memory.enter(self.states)

    def leave(self, source: TargetCache, length: int) -> None:
        """Give the states back to the session's cache, which then holds ``length`` tokens."""
        if self.delta_memory is not None:
            self.delta_memory.leave(self.states)
        for layer in self.key_values:
            layer.length = length
        source.length = length

    def positions(self) -> Tensor:
        assert self.rows is not None
        return self.device_length + self.rows.depths

    def attention_masks(self, window: int | None) -> dict[str, Tensor | TreeMask | None]:
        assert self.rows is not None
        rows = (self.device_length, self.rows.visible, self.rows.depths)
        return {
            "full_attention": PrefixMask(*rows),
            "sliding_attention": PrefixMask(*rows, window),
            "linear_attention": None,
        }

    def forward_delta(self, module: Any, hidden: Tensor) -> Tensor:
        assert self.rows is not None
        assert self.delta_memory is not None
        return self.delta_memory.forward(self._place_of[id(module)], module, hidden[0], self.rows)[None]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write pending rows (1, H, R, d) behind the committed ones; the whole buffers come back."""
        layer = self.layers[layer_idx]
        assert isinstance(layer, KeyValueRows)
        keys, values = layer.buffers()
        rows = (key_states[0].transpose(0, 1), value_states[0].transpose(0, 1))
        kv_write(*rows, keys[0], values[0], self.device_length)
        return keys, values

    def commit_path(self, path: Tensor, count: Tensor, revocable: bool = False) -> None:
        """Commit the first ``count`` (int32, one element) rows of ``path`` (int32, B); 0 leaves all as it is.

        The committed length is the caller's to move; rows behind it are never read.

        Args:
            revocable: keep what ``recommit`` needs.
        """
        if self.delta_memory is not None:
            self.delta_memory.commit(path, count, revocable)
        if self._buffers is not None:
            kv_commit(self._buffers, path, count, self.device_length)

    def recommit(self, path: Tensor, count: Tensor) -> None:
        """Commit a shorter part of the path committed last, by a revocable commit; its key and value rows
        are in place already."""
        if self.delta_memory is not None:
            self.delta_memory.recommit(path, count)

    def note(self, passed: Pass) -> None:
        """A pass on the device leaves nothing behind but its record."""
