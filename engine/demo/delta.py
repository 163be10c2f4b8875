"""The gated delta rule for training: chunks of a sequence side by side, gradients through everything.

The same maths as ``engine.gated_delta`` with a chain for a tree, over a batch. Within a chunk,
u = U − W S with S the state before the chunk, where (I + A) [U W] = [β v, β e^G k] and A is the strictly
lower part of β Γ (k·k); only S itself has to be carried from chunk to chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers.models.qwen3_5 import modeling_qwen3_5

CHUNK = 32
_NAME = "torch_chunk_gated_delta_rule"
Within = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, ...]]


def delta_rule(
    query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, within: Within | None = None
) -> Tensor:
    """Outputs of whole sequences from an empty state, computed in float32.

    Args:
        query, key: (N, T, key heads, dk), as projected; normalised and scaled here.
        value: (N, T, value heads, dv).
        g, beta: (N, T, value heads), log decay and write strength.
        within: a compiled ``within_chunks``.

    Returns:
        (N, T, value heads, dv) in the dtype of ``query``.
    """
    batch, length, heads = value.shape[:3]
    groups = heads // key.shape[2]
    if groups > 1:
        query, key = (x.repeat_interleave(groups, dim=2) for x in (query, key))
    with torch.autocast(query.device.type, enabled=False):
        parts = (within or within_chunks)(*(_chunks(x) for x in (query, key, value, g, beta)))
        free, reach, scores, q_in, k_out, kept = (x.view(batch * heads, -1, *x.shape[1:]) for x in parts)
        state = free.new_zeros(batch * heads, key.shape[-1], value.shape[-1])
        states, written = [], []
        for i in range(free.shape[1]):
            u = free[:, i] - reach[:, i] @ state
            states.append(state)
            written.append(u)
            state = kept[:, i] * state + k_out[:, i].transpose(-1, -2) @ u
        out = q_in @ torch.stack(states, dim=1) + scores @ torch.stack(written, dim=1)
    rows: Tensor = out.view(batch, heads, -1, value.shape[-1])[:, :, :length]
    return rows.transpose(1, 2).to(query.dtype)


def within_chunks(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """All that does not need the state, for M chunks: q, k, v are (M, CHUNK, d), g and beta (M, CHUNK).

    Returns:
        U, W, masked scores, e^G q, e^{G_last − G} k, and e^{G_last} as (M, 1, 1).
    """
    q, k, v, g, beta = (x.float() for x in (q, k, v, g, beta))
    k = k * torch.rsqrt(k.square().sum(-1, keepdim=True) + 1e-6)
    q = q * torch.rsqrt(q.square().sum(-1, keepdim=True) + 1e-6) * q.shape[-1] ** -0.5
    total = g.cumsum(-1)
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).triu(1)
    gamma = (total[:, :, None] - total[:, None, :]).masked_fill(later, -torch.inf).exp()
    reach = total.exp()[:, :, None]
    k_beta = beta[:, :, None] * k
    system = (k_beta @ k.transpose(1, 2)) * gamma
    right = torch.cat([beta[:, :, None] * v, k_beta * reach], dim=-1)
    solved = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
    free, from_state = solved.split([v.shape[-1], k.shape[-1]], dim=-1)
    scores = (q @ k.transpose(1, 2)) * gamma
    to_end = (total[:, -1:] - total).exp()[:, :, None]
    return free, from_state, scores, q * reach, k * to_end, total[:, -1].exp()[:, None, None]


def _chunks(x: Tensor) -> Tensor:
    """(N, T, H, ...) -> (N * H * chunks, CHUNK, ...), padded with zeros at the end of T."""
    missing = -x.shape[1] % CHUNK
    if missing:
        x = torch.cat([x, x.new_zeros(x.shape[0], missing, *x.shape[2:])], dim=1)
    return x.transpose(1, 2).reshape(-1, CHUNK, *x.shape[3:])


@contextmanager
def training_delta_rule(device: torch.device, compile_for: int = 0) -> Iterator[bool]:
    """Let transformers' gated-delta layers compute with ``delta_rule``; yields whether it is compiled.

    Args:
        compile_for: head dimension to compile for, 0 not to compile. Compiling is tried out on small inputs
            first; where that fails the plain form is used.
    """
    original: Callable[..., Any] = getattr(modeling_qwen3_5, _NAME)
    within = _compiled(device, compile_for) if compile_for else None

    def rule(query: Tensor, key: Tensor, value: Tensor, **rest: Any) -> tuple[Tensor, Tensor | None]:
        if rest.get("initial_state") is not None or rest.get("output_final_state"):
            result: tuple[Tensor, Tensor | None] = original(query, key, value, **rest)
            return result
        return delta_rule(query, key, value, rest["g"], rest["beta"], within), None

    setattr(modeling_qwen3_5, _NAME, rule)
    try:
        yield within is not None
    finally:
        setattr(modeling_qwen3_5, _NAME, original)


def _compiled(device: torch.device, width: int) -> Within | None:
    try:
        within: Within = torch.compile(within_chunks)
        for rows in (2, 3, 4):  # from the second on, the compiler knows that the number of rows changes
            mixed = torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")
            with mixed:
                q, k, v = torch.rand(3, rows, CHUNK, 1, width, device=device, requires_grad=True) * 1.0
                g, beta = torch.rand(2, rows, CHUNK, 1, device=device, requires_grad=True) * 1.0
                if device.type == "cuda":
                    q, k, v, beta = (x.to(torch.bfloat16) for x in (q, k, v, beta))
                loss = delta_rule(q, k, v, -g, beta, within).float().sum()
            loss.backward()  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever the compiler's tool chain lacks: the plain form is as right
        print(f"target   the delta rule stays uncompiled ({type(error).__name__}: {error})"[:200], flush=True)
        return None
    return within
