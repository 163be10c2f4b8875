r"""Kernels of the gated delta rule over a tree.

The unit lower triangular system of a head, (I + L) U = r with L_ij = β_i Γ_ij (k_i·k_j), is cut into square
blocks. Two kernels share the work so that only what must be serial is:

1. ``_prepare``: every block of L and of the score matrix P_ij = Γ_ij (q_i·k_j), all at once; a block on the
   diagonal leaves the inverse of I + L_ii instead. Other programs of the same launch read S_0, for all rows
   at once: the right side r and the outputs' share e^{G} S_0ᵀ q.
2. ``_solve``: per head and tile of value columns, block row by block row,
   U_i = (I + L_ii)^{-1} (r_i - Σ_{j<i} L_ij U_j) and o_i = e^{G_i} S_0ᵀ q_i + Σ_{j≤i} P_ij U_j.

``_nodes`` is the recurrence node by node with one stored state each: what the others are measured against.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.delta import TreeSolution
from engine.kernels.jit.delta_state import one_row
from engine.kernels.jit.launch import MIN_DOT, innermost_contiguous, on_device, packed, power_of_two

PRECISION = "tf32x3"
"""Matrix products of float32: three tensor core passes, as exact as float32 needs. ``ieee`` is slower."""

DECAY_APART = 256
"""From more rows than these on, the summed decays get a kernel of their own."""


@triton.jit
def _path_decay(visible, g, g_row, rows, head, stop, R, BLOCK: tl.constexpr):
    """G of ``rows``; none of them sees a row from ``stop`` on."""
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, stop, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        known = (rows[:, None] < R) & (cols[None, :] < R)
        seen = tl.load(visible + rows[:, None] * R + cols[None, :], mask=known, other=0)
        step = tl.load(g + cols * g_row + head, mask=cols < R, other=0.0).to(tl.float32)
        total += tl.sum(tl.where(seen != 0, step[None, :], 0.0), axis=1)
    return total


@triton.jit
def _invert_unit_lower(lower, BLOCK: tl.constexpr, LEVELS: tl.constexpr, PRECISION: tl.constexpr):
    """(I + L)^{-1} of a strictly lower triangular L, by doubling.

    With the inverse T of the diagonal blocks of size m, and C the part of L that joins two of them to one of
    size 2m, the inverse of the larger blocks is T - T C T. Unlike the product (I - L)(I + L²)(I + L⁴)…, no
    power of L appears: those grow like binomials when keys are alike, and cancel only in exact arithmetic.
    """
    row = tl.arange(0, BLOCK)[:, None]
    col = tl.arange(0, BLOCK)[None, :]
    inverse = tl.where(row == col, 1.0, 0.0) - tl.where((row // 2 == col // 2) & (row > col), lower, 0.0)
    for level in tl.static_range(1, LEVELS):
        size = 1 << level
        joins = (row // (2 * size) == col // (2 * size)) & (row // size > col // size)
        joined = tl.dot(tl.where(joins, lower, 0.0), inverse, input_precision=PRECISION)
        inverse -= tl.dot(inverse, joined, input_precision=PRECISION)
    return inverse


@triton.jit
def _decays(visible, g, g_row, decay, R, HV, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = tl.program_id(1)
    total = _path_decay(visible, g, g_row, rows, head, tl.program_id(0) * BLOCK + BLOCK, R, BLOCK)
    tl.store(decay + rows * HV + head, total, mask=rows < R)


@triton.jit
def _read_state(
    q, k, v, beta, decay, state, right, base, visible, g,
    q_row, q_head, k_row, k_head, v_row, v_head, g_row, beta_row,
    head, i, tile, R, HV,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BK: tl.constexpr,
    BLOCK: tl.constexpr, DECAY_KNOWN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """What rows get from S_0 alone: right = β (v - e^G S_0ᵀ k) and base = e^G S_0ᵀ q."""
    shared = head // group
    rows = i * BLOCK + tl.arange(0, BLOCK)
    values = tile * BV + tl.arange(0, BV)
    from_key = tl.zeros([BLOCK, BV], tl.float32)
    from_query = tl.zeros([BLOCK, BV], tl.float32)
    for start in range(0, DK, BK):
        dims = start + tl.arange(0, BK)
        known = (rows[:, None] < R) & (dims[None, :] < DK)
        s = tl.load(
            state + head * DK * DV + dims[:, None] * DV + values[None, :],
            mask=(dims[:, None] < DK) & (values[None, :] < DV),
            other=0.0,
        ).to(tl.float32)
        k_i = tl.load(k + rows[:, None] * k_row + shared * k_head + dims[None, :], mask=known, other=0.0)
        q_i = tl.load(q + rows[:, None] * q_row + shared * q_head + dims[None, :], mask=known, other=0.0)
        from_key = tl.dot(k_i.to(tl.float32), s, from_key, input_precision=PRECISION)
        from_query = tl.dot(q_i.to(tl.float32), s, from_query, input_precision=PRECISION)
    wanted = (rows[:, None] < R) & (values[None, :] < DV)
    v_i = tl.load(v + rows[:, None] * v_row + head * v_head + values[None, :], mask=wanted, other=0.0)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    if DECAY_KNOWN:
        kept = tl.exp(tl.load(decay + rows * HV + head, mask=rows < R, other=0.0))
    else:
        kept = tl.exp(_path_decay(visible, g, g_row, rows, head, (i + 1) * BLOCK, R, BLOCK))
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    tl.store(right + place, strength[:, None] * (v_i.to(tl.float32) - kept[:, None] * from_key), mask=wanted)
    tl.store(base + place, kept[:, None] * from_query, mask=wanted)


@triton.jit
def _relate(
    q, k, beta, decay, visible, g, system, scores,
    q_row, q_head, k_row, k_head, g_row, beta_row,
    head, i, j, R, HV, padded,
    group: tl.constexpr, DK: tl.constexpr, BK: tl.constexpr,
    BLOCK: tl.constexpr, LEVELS: tl.constexpr, DECAY_KNOWN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of L (on the diagonal, of (I + L_ii)^{-1}) and of P."""
    shared = head // group
    rows = i * BLOCK + tl.arange(0, BLOCK)
    cols = j * BLOCK + tl.arange(0, BLOCK)
    score = tl.zeros([BLOCK, BLOCK], tl.float32)
    block = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, DK, BK):
        dims = start + tl.arange(0, BK)
        row_known = (rows[:, None] < R) & (dims[None, :] < DK)
        col_known = (cols[None, :] < R) & (dims[:, None] < DK)
        q_i = tl.load(q + rows[:, None] * q_row + shared * q_head + dims[None, :], mask=row_known, other=0.0)
        k_i = tl.load(k + rows[:, None] * k_row + shared * k_head + dims[None, :], mask=row_known, other=0.0)
        k_t = tl.load(k + cols[None, :] * k_row + shared * k_head + dims[:, None], mask=col_known, other=0.0)
        score = tl.dot(q_i.to(tl.float32), k_t.to(tl.float32), score, input_precision=PRECISION)
        block = tl.dot(k_i.to(tl.float32), k_t.to(tl.float32), block, input_precision=PRECISION)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    if DECAY_KNOWN:
        down = tl.load(decay + rows * HV + head, mask=rows < R, other=0.0)
        across = tl.load(decay + cols * HV + head, mask=cols < R, other=0.0)
    else:
        down = _path_decay(visible, g, g_row, rows, head, (i + 1) * BLOCK, R, BLOCK)
        across = _path_decay(visible, g, g_row, cols, head, (j + 1) * BLOCK, R, BLOCK)
        if j == 0:
            tl.store(decay + rows * HV + head, down, mask=rows < R)
    both = (rows[:, None] < R) & (cols[None, :] < R)
    seen = tl.load(visible + rows[:, None] * R + cols[None, :], mask=both, other=0) != 0
    # Differences before exponentials, and only where they are not positive.
    gamma = tl.exp(tl.where(seen, down[:, None] - across[None, :], float("-inf")))
    block *= strength[:, None] * gamma
    if i == j:
        strict = tl.where(rows[:, None] > cols[None, :], block, 0.0)
        block = _invert_unit_lower(strict, BLOCK, LEVELS, PRECISION)
    place = head.to(tl.int64) * padded * padded + rows[:, None] * padded + cols[None, :]
    tl.store(system + place, block)
    tl.store(scores + place, score * gamma)


