"""The gated-delta layer of Qwen3-Next and Qwen3.5, dense and MoE, over a tree of rows.

Replaces the forward of transformers' module, which knows sequences only; its weights stay where they are.
The families compute the same layer and differ in how its inputs are packed into projections: one function
per packing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine import causal_conv, gated_delta
from engine.cache import DeltaRunner, DeltaState, StateAfter, TargetCache, state_dtype
from engine.gated_delta import DeltaRows, normalise
from engine.merged import project
from engine.rows import Rows
from engine.spread import weights_at_hand


@dataclass(frozen=True)
class Projected:
    """What a layer projects from its rows.

    Attributes:
        qkv: (R, C), queries and keys of all key heads and values of all value heads, before the convolution.
        z: (R, H · dv), the output's gate.
        b, a: (R, H), the writing strength and the decay, before their nonlinearities.
    """

    qkv: Tensor
    z: Tensor
    b: Tensor
    a: Tensor


def project_apart(module: Any, hidden: Tensor) -> Projected:
    """Qwen3.5: one projection for each input."""
    return Projected(
        *project(hidden, module.in_proj_qkv, module.in_proj_z, module.in_proj_b, module.in_proj_a)
    )


def project_by_key_head(module: Any, hidden: Tensor) -> Projected:
    """Qwen3-Next: two projections, in which the inputs of a key head and of its value heads lie together."""
    rows, shared = hidden.shape[0], module.num_v_heads // module.num_k_heads
    dk, dv = module.head_k_dim, shared * module.head_v_dim
    qkvz, ba = (
        part.reshape(rows, module.num_k_heads, -1)
        for part in project(hidden, module.in_proj_qkvz, module.in_proj_ba)
    )
    q, k, v, z = (part.flatten(1) for part in torch.split(qkvz, [dk, dk, dv, dv], dim=-1))
    b, a = (part.flatten(1) for part in torch.split(ba, shared, dim=-1))
    return Projected(qkv=torch.cat((q, k, v), dim=-1), z=z, b=b, a=a)


PROJECTIONS: dict[str, Callable[[Any, Tensor], Projected]] = {
    "Qwen3NextGatedDeltaNet": project_by_key_head,
    "Qwen3_5GatedDeltaNet": project_apart,
    "Qwen3_5MoeGatedDeltaNet": project_apart,
}
"""How transformers' classes project."""


def install(module: nn.Module) -> None:
    """Let ``module`` (a class of ``PROJECTIONS``) verify trees when it is given a ``TargetCache``."""
    # Where accelerate placed the module, its hook stays around what is called.
    place = "_old_forward" if hasattr(module, "_hf_hook") else "forward"
    original: Callable[..., Any] = getattr(module, place)

    def forward(hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        cache = kwargs.get("cache", kwargs.get("cache_params"))
        if isinstance(cache, DeltaRunner):
            return cache.forward_delta(module, hidden_states)
        if isinstance(cache, TargetCache):
            return delta_forward(module, hidden_states, cache)
        return original(hidden_states, *args, **kwargs)

    setattr(module, place, forward)


def delta_forward(module: Any, hidden: Tensor, cache: TargetCache) -> Tensor:
    """One layer over the rows of ``cache.rows``: (1, R, hidden) in and out.

    A prefill commits its rows at once; a tree's rows stay pending until ``TargetCache.commit``.
    """
    assert cache.rows is not None
    rows, layer = cache.rows.to(hidden.device), cache.delta(module.layer_idx)
    backend = rows.backend
    if backend == "naive":
        rows = rows.as_chain
    hidden = hidden[0]
    inputs = PROJECTIONS[type(module).__name__](module, hidden)
    mixed, window, index = _convolve(module, inputs.qkv, rows, layer)
    delta = _recurrence(module, inputs, mixed)
    if layer.state is None:
        state = delta.q.new_zeros(delta.q.shape[1], delta.q.shape[2], delta.v.shape[2])
    else:
        state = layer.state.to(delta.q.dtype)
    if backend == "naive":
        # Nothing is ever rolled back: whatever is accepted, the window and state end at the last row.
        index = index[-1:].expand(len(rows), -1)
    out, state_after = _run(delta, rows, state, backend)
    layer.hold(window, index, state_after, rows)
    gate = inputs.z.reshape(-1, module.head_v_dim)
    normed = module.norm(out.reshape(-1, module.head_v_dim).to(hidden.dtype), gate)
    projected: Tensor = module.out_proj(normed.reshape(1, len(rows), -1))
    return projected


def _convolve(module: Any, fresh: Tensor, rows: Rows, layer: DeltaState) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of all rows after the convolution (R, C), the conv's inputs and their gather index."""
    with weights_at_hand(module.conv1d):
        weight = module.conv1d.weight[:, 0]
        kept = weight.shape[1] - 1
        window = layer.window if layer.window is not None else fresh.new_zeros(kept, fresh.shape[1])
        inputs = torch.cat((window, fresh))
        index = rows.conv_index(kept)
        mixed = causal_conv.convolve(inputs, index, weight, module.conv1d.bias)
    return F.silu(mixed).to(fresh.dtype), inputs, index


def _recurrence(module: Any, inputs: Projected, mixed: Tensor) -> DeltaRows:
    """The quantities of the recurrence, one query and key head per value head."""
    dtype = state_dtype(mixed.dtype)
    rows, shared = mixed.shape[0], module.num_v_heads // module.num_k_heads
    q, k, v = torch.split(mixed.to(dtype), [module.key_dim, module.key_dim, module.value_dim], dim=-1)
    q, k = (normalise(x.reshape(rows, -1, module.head_k_dim)) for x in (q, k))
    beta = torch.sigmoid(inputs.b).to(dtype)
    step = F.softplus(inputs.a.to(dtype) + module.dt_bias.to(dtype))
    return DeltaRows(
        q=(q * module.head_k_dim**-0.5).repeat_interleave(shared, dim=1),
        k=k.repeat_interleave(shared, dim=1),
        v=v.reshape(rows, -1, module.head_v_dim),
        g=-module.A_log.to(dtype).exp() * step,
        beta=beta,
    )


def _run(delta: DeltaRows, rows: Rows, state: Tensor, backend: str | None) -> tuple[Tensor, StateAfter]:
    """Outputs (R, H, dv) of all rows, and how to get the state after a path of them."""
    if backend == "solve":
        out, solution = gated_delta.solve_tree(delta, rows.visible, state)
        return out, lambda path: gated_delta.commit_path(state, solution, path)
    if backend == "sequential":
        out, states = gated_delta.run_nodes(delta, rows.parents, state)
        return out, lambda path: states[path[-1]]
    out, last = gated_delta.run_chain(delta, state)
    return out, lambda path: last
