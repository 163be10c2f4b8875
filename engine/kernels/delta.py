r"""The gated delta rule over the rows of a tree, with fixed shapes.

The system solved is that of ``engine.gated_delta``; here queries and keys stay shared by the value heads of
their group, padded rows are allowed, and a commit takes its path and its length from the device.

Row 0 is the root: an ancestor of every row, padded rows included.

Padded rows. Rows past the tree's own may hold any finite numbers: as nobody's ancestors they reach no valid
row. Their own outputs mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.gated_delta import DeltaRows, solve_tree
from engine.kernels.backend import use_triton, wide


@dataclass(frozen=True)
class TreeSolution:
    """What a commit needs. A leading dimension of layers may precede the shapes given here.

    Attributes:
        k: (R, Hk, dk), normalised keys.
        u: float32 (R, Hv, dv), what each row writes along its key.
        decay: float32 (R, Hv), G: the log decay summed from the root to each row.
    """

    k: Tensor
    u: Tensor
    decay: Tensor


def tree_delta(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    visible: Tensor,
    state: Tensor,
    *,
    out: Tensor | None = None,
    u: Tensor | None = None,
    decay: Tensor | None = None,
) -> tuple[Tensor, TreeSolution]:
    """Outputs of all rows of a tree from one committed state, without a state per node.

    Args:
        q: (R, Hk, dk), normalised and scaled; each serves Hv / Hk value heads. Rows may be strided.
        k: (R, Hk, dk), normalised.
        v: (R, Hv, dv).
        g: (R, Hv), log decay, at most 0.
        beta: (R, Hv), write strength.
        visible: bool (R, R), ancestor-or-self, rows in topological order; ``visible[:, 0]`` is all True.
        state: (Hv, dk, dv), S_0; only read.
        out: (R, Hv, dv) to write into; a new float32 tensor by default.
        u: float32 (R, Hv, dv) to write into.
        decay: float32 (R, Hv) to write into.

    Returns:
        o (R, Hv, dv), and the solution from which any path can be committed.
    """
    if use_triton(state):
        import engine.kernels.jit.delta as jit

        return jit.tree_delta(q, k, v, g, beta, visible, state, out=out, u=u, decay=decay)
    return tree_delta_torch(q, k, v, g, beta, visible, state, out=out, u=u, decay=decay)


def tree_delta_torch(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    visible: Tensor,
    state: Tensor,
    *,
    out: Tensor | None = None,
    u: Tensor | None = None,
    decay: Tensor | None = None,
) -> tuple[Tensor, TreeSolution]:
    """``tree_delta`` in plain torch: ``engine.gated_delta.solve_tree``, one key head per value head."""
    dtype = wide(state.dtype)
    group = v.shape[1] // q.shape[1]
    queries, keys = (x.to(dtype).repeat_interleave(group, dim=1) for x in (q, k))
    rows = DeltaRows(queries, keys, v.to(dtype), g.to(dtype), beta.to(dtype))
    outputs, solved = solve_tree(rows, visible, state.to(dtype))
    return _into(out, outputs), TreeSolution(k, _into(u, solved.u), _into(decay, solved.decay))


def tree_delta_commit(
    state: Tensor, solution: TreeSolution, path: Tensor, count: Tensor, out: Tensor
) -> Tensor:
    """The state after the first ``count`` rows of a path; with 0 rows, the state as it is.

    S = e^{G_l} S_0 + Σ_t e^{G_l - G_t} k_t u_tᵀ over the rows t of the path, l its last.

    Args:
        state: (Hv, dk, dv), or (L, Hv, dk, dv) with a solution of L layers.
        path: int32 (B,), rows from the root's down; entries from ``count`` on are not looked at.
        count: int32, one element.
        out: like ``state``; may be ``state`` itself.

    Returns:
        ``out``.
    """
    if use_triton(state):
        import engine.kernels.jit.delta_state as jit

        return jit.tree_delta_commit(state, solution, path, count, out)
    return tree_delta_commit_torch(state, solution, path, count, out)


def tree_delta_commit_torch(
    state: Tensor, solution: TreeSolution, path: Tensor, count: Tensor, out: Tensor
) -> Tensor:
    """``tree_delta_commit`` in plain torch."""
    dtype = wide(state.dtype)
    group = state.shape[-3] // solution.k.shape[-2]
    taken = torch.arange(path.shape[0], device=path.device) < count
    rows = torch.where(taken, path, 0).long()
    last = rows.gather(0, (count.reshape(1).long() - 1).clamp(min=0))
    keys = solution.k.index_select(-3, rows).to(dtype).repeat_interleave(group, dim=-2)
    u = torch.where(taken[:, None, None], solution.u.index_select(-3, rows).to(dtype), 0.0)
    decay = solution.decay.to(dtype)
    end = decay.index_select(-2, last)  # (..., 1, Hv)
    remaining = (end - decay.index_select(-2, rows)).masked_fill(~taken[:, None], -torch.inf).exp()
    written = torch.einsum("...nhk,...nh,...nhv->...hkv", keys, remaining, u)
    kept = torch.where(count > 0, end, 0.0).exp().transpose(-1, -2)[..., None]
    return out.copy_(kept * state.to(dtype) + written)


def _into(target: Tensor | None, value: Tensor) -> Tensor:
    return value.contiguous() if target is None else target.copy_(value)
