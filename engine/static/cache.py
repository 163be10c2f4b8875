"""The target's cache for rounds on the device.

The same memory as ``engine.cache.TargetCache``, but the committed length is a device tensor, the rows of a
pass are written at that length in place, and a commit takes a path of fixed length.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.cache import DeltaState, KeyValueRows, TargetCache, TreeMask
from engine.rows import Rows
from engine.static.attention import PrefixMask


class StaticDelta(DeltaState):
    """Conv window and recurrent state at fixed addresses, with those before the last commit."""

    def __init__(self, source: DeltaState) -> None:
        super().__init__()
        assert source.window is not None
        assert source.state is not None
        self._now = (source.window.clone(), source.state.clone())
        self._before = (source.window.clone(), source.state.clone())
        self.window, self.state = self._now

    def enter(self, source: DeltaState) -> None:
        assert source.window is not None
        assert source.state is not None
        self._now[0].copy_(source.window)
        self._now[1].copy_(source.state)

    def leave(self, target: DeltaState) -> None:
        target.window, target.state = self._now[0].clone(), self._now[1].clone()

    def commit_where(self, path: Tensor, active: Tensor) -> None:
        """Commit ``path`` (its last row may be repeated) where ``active``, bool ()."""
        for now, before in zip(self._now, self._before, strict=True):
            before.copy_(now)
        self._commit(path, active)

    def recommit(self, path: Tensor) -> None:
        """Commit another path of the same pass instead of the last one."""
        for now, before in zip(self._now, self._before, strict=True):
            now.copy_(before)
        self._commit(path, torch.ones((), dtype=torch.bool, device=path.device))

    def _commit(self, path: Tensor, active: Tensor) -> None:
        """Both buffers hold the state before the commit, which is what ``_state_after`` reads."""
        assert self._inputs is not None
        assert self._index is not None
        assert self._state_after is not None
        window = self._inputs[self._index[path[-1], 1:]]
        for now, after in zip(self._now, (window, self._state_after(path)), strict=True):
            now.copy_(torch.where(active, after, now))


class StaticCache(TargetCache):
    """Passes over fixed numbers of rows behind a committed length on the device.

    Args:
        source: the session's cache, whose key and value buffers are used in place.
        length: int64 (), see ``StaticState``.
        capacity: rows its buffers must hold.
    """

    def __init__(self, source: TargetCache, length: Tensor, capacity: int) -> None:
        self.device_length = length
        self.capacity = capacity
        self.extent = capacity
        self.rows: Rows | None = None
        self.layers: list[DeltaState | KeyValueRows] = []
        for layer in source.layers:
            if isinstance(layer, DeltaState):
                self.layers.append(StaticDelta(layer))
            else:
                layer.reserve(capacity)
                self.layers.append(layer)

    def enter(self, source: TargetCache) -> None:
        """Take over the session's recurrent states."""
        for mine, theirs in zip(self.layers, source.layers, strict=True):
            if isinstance(mine, StaticDelta) and isinstance(theirs, DeltaState):
                mine.enter(theirs)

    def leave(self, source: TargetCache, length: int) -> None:
        """Give the states back to the session's cache, which then holds ``length`` tokens."""
        for mine, theirs in zip(self.layers, source.layers, strict=True):
            if isinstance(mine, StaticDelta) and isinstance(theirs, DeltaState):
                mine.leave(theirs)
            elif isinstance(theirs, KeyValueRows):
                theirs.length = length
        source.length = length

    def positions(self) -> Tensor:
        assert self.rows is not None
        return self.device_length + self.rows.depths

    def attention_masks(self, window: int | None) -> dict[str, Tensor | TreeMask | None]:
        assert self.rows is not None
        full = PrefixMask(self.device_length, self.rows.visible, self.rows.depths, self.extent, None)
        return {
            "full_attention": full,
            "sliding_attention": full.sliding(window),
            "linear_attention": None,
        }

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write pending rows (1, H, R, d) behind the committed ones; the whole buffers come back."""
        layer = self.layers[layer_idx]
        assert isinstance(layer, KeyValueRows)
        at = self.device_length + torch.arange(key_states.shape[2], device=key_states.device)
        keys, values = layer.buffers()
        keys.index_copy_(2, at, key_states)
        values.index_copy_(2, at, value_states)
        return keys, values

    def commit_where(self, path: Tensor, active: Tensor) -> None:
        """Commit the rows of ``path``, int64 (n,), its last row repeated to fill up, where ``active``.

        The committed length is the caller's to move; rows behind it are never read.
        """
        order = torch.arange(path.shape[0], device=path.device)
        into, out_of = self.device_length + order, self.device_length + torch.where(active, path, order)
        for layer in self.layers:
            if isinstance(layer, StaticDelta):
                layer.commit_where(path, active)
            elif isinstance(layer, KeyValueRows):
                for buffer in layer.buffers():
                    buffer.index_copy_(2, into, buffer.index_select(2, out_of))

    def recommit(self, path: Tensor) -> None:
        """Commit a shorter part of the path committed last; its key and value rows are in place already."""
        for layer in self.layers:
            if isinstance(layer, StaticDelta):
                layer.recommit(path)
