"""Launchers of the gated delta rule over a tree, and ``_nodes``: the recurrence node by node with one stored
state each, which the others are measured against."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.delta import TreeSolution
from engine.kernels.jit.delta_state import one_row
from engine.kernels.jit.delta_tree import _couple, _outputs, _prepare, _solve, _substitute
from engine.kernels.jit.launch import MIN_DOT, innermost_contiguous, on_device, packed, power_of_two

SMALL, LARGE = 16, 64
"""Rows of a block; the root is in none. Up to SMALL rows are one small block, more are large ones."""
STEP = 64
"""Key dimensions of a step of the first kernel."""
ONE_BLOCK, BLOCKS = (64, 32), (64, 64, 32, 32)
"""Value columns of a program of each kernel, in the order of their launch."""
COUPLE_REGISTERS = 128
"""Of a thread, at most: four programs of ``_couple`` then share a multiprocessor."""


@triton.jit
def _nodes(
    q,
    k,
    v,
    g,
    beta,
    parents,
    state,
    states,
    out,
    R,
    HV,
    HK,
    group: tl.constexpr,
    DK: tl.constexpr,
    DV: tl.constexpr,
    BDK: tl.constexpr,
    BV: tl.constexpr,
):
    head = tl.program_id(1)
    shared = head // group
    dims = tl.arange(0, BDK)
    values = tl.program_id(0) * BV + tl.arange(0, BV)
    inside = (dims[:, None] < DK) & (values[None, :] < DV)
    tile = head * DK * DV + dims[:, None] * DV + values[None, :]
    s = tl.load(state + tile, mask=inside, other=0.0)
    for row in range(R):
        parent = tl.load(parents + row)
        if parent != row - 1:  # otherwise the registers hold the parent's state already
            tl.debug_barrier()
            if parent < 0:
                s = tl.load(state + tile, mask=inside, other=0.0)
            else:
                s = tl.load(states + parent.to(tl.int64) * HV * DK * DV + tile, mask=inside, other=0.0)
        key = tl.load(k + (row * HK + shared) * DK + dims, mask=dims < DK, other=0.0).to(tl.float32)
        query = tl.load(q + (row * HK + shared) * DK + dims, mask=dims < DK, other=0.0).to(tl.float32)
        value = tl.load(v + (row * HV + head) * DV + values, mask=values < DV, other=0.0).to(tl.float32)
        s *= tl.exp(tl.load(g + row * HV + head).to(tl.float32))
        strength = tl.load(beta + row * HV + head).to(tl.float32)
        own = strength * (value - tl.sum(s * key[:, None], axis=0))
        s += key[:, None] * own[None, :]
        output = tl.sum(s * query[:, None], axis=0)
        tl.store(out + (row * HV + head) * DV + values, output.to(out.dtype.element_ty), mask=values < DV)
        tl.store(states + tl.cast(row, tl.int64) * HV * DK * DV + tile, s, mask=inside)


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
    tiles: Sequence[int] | None = None,
    fine: bool | None = None,
) -> tuple[Tensor, TreeSolution]:
    """``engine.kernels.delta.tree_delta``.

    Args:
        tiles: value columns of a program of each kernel, in the order of their launch: two kernels for one
            block of rows, four for more.
        fine: multiply as exactly as float32 needs it; by default where ``v`` is float32.

    The defaults are what was fastest on an H200 with 48 heads (``sweep_delta.py``).
    """
    (R, HK, DK), (_, HV, DV) = q.shape, v.shape
    innermost_contiguous(q, k, v, g, beta)
    visible, state = visible.contiguous().view(torch.uint8), state.contiguous()
    out = q.new_empty(R, HV, DV, dtype=torch.float32) if out is None else packed(out)
    u = q.new_empty(R, HV, DV, dtype=torch.float32) if u is None else packed(u)
    decay = q.new_empty(R, HV, dtype=torch.float32) if decay is None else packed(decay)
    solution = TreeSolution(k, u, decay)
    block = SMALL if R <= 1 + SMALL else LARGE
    blocks = triton.cdiv(R - 1, block)
    fine = v.dtype == torch.float32 if fine is None else fine
    single, padded, pairs = blocks <= 1, blocks * block, blocks * (blocks + 1) // 2
    BDK = max(MIN_DOT, power_of_two(DK))
    widest = max(MIN_DOT, power_of_two(DV))
    tiles = [min(size, widest) for size in tiles or (ONE_BLOCK if single else BLOCKS)]
    columns = [triton.cdiv(DV, size) for size in tiles]
    group, tensors = HV // HK, (q, k, v, g, beta, visible, state, out, u, decay)
    strides = q.stride(0), q.stride(1), k.stride(0), k.stride(1), v.stride(0), v.stride(1), g.stride(0)
    v_beta = v.stride(0), v.stride(1), beta.stride(0)
    with on_device(q):
        if R == 1:
            one_row(q, k, v, g, beta, state, out, u, decay, 4)
            return out, solution
        inverses = q.new_empty(HV, blocks, block, block, dtype=torch.float32)
        # What is multiplied by the solutions of several blocks, in halves; for a single one, Γ.
        couplings, weights = q.new_empty(
            2, 2, HV, pairs, block, block, dtype=torch.float32 if fine else torch.bfloat16
        )
        gammas = q.new_empty((HV, block, block) if single else 0, dtype=torch.float32)
        similar, scores = q.new_empty(2, HK, padded, padded, dtype=torch.float32)
        to_root = q.new_empty(2, HK, padded, dtype=torch.float32)
        base = torch.empty_like(u)
        tasks = HV * blocks + HV * columns[0] * (1 + 2 * blocks) + HK * blocks * (blocks + 2)
        _prepare[(tasks,)](
            *tensors, inverses, gammas, similar, scores, base, to_root, *strides, beta.stride(0), R, HV, HK,
            blocks, columns[0], group, DK, DV, BDK, min(STEP, BDK), tiles[0], block, single,
            fine, num_warps=4, num_stages=1,
        )  # fmt: skip
        if single:
            _solve[(columns[1], HV)](
                v, g, beta, out, u, decay, inverses, gammas, scores, base, to_root, *v_beta, R, HV, HK,
                group, DV, tiles[1], block, fine, num_warps=4,
            )  # fmt: skip
            return out, solution
        _couple[(blocks + columns[1], blocks, HV)](
            v, g, beta, visible, u, decay, inverses, similar, scores, couplings, weights, to_root, *v_beta,
            R, HV, HK, blocks, group, DV, tiles[1], block, fine, num_warps=4,
            maxnreg=None if fine else COUPLE_REGISTERS,
        )  # fmt: skip
        _substitute[(columns[2], HV)](
            u, couplings, R, HV, blocks, DV, tiles[2], block, fine, num_warps=4, num_stages=2,
        )  # fmt: skip
        _outputs[(columns[3], HV, blocks)](
            g, out, u, decay, weights, base, to_root, R, HV, blocks, group, DV, tiles[3], block,
            fine, num_warps=4, num_stages=2,
        )  # fmt: skip
    return out, solution


def node_serial(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    parents: Tensor,
    state: Tensor,
    states: Tensor,
    out: Tensor,
) -> Tensor:
    """The recurrence node by node, every node's state stored; for measurements.

    Args:
        q, k, v, g, beta, state: as for ``tree_delta``, contiguous.
        parents: int32 (R,), -1 for rows that continue the committed text.
        states: float32 (R, Hv, dk, dv), written.
        out: (R, Hv, dv), written.
    """
    (R, HK, DK), (_, HV, DV) = q.shape, v.shape
    BDK, BV = power_of_two(DK), min(32, power_of_two(DV))
    q, k, v, g, beta = (packed(x) for x in (q, k, v, g, beta))
    with on_device(q):
        _nodes[(triton.cdiv(DV, BV), HV)](
            q, k, v, g, beta, parents, packed(state), packed(states), packed(out),
            R, HV, HK, HV // HK, DK, DV, BDK, BV, num_warps=4,
        )  # fmt: skip
    return out
