r"""The gated delta rule over a tree of rows.

Per head, with state S ∈ R^{dk×dv}, decay g ≤ 0, write strength β, normalised key k, scaled normalised query q
and value v, row i with parent p(i) computes (Gated Delta Networks, arXiv 2412.06464)

    S_i = e^{g_i} S_p(i) + k_i u_iᵀ,    u_i = β_i (v_i − e^{g_i} S_p(i)ᵀ k_i),    o_i = S_iᵀ q_i.

With A(i) the ancestors of i and itself, G_i = Σ_{j ∈ A(i)} g_j and Γ_ij = e^{G_i − G_j} for j ∈ A(i), else 0,
unrolling along each root path gives one unit lower triangular system per head, for the whole tree at once:

    u_i + β_i Σ_{j ∈ A(i), j ≠ i} Γ_ij (k_i·k_j) u_j = β_i (v_i − e^{G_i} S_0ᵀ k_i)
    o_i = e^{G_i} S_0ᵀ q_i + Σ_{j ∈ A(i)} Γ_ij (q_i·k_j) u_j

and the state at the end of a path to ℓ is S = e^{G_ℓ} S_0 + Σ_{j ∈ A(ℓ)} e^{G_ℓ − G_j} k_j u_jᵀ.
A chain of rows is the case in which every earlier row is an ancestor; prefill uses that.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 64
"""Rows per triangular system in ``run_chain``; the cost per row grows with it."""
L2_EPSILON = 1e-6
"""As in flash-linear-attention's and transformers' q/k normalisation."""


@dataclass(frozen=True)
class DeltaRows:
    """What the rows of one layer bring; float32 or float64 throughout.

    Attributes:
        q: (R, H, dk), normalised and scaled by dk^-1/2.
        k: (R, H, dk), normalised.
        v: (R, H, dv).
        g: (R, H), log decay, at most 0.
        beta: (R, H), write strength in (0, 1).
    """

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    beta: Tensor

    def __len__(self) -> int:
        return int(self.q.shape[0])

    def slice(self, start: int, stop: int) -> DeltaRows:
        return DeltaRows(*(x[start:stop] for x in (self.q, self.k, self.v, self.g, self.beta)))


@dataclass(frozen=True)
class DeltaSolution:
    """All that a commit needs: k (R, H, dk), u (R, H, dv), cumulated decay G (R, H)."""

    k: Tensor
    u: Tensor
    decay: Tensor


def normalise(x: Tensor) -> Tensor:
    """Queries or keys (..., dk) of length 1."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + L2_EPSILON)


def solve_tree(rows: DeltaRows, visible: Tensor, state: Tensor) -> tuple[Tensor, DeltaSolution]:
    """Outputs of all rows of a tree from one committed state, without a state per node.

    Args:
        rows: R rows in topological order.
        visible: bool (R, R), ancestor-or-self.
        state: (H, dk, dv), S_0; only read.

    Returns:
        o (R, H, dv), and the solution from which any path can be committed.
    """
    q, k, v = (x.transpose(0, 1) for x in (rows.q, rows.k, rows.v))  # (H, R, d)
    decay = visible.to(rows.g.dtype) @ rows.g  # (R, H)
    total = decay.T[:, :, None]  # (H, R, 1)
    beta = rows.beta.T[:, :, None]
    # Differences before exponentials: e^{G_i} · e^{-G_j} overflows on long paths.
    gamma = (total - total.transpose(1, 2)).masked_fill(~visible, -torch.inf).exp()

    system = beta * gamma * (k @ k.transpose(1, 2))  # the diagonal is taken as 1 by the solver
    right = beta * (v - total.exp() * (k @ state))
    u = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
    out = total.exp() * (q @ state) + (gamma * (q @ k.transpose(1, 2))) @ u
    return out.transpose(0, 1), DeltaSolution(rows.k, u.transpose(0, 1), decay)


def commit_path(state: Tensor, solution: DeltaSolution, path: Tensor) -> Tensor:
    """The state after the rows of ``path``: a new (H, dk, dv).

    Args:
        path: int64 (n,), from the root's row down; its last row may be repeated, to fill a fixed length.
    """
    k, u, decay = (x[path] for x in (solution.k, solution.u, solution.decay))
    once = torch.cat((path.new_ones(1, dtype=torch.bool), path[1:] != path[:-1]))
    remaining = (decay[-1] - decay).exp() * once[:, None]  # (n, H)
    written = torch.einsum("nhk,nh,nhv->hkv", k, remaining, u)
    return decay[-1].exp()[:, None, None] * state + written


def run_chain(rows: DeltaRows, state: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs (R, H, dv) of rows that follow one another, and the state (H, dk, dv) after the last."""
    outs = []
    for start in range(0, len(rows), CHUNK):
        chunk = rows.slice(start, start + CHUNK)
        visible = torch.ones(len(chunk), len(chunk), dtype=torch.bool, device=state.device).tril()
        out, solution = solve_tree(chunk, visible, state)
        state = commit_path(state, solution, torch.arange(len(chunk), device=state.device))
        outs.append(out)
    return torch.cat(outs), state


def run_nodes(rows: DeltaRows, row_parents: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrence as it stands, node by node: slow and obviously right, one state per row.

    Returns:
        o (R, H, dv), and the states (R, H, dk, dv).
    """
    states: list[Tensor] = []
    outs = []
    for row, parent in enumerate(row_parents.tolist()):
        decayed = rows.g[row].exp()[:, None, None] * (state if parent < 0 else states[parent])
        k, q = rows.k[row], rows.q[row]
        u = rows.beta[row][:, None] * (rows.v[row] - torch.einsum("hkv,hk->hv", decayed, k))
        states.append(decayed + k[:, :, None] * u[:, None, :])
        outs.append(torch.einsum("hkv,hk->hv", states[-1], q))
    return torch.stack(outs), torch.stack(states)
