"""Kernels on the committed state of the gated delta rule: reading it for a root, moving it on by a path."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.delta import TreeSolution
from engine.kernels.jit.launch import innermost_contiguous, on_device, packed, power_of_two


@triton.jit
def write_root(
    q,
    k,
    v,
    g,
    beta,
    state,
    out,
    u,
    decay,
    q_head,
    k_head,
    v_head,
    head,
    tile,
    group: tl.constexpr,
    DK: tl.constexpr,
    DV: tl.constexpr,
    BDK: tl.constexpr,
    BV: tl.constexpr,
):
    """What row 0 reads from the committed state and adds to it, of a head and a tile of value columns."""
    shared = head // group
    dims = tl.arange(0, BDK)
    values = tile * BV + tl.arange(0, BV)
    inside = (dims[:, None] < DK) & (values[None, :] < DV)
    place = state + head * DK * DV + dims[:, None] * DV + values[None, :]
    loss = tl.load(g + head).to(tl.float32)
    key = tl.load(k + shared * k_head + dims, mask=dims < DK, other=0.0).to(tl.float32)
    query = tl.load(q + shared * q_head + dims, mask=dims < DK, other=0.0).to(tl.float32)
    value = tl.load(v + head * v_head + values, mask=values < DV, other=0.0).to(tl.float32)
    s = tl.exp(loss) * tl.load(place, mask=inside, other=0.0).to(tl.float32)
    read = tl.sum(s * key[:, None], axis=0)
    own = tl.load(beta + head).to(tl.float32) * (value - read)
    s += key[:, None] * own[None, :]
    output = tl.sum(s * query[:, None], axis=0)
    tl.store(out + head * DV + values, output.to(out.dtype.element_ty), mask=values < DV)
    tl.store(u + head * DV + values, own, mask=values < DV)
    if tile == 0:
        tl.store(decay + head, loss)


@triton.jit
def _step(
    q, k, v, g, beta, state, out, u, decay, q_head, k_head, v_head,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    write_root(
        q, k, v, g, beta, state, out, u, decay, q_head, k_head, v_head, tl.program_id(1), tl.program_id(0),
        group, DK, DV, BDK, BV,
    )  # fmt: skip


@triton.jit
def _commit(
    state,
    k,
    u,
    decay,
    path,
    count,
    out,
    state_layer,
    k_layer,
    k_row,
    k_head,
    u_layer,
    decay_layer,
    HV,
    group: tl.constexpr,
    DK: tl.constexpr,
    DV: tl.constexpr,
    BDK: tl.constexpr,
    BV: tl.constexpr,
    TOGETHER: tl.constexpr,
):
    head = tl.program_id(1)
    layer = tl.program_id(2).to(tl.int64)
    shared = head // group
    dims = tl.arange(0, BDK)
    values = tl.program_id(0) * BV + tl.arange(0, BV)
    inside = (dims[:, None] < DK) & (values[None, :] < DV)
    place = layer * state_layer + head * DK * DV + dims[:, None] * DV + values[None, :]
    # The one large read is under way while the small ones follow one another.
    before = tl.load(state + place, mask=inside, other=0.0).to(tl.float32)
    n = tl.load(count)
    line = decay + layer * decay_layer + head
    last = tl.load(path + n - 1, mask=n > 0, other=0)
    end = tl.load(line + last * HV, mask=n > 0, other=0.0)
    s = tl.exp(end) * before
    k += layer * k_layer + shared * k_head
    u += layer * u_layer + head * DV
    for start in range(0, n, TOGETHER):
        for ahead in tl.static_range(TOGETHER):  # these loads are under way together
            step = start + ahead
            row = tl.load(path + step, mask=step < n, other=0)
            remaining = tl.where(step < n, tl.exp(end - tl.load(line + row * HV)), 0.0)
            key = tl.load(k + row * k_row + dims, mask=dims < DK, other=0.0).to(tl.float32)
            own = tl.load(u + row * HV * DV + values, mask=values < DV, other=0.0)
            s += (key * remaining)[:, None] * own[None, :]
    tl.store(out + place, s, mask=inside)


def one_row(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    state: Tensor,
    out: Tensor,
    u: Tensor,
    decay: Tensor,
    warps: int,
) -> None:
    """``tree_delta`` of a root alone, which needs no system; the arguments as there."""
    (_, HK, DK), (_, HV, DV) = q.shape, v.shape
    BDK, BV = power_of_two(DK), min(32, power_of_two(DV))
    _step[(triton.cdiv(DV, BV), HV)](
        q, k, v, g, beta, state, out, u, decay, q.stride(1), k.stride(1), v.stride(1),
        HV // HK, DK, DV, BDK, BV, num_warps=warps,
    )  # fmt: skip


def tree_delta_commit(
    state: Tensor,
    solution: TreeSolution,
    path: Tensor,
    count: Tensor,
    out: Tensor,
    *,
    tile: int = 64,
    together: int = 4,
    warps: int = 4,
) -> Tensor:
    """``engine.kernels.delta.tree_delta_commit``.

    Args:
        tile: value dimensions of a program.
        together: rows whose loads are under way at a time.
    """
    k, u, decay = solution.k, packed(solution.u), packed(solution.decay)
    *layers, HV, DK, DV = state.shape
    innermost_contiguous(k)
    stacked = bool(layers)
    BDK, BV = power_of_two(DK), min(tile, power_of_two(DV))
    with on_device(state):
        _commit[(triton.cdiv(DV, BV), HV, layers[0] if stacked else 1)](
            packed(state), k, u, decay, path, count, packed(out),
            HV * DK * DV, k.stride(0) if stacked else 0, k.stride(-3), k.stride(-2),
            u.stride(0) if stacked else 0, decay.stride(0) if stacked else 0, HV,
            HV // k.shape[-2], DK, DV, BDK, BV, together, num_warps=warps,
        )  # fmt: skip
    return out