@triton.jit
def _prepare(
    q, k, v, g, beta, visible, state, decay, system, scores, right, base,
    q_row, q_head, k_row, k_head, v_row, v_head, g_row, beta_row, R, HV, padded,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BK: tl.constexpr,
    BLOCK: tl.constexpr, LEVELS: tl.constexpr, DECAY_KNOWN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    blocks = padded // BLOCK
    task = tl.program_id(0)
    if task < blocks * blocks:
        if task % blocks <= task // blocks:
            _relate(
                q, k, beta, decay, visible, g, system, scores,
                q_row, q_head, k_row, k_head, g_row, beta_row,
                head, task // blocks, task % blocks, R, HV, padded,
                group, DK, BK, BLOCK, LEVELS, DECAY_KNOWN, PRECISION,
            )  # fmt: skip
    else:
        task -= blocks * blocks
        _read_state(
            q, k, v, beta, decay, state, right, base, visible, g,
            q_row, q_head, k_row, k_head, v_row, v_head, g_row, beta_row,
            head, task % blocks, task // blocks, R, HV,
            group, DK, DV, BV, BK, BLOCK, DECAY_KNOWN, PRECISION,
        )  # fmt: skip


@triton.jit
def _solve(
    system, scores, base, out, u, R, HV, padded,
    DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Block forward substitution; ``u`` holds the right side and is overwritten with the solution."""
    head = tl.program_id(1)
    values = tl.program_id(0) * BV + tl.arange(0, BV)
    local = tl.arange(0, BLOCK)
    matrix = head.to(tl.int64) * padded * padded
    for start in range(0, padded, BLOCK):
        rows = start + local
        wanted = (rows[:, None] < R) & (values[None, :] < DV)
        place = (rows[:, None] * HV + head) * DV + values[None, :]
        right = tl.load(u + place, mask=wanted, other=0.0)
        output = tl.load(base + place, mask=wanted, other=0.0)
        line = matrix + rows[:, None] * padded
        if BLOCK <= 32:  # early, for their latency; larger ones would not fit into the registers
            inverse = tl.load(system + line + rows[None, :])
            own_scores = tl.load(scores + line + rows[None, :])
        removed = tl.zeros([BLOCK, BV], tl.float32)
        for before in range(0, start, BLOCK):
            cols = before + local
            solved = tl.load(
                u + (cols[:, None] * HV + head) * DV + values[None, :],
                mask=(cols[:, None] < R) & (values[None, :] < DV),
                other=0.0,
            )
            below = tl.load(system + line + cols[None, :])
            score = tl.load(scores + line + cols[None, :])
            removed = tl.dot(below, solved, removed, input_precision=PRECISION)
            output = tl.dot(score, solved, output, input_precision=PRECISION)
        if BLOCK > 32:
            inverse = tl.load(system + line + rows[None, :])
        own = tl.dot(inverse, right - removed, input_precision=PRECISION)
        tl.store(u + place, own, mask=wanted)
        if BLOCK > 32:
            own_scores = tl.load(scores + line + rows[None, :])
        output = tl.dot(own_scores, own, output, input_precision=PRECISION)
        tl.store(out + place, output.to(out.dtype.element_ty), mask=wanted)
        tl.debug_barrier()  # the next block row reads what other threads stored here


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
    block: int | None = None,
    tile: int | None = None,
    warps: int | None = None,
) -> tuple[Tensor, TreeSolution]:
    """``engine.kernels.delta.tree_delta``.

    Args:
        block: rows and columns of a block: 16, 32 or 64. More make fewer serial steps of more work.
        tile: value columns of a program.
        warps: of 32 threads, a program.

    The defaults are what was fastest on an H200 at 16, 65 and 257 rows of 48 heads (``sweep_kernels.py``).
    """
    (R, HK, DK), (_, HV, DV) = q.shape, v.shape
    innermost_contiguous(q, k, v, g, beta)
    visible, state = visible.contiguous().view(torch.uint8), state.contiguous()
    out = q.new_empty(R, HV, DV, dtype=torch.float32) if out is None else packed(out)
    u = q.new_empty(R, HV, DV, dtype=torch.float32) if u is None else packed(u)
    decay = q.new_empty(R, HV, dtype=torch.float32) if decay is None else packed(decay)
    solution = TreeSolution(k, u, decay)
    BDK = max(MIN_DOT, power_of_two(DK))
    block = block or (16 if R <= 96 else 32 if R <= 512 else 64)
    BV = tile or min(16 if block == 32 else 32, max(MIN_DOT, power_of_two(DV)))
    BK = min(32, BDK)
    with on_device(q):
        if R == 1:
            one_row(q, k, v, g, beta, state, out, u, decay, warps or 4)
            return out, solution
        warps = warps or (4 if block == 64 else 2)
        padded = triton.cdiv(R, block) * block
        system, scores = q.new_empty(2, HV, padded, padded, dtype=torch.float32)
        base = torch.empty_like(u)
        apart = R > DECAY_APART
        if apart:
            _decays[(padded // block, HV)](visible, g, g.stride(0), decay, R, HV, block, num_warps=warps)
        tiles = triton.cdiv(DV, BV)
        _prepare[((padded // block) ** 2 + (padded // block) * tiles, HV)](
            q, k, v, g, beta, visible, state, decay, system, scores, u, base,
            q.stride(0), q.stride(1), k.stride(0), k.stride(1), v.stride(0), v.stride(1), g.stride(0),
            beta.stride(0), R, HV, padded, HV // HK, DK, DV, BV, BK, block, block.bit_length() - 1, apart,
            PRECISION, num_warps=warps, num_stages=2,
        )  # fmt: skip
        _solve[(tiles, HV)](
            system, scores, base, out, u, R, HV, padded, DV, BV, block, PRECISION,
            num_warps=warps, num_stages=2,
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
