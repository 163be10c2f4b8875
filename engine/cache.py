"""What the target remembers of the committed text.

Invariant: between passes a cache holds ``length`` committed tokens and nothing of any rejected branch.
A pass over a tree adds *pending* rows; ``commit`` keeps those of the accepted path and forgets the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from engine.rows import Rows

StateAfter = Callable[[Tensor], Tensor]
"""From the rows of a path (int64) to the recurrent state (H, dk, dv) after them."""


class TreeMask(ABC):
    """A cache's own way to attend, in place of a dense mask."""

    @abstractmethod
    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, scaling: float | None, sinks: Tensor | None
    ) -> Tensor:
        """``engine.attention.attend`` for key and value as the cache's ``update`` returned them."""


class DeltaRunner(ABC):
    """A cache that runs the gated-delta layers itself."""

    @abstractmethod
    def forward_delta(self, module: Any, hidden: Tensor) -> Tensor:
        """One layer over the rows of the pass: (1, R, hidden) in and out."""


class KeyValueRows:
    """Keys and values of one attention layer, written in place into growing buffers (1, H, capacity, d).

    Args:
        limit: most rows there will ever be; buffers double no further.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.length = 0
        self._limit = limit
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add pending rows (1, H, R, d) behind the committed ones; all rows so far come back."""
        end = self.length + keys.shape[2]
        capacity = max(256, 2 * end)
        if self._limit is not None:
            capacity = max(end, min(capacity, self._limit))
        self._keys = _with_room(self._keys, keys, self.length, end, capacity)
        self._values = _with_room(self._values, values, self.length, end, capacity)
        self._keys[:, :, self.length : end] = keys
        self._values[:, :, self.length : end] = values
        return self._keys[:, :, :end], self._values[:, :, :end]

    def commit(self, path: Tensor) -> None:
        """Keep the pending rows of ``path`` (int64, row numbers) and forget the others."""
        end = self.length + path.shape[0]
        for buffer in self.buffers():
            buffer[:, :, self.length : end] = buffer[:, :, self.length + path.to(buffer.device)]
        self.length = end

    @torch.inference_mode()
    def replace(self, keys: Tensor, values: Tensor) -> None:
        """Hold these committed rows (1, H, rows, d), from whatever device, instead of others."""
        self.length, rows = 0, keys.shape[2]
        self.reserve(rows)
        for buffer, given in zip(self.buffers(), (keys, values), strict=True):
            buffer[:, :, :rows].copy_(given)
        self.length = rows

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` rows; a no-op once there is."""
        keys, values = self.buffers()
        self._keys = _with_room(keys, keys[:, :, :0], self.length, capacity, capacity)
        self._values = _with_room(values, values[:, :, :0], self.length, capacity, capacity)

    def buffers(self) -> tuple[Tensor, Tensor]:
        """The whole buffers, committed rows first, (1, H, capacity, d) each."""
        assert self._keys is not None
        assert self._values is not None
        return self._keys, self._values

    def committed(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the committed rows, (1, H, length, d) each."""
        keys, values = self.buffers()
        return keys[:, :, : self.length], values[:, :, : self.length]


def _with_room(buffer: Tensor | None, like: Tensor, used: int, needed: int, capacity: int) -> Tensor:
    if buffer is not None and buffer.shape[2] >= needed:
        return buffer
    # Zeros, not garbage: attention may read masked rows, and 0 · NaN is NaN.
    grown = like.new_zeros(*like.shape[:2], capacity, like.shape[3])
    if buffer is not None:
        grown[:, :, :used] = buffer[:, :, :used]
    return grown


class DeltaState:
    """Conv window (K - 1, C) and recurrent state (H, dk, dv) of one gated-delta layer.

    Neither tensor is ever written in place: a snapshot is a reference.

    Attributes:
        rows, index, path: for whoever wants to know what the last pass and commit really used: the rows that
            the recurrence ran over, the gather index of the convolution (R, K), the path committed.
    """

    def __init__(self) -> None:
        self.window: Tensor | None = None
        self.state: Tensor | None = None
        self.rows: Rows | None = None
        self.index: Tensor | None = None
        self.path: Tensor | None = None
        self._inputs: Tensor | None = None
        self._state_after: StateAfter | None = None

    def hold(self, inputs: Tensor, index: Tensor, state_after: StateAfter, rows: Rows) -> None:
        """Keep what a commit of pending rows needs: the conv inputs (K - 1 + R, C), their gather index
        (R, K), and the state after any path."""
        self._inputs, self._state_after = inputs, state_after
        self.index, self.rows = index, rows

    def commit(self, path: Tensor) -> None:
        """The last row of ``path`` becomes the end of the committed text.

        Outside of inference mode: the tensors then count how often they are written, which must stay once.
        """
        assert self._inputs is not None
        assert self.index is not None
        assert self._state_after is not None
        path = path.to(self._inputs.device)
        self.window = self._inputs[self.index[path[-1], 1:]]
        state = self._state_after(path)
        self.state = state.clone() if state.is_inference() else state
        self.path = path
        self._inputs = self._state_after = None

    def mark(self) -> Mark:
        """What ``changed_since`` compares with."""
        state = self.state
        return self.window, state, -1 if state is None or state.is_inference() else state._version

    def changed_since(self, mark: Mark) -> bool:
        """Whether window or state were replaced, or the state written to."""
        window, state, writes = mark
        if self.window is not window or self.state is not state:
            return True
        return state is not None and writes >= 0 and state._version != writes


Mark = tuple[Tensor | None, Tensor | None, int]
"""A window, a state, and how often that was written to; -1 where it is not counted."""


class Pass(NamedTuple):
    """What the last pass through the target really used and gave: references, for whoever looks at a run.

    Attributes:
        ids: int64 (R,), the tokens of its rows.
        positions: int64 (R,), which the rows were rotated by.
        features: (R, layers · hidden), what the drafter is handed of them; of a prefill copies for the first
            row alone, (1, layers · hidden).
        first_row: of a prefill, the first row's embedding and the output of every layer there, the last one
            after the final norm: (layers + 1, hidden), as transformers counts hidden states.
        unnormed: of a prefill, the first row's output of the last layer before the final norm (hidden,).
    """

    ids: Tensor
    rows: Rows
    positions: Tensor
    features: Tensor
    first_row: Tensor | None = None
    unnormed: Tensor | None = None


@dataclass(frozen=True)
class Snapshot:
    """A point of the committed text to which a cache can go back."""

    length: int
    delta: tuple[tuple[Tensor | None, Tensor | None], ...]


class TargetCache:
    """One entry per layer. Passed to transformers' attention modules as their cache.

    Args:
        limit: most rows there will ever be, pending ones included.

    Attributes:
        states: the layers with a recurrent state, in order.
        passed: what the last pass used and gave.
        touched: of the layers with a recurrent state, which had it changed while the last tree was verified.
    """

    def __init__(self, layer_kinds: list[str], limit: int | None = None) -> None:
        self.layers: list[DeltaState | KeyValueRows] = [
            DeltaState() if kind == "linear_attention" else KeyValueRows(limit) for kind in layer_kinds
        ]
        self.length = 0
        self.states = [layer for layer in self.layers if isinstance(layer, DeltaState)]
        self.rows: Rows | None = None
        self.passed: Pass | None = None
        self.touched: list[int] = []
        self._marks: list[Mark] = []

    @property
    def key_values(self) -> list[KeyValueRows]:
        """The attention layers, in order."""
        return [layer for layer in self.layers if isinstance(layer, KeyValueRows)]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Transformers' name for ``KeyValueRows.append``."""
        layer = self.layers[layer_idx]
        assert isinstance(layer, KeyValueRows)
        return layer.append(key_states, value_states)

    def positions(self) -> Tensor:
        """Absolute positions of the pass's rows: int64 (R,)."""
        assert self.rows is not None
        return self.length + self.rows.depths

    def attention_masks(self, window: int | None) -> dict[str, Tensor | TreeMask | None]:
        """What each kind of layer masks its rows with; ``window``: of the sliding layers."""
        assert self.rows is not None
        return {
            "full_attention": self.rows.attention_mask(self.length),
            "sliding_attention": self.rows.attention_mask(self.length, window),
            "linear_attention": None,
        }

    def _mark(self) -> None:
        """Take in what ``changed_since_commit`` compares with."""
        self._marks = [state.mark() for state in self.states]

    def changed_since_commit(self) -> list[int]:
        """Of the layers with a recurrent state, which had it replaced or written to."""
        changed = map(DeltaState.changed_since, self.states, self._marks)
        return [place for place, touched in enumerate(changed) if touched]

    def note(self, passed: Pass) -> None:
        """Keep what a pass used and gave."""
        self.passed = passed

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.length

    def delta(self, layer_idx: int) -> DeltaState:
        layer = self.layers[layer_idx]
        assert isinstance(layer, DeltaState)
        return layer

    def commit(self, path: Tensor) -> None:
        """Commit the rows of ``path`` (int64, from the pass's first row down) in every layer."""
        with torch.inference_mode(False), torch.no_grad():
            for state in self.states:
                state.commit(path)
            self._mark()
        with torch.inference_mode():
            for rows in self.key_values:
                rows.commit(path)
        self.length += int(path.shape[0])
        self.rows = None

    def snapshot(self) -> Snapshot:
        return Snapshot(self.length, tuple((layer.window, layer.state) for layer in self.states))

    def clear(self) -> None:
        """Forget the text, keep the buffers."""
        for layer in self.layers:
            if isinstance(layer, DeltaState):
                layer.window = layer.state = None
            else:
                layer.length = 0
        self.length = 0
        self.rows = self.passed = None

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to an earlier point of the same text."""
        states = iter(snapshot.delta)
        for layer in self.layers:
            if isinstance(layer, DeltaState):
                layer.window, layer.state = next(states)
            else:
                layer.length = snapshot.length
        self.length = snapshot.length
        self.rows = None

    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        tensors: list[Tensor | None] = []
        for layer in self.layers:
            if isinstance(layer, DeltaState):
                tensors += [layer.window, layer.state]
            else:
                tensors += [layer._keys, layer._values]
        return sum(t.numel() * t.element_size() for t in tensors if t is not None)


def state_dtype(dtype: torch.dtype) -> torch.dtype:
    """Recurrent states are float32 at least: rounding them to bfloat16 drifts over a long text."""
    return torch.float64 if dtype == torch.float64 else torch.float32
