"""Conv windows and recurrent states of all gated-delta layers, stacked at fixed addresses.

One commit moves all layers at once: their solutions lie side by side as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.cache import DeltaState
from engine.delta_layer import PROJECTIONS
from engine.kernels.delta import TreeSolution, tree_delta, tree_delta_commit
from engine.kernels.delta_inputs import conv_window, delta_inputs
from engine.kernels.elementwise import gated_rms_norm
from engine.merged import project
from engine.rows import Rows


@dataclass(frozen=True)
class Pending:
    """What the rows of one pass left for the commit, for L layers: conv inputs (L, R, C), k (L, R, Hk, dk),
    u (L, R, Hv, dv) and cumulated decay (L, R, Hv)."""

    inputs: Tensor
    k: Tensor
    u: Tensor
    decay: Tensor

    def solution(self) -> TreeSolution:
        return TreeSolution(self.k, self.u, self.decay)


class StaticDelta:
    """The recurrent memory of L layers: windows (L, K - 1, C) and states (L, Hv, dk, dv), and what they were
    before the last commit if that was revocable.

    Args:
        sources: the session's, one per layer, which hold a text.
        key_heads: Hk.
    """

    def __init__(self, sources: Sequence[DeltaState], key_heads: int) -> None:
        self.windows, self.states = _stacked(sources)
        self._before: tuple[Tensor, Tensor] | None = None
        self._key_heads = key_heads
        self._pending: dict[int, Pending] = {}
        self._last = 0

    def enter(self, sources: Sequence[DeltaState]) -> None:
        for place, source in enumerate(sources):
            assert source.window is not None
            assert source.state is not None
            self.windows[place].copy_(source.window)
            self.states[place].copy_(source.state)

    def leave(self, targets: Sequence[DeltaState]) -> None:
        for place, target in enumerate(targets):
            target.window, target.state = self.windows[place].clone(), self.states[place].clone()

    def forward(self, place: int, module: Any, hidden: Tensor, rows: Rows) -> Tensor:
        """One layer over a tree's rows: (R, hidden) in and out. Its rows stay pending."""
        pending = self._pending_for(len(rows))
        self._last = len(rows)
        inputs = PROJECTIONS[type(module).__name__](module, hidden)
        delta = delta_inputs(
            inputs.qkv,
            self.windows[place],
            rows.parents,
            module.conv1d.weight[:, 0],
            module.conv1d.bias,
            inputs.a,
            inputs.b,
            module.A_log,
            module.dt_bias,
            (module.num_k_heads, module.num_v_heads),
            (module.head_k_dim, module.head_v_dim),
            k=pending.k[place],
            kept=pending.inputs[place],
        )
        out, _ = tree_delta(
            *delta, rows.visible, self.states[place], u=pending.u[place], decay=pending.decay[place]
        )
        gate = inputs.z.reshape(len(rows), -1, module.head_v_dim)
        normed = gated_rms_norm(out, gate, module.norm.weight, module.norm.variance_epsilon)
        return project(normed.flatten(1), module.out_proj)[0]

    def commit(self, path: Tensor, count: Tensor, revocable: bool = False) -> None:
        """Commit the first ``count`` (int32, one element) rows of ``path`` (int32) of the last pass; 0 leaves
        all as it is.

        Args:
            revocable: keep what memory was before, for ``recommit``.
        """
        if revocable:
            if self._before is None:
                self._before = torch.empty_like(self.windows), torch.empty_like(self.states)
            self._before[0].copy_(self.windows)
            self._before[1].copy_(self.states)
        self._move(self.windows, self.states, path, count)

    def recommit(self, path: Tensor, count: Tensor) -> None:
        """Commit another part of the same pass instead of what was committed last, by a revocable commit."""
        assert self._before is not None
        self._move(*self._before, path, count)

    def _move(self, windows: Tensor, states: Tensor, path: Tensor, count: Tensor) -> None:
        """Move on from ``windows`` and ``states``."""
        pending = self._pending[self._last]
        conv_window(windows, pending.inputs, path, count, self.windows)
        tree_delta_commit(states, pending.solution(), path, count, self.states)

    def _pending_for(self, rows: int) -> Pending:
        if rows not in self._pending:
            layers, heads, dk, dv = self.states.shape
            states, windows = self.states, self.windows
            self._pending[rows] = Pending(
                inputs=windows.new_zeros(layers, rows, windows.shape[-1]),
                k=states.new_zeros(layers, rows, self._key_heads, dk),
                u=states.new_zeros(layers, rows, heads, dv),
                decay=states.new_zeros(layers, rows, heads),
            )
        return self._pending[rows]


def _stacked(sources: Sequence[DeltaState]) -> tuple[Tensor, Tensor]:
    windows = [source.window for source in sources if source.window is not None]
    states = [source.state for source in sources if source.state is not None]
    return torch.stack(windows), torch.stack(states)
