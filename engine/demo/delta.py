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
from torch.nn.functional import pad
from transformers.models.qwen3_5 import modeling_qwen3_5

CHUNK = 64
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
        within: a compiled ``_within_chunks``.

    Returns:
        (N, T, value heads, dv) in the dtype of ``query``.
    """
    length = query.shape[1]
    groups = value.shape[2] // key.shape[2]
    missing = -length % CHUNK
    with torch.autocast(query.device.type, enabled=False):
        q, k, v = (_chunks(x.float(), missing) for x in (query, key, value))
        k = k * torch.rsqrt(k.square().sum(-1, keepdim=True) + 1e-6)
        q = q * torch.rsqrt(q.square().sum(-1, keepdim=True) + 1e-6) * q.shape[-1] ** -0.5
        q, k = (x.repeat_interleave(groups, dim=1) if groups > 1 else x for x in (q, k))
        decay, strength = (_chunks(x.float()[..., None], missing)[..., 0] for x in (g, beta))
        free, reach, scores, q_in, k_out, kept = (within or _within_chunks)(q, k, v, decay, strength)

        state = v.new_zeros(*v.shape[:2], k.shape[-1], v.shape[-1])
        states, written = [], []
        for i in range(free.shape[2]):
            u = free[:, :, i] - reach[:, :, i] @ state
            states.append(state)
            written.append(u)
            state = kept[:, :, i] * state + k_out[:, :, i].transpose(-1, -2) @ u
        out = q_in @ torch.stack(states, dim=2) + scores @ torch.stack(written, dim=2)
    return out.flatten(2, 3)[:, :, :length].transpose(1, 2).to(query.dtype)


def _within_chunks(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """All that does not need the state: U, W, masked scores, e^G q, e^{G_last − G} k, e^{G_last}."""
    total = g.cumsum(-1)
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=q.device).triu(1)
    gamma = (total[..., :, None] - total[..., None, :]).masked_fill(later, -torch.inf).exp()
    reach = total.exp()[..., None]
    k_beta = beta[..., None] * k
    system = (k_beta @ k.transpose(-1, -2)) * gamma
    right = torch.cat([beta[..., None] * v, k_beta * reach], dim=-1)
    solved = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
    free, from_state = solved.split([v.shape[-1], k.shape[-1]], dim=-1)
    scores = (q @ k.transpose(-1, -2)) * gamma
    to_end = (total[..., -1:] - total).exp()[..., None]
    return free, from_state, scores, q * reach, k * to_end, total[..., -1].exp()[..., None, None]


def _chunks(x: Tensor, missing: int) -> Tensor:
    """(N, T, H, d) -> (N, H, chunks, CHUNK, d)."""
    return pad(x.transpose(1, 2), (0, 0, 0, missing)).unflatten(2, (-1, CHUNK))  # type: ignore[no-untyped-call,no-any-return]


@contextmanager
def training_delta_rule(device: torch.device, compiled: bool) -> Iterator[bool]:
    """Let transformers' gated-delta layers compute with ``delta_rule``; yields whether it is compiled.

    Compiling is tried out on a small input first; where that fails the plain form is used.
    """
    original: Callable[..., Any] = getattr(modeling_qwen3_5, _NAME)
    within = _compiled(device) if compiled else None

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


def _compiled(device: torch.device) -> Within | None:
    try:
        within: Within = torch.compile(_within_chunks, dynamic=True)
        for rows in (2, 3):
            sample = [torch.rand(rows, 2, 2, CHUNK, 8, device=device, requires_grad=True) for _ in range(3)]
            flat = [torch.rand(rows, 2, 2, CHUNK, device=device, requires_grad=True) for _ in range(2)]
            parts = within(sample[0], sample[1], sample[2], -flat[0], flat[1])
            torch.stack([part.sum() for part in parts]).sum().backward()  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever the compiler's tool chain lacks: the plain form is as right
        print(f"target   the delta rule stays uncompiled ({type(error).__name__}: {error})"[:200], flush=True)
        return None
    return within
