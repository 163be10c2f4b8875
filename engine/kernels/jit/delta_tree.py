"""Kernels of the gated delta rule over a tree whose row 0, the root, is an ancestor of every row.

So the root needs no system: S_1 = e^{g_0} S_0 + k_0 u_0ᵀ is the state from which all the others start. Their
unit lower triangular system, (I + L) U = r with L_ij = β_i Γ_ij (k_i·k_j), is cut into square blocks. G below
is the decay from the root's children on.

``_prepare`` does what can be done at once, one task a program: what rows read from the state, S_1ᵀ k and
S_1ᵀ q; the inverses T_i of I + L_ii; the products k_i·k_j and q_i·k_j, per key head, without the Γ of the
value heads that share it. What is left, with r_i = β_i (v_i - e^{G_i} S_1ᵀ k_i) and P_ij = Γ_ij (q_i·k_j):

- ``_solve``: of one block, U = T r and o = e^G S_1ᵀ q + P U, per head and tile of value columns.
- ``_couple``, ``_substitute`` and ``_outputs``: of more. Only U_i = T_i r_i - Σ_{j<i} M_ij U_j with
  M_ij = T_i L_ij must be serial, and is no more than these products: the first of the three makes T_i r_i,
  M_ij and P_ij before it, the last o_i = e^{G_i} S_1ᵀ q_i + Σ_{j≤i} P_ij U_j after it, all blocks at once.
  With unit keys no entry of M exceeds 1, as none of T does: Γ β k_iᵀ Π (I - β k kᵀ) k_j, over rows between.

A program runs through its code about once, so what takes time is how much code it is, and how few programs
its registers leave room for: sums over the key dimensions are made in steps, operands are split for the
tensor cores once, and results go through memory where cutting registers would take more instructions.
"""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.jit.inverse import invert_16, invert_64
from engine.kernels.jit.products import add_product, product, product_with_itself


@triton.jit
def _seen(visible, rows, cols, R):
    known = (rows[:, None] < R) & (cols[None, :] < R)
    return tl.load(visible + rows[:, None] * R + cols[None, :], mask=known, other=0) != 0


@triton.jit
def _vectors(x, row, rows, dims, R, D: tl.constexpr):
    """Some dimensions of the queries or keys of ``rows``; 0 past the last."""
    known = (rows[:, None] < R) & (dims[None, :] < D)
    return tl.load(x + rows[:, None] * row + dims[None, :], mask=known, other=0.0).to(tl.float32)


@triton.jit
def _gamma(seen, down, across):
    """Γ = e^{G_i - G_j}: differences before exponentials, and only where they are not positive."""
    return tl.exp(tl.where(seen, down[:, None] - across[None, :], float("-inf")))


@triton.jit
def _path_decay(seen, step):
    """Σ of the columns' log decays over those of them that a row sees."""
    return tl.sum(tl.where(seen, step[None, :], 0.0), axis=1)


@triton.jit
def _invert_block(
    k, g, beta, visible, decay, inverses, gammas, k_row, k_head, g_row, beta_row, head, i, blocks, R, HV,
    group: tl.constexpr, DK: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr, BLOCK: tl.constexpr,
    SINGLE: tl.constexpr,
):  # fmt: skip
    """(I + L_ii)^{-1}, and what else comes from the paths to a block's rows: Γ_ii and the decays."""
    local = tl.arange(0, BLOCK)
    rows = 1 + i * BLOCK + local
    seen = _seen(visible, rows, rows, R)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    step = tl.load(g + rows * g_row + head, mask=rows < R, other=0.0).to(tl.float32)
    lower = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, BDK, CK):
        keys = _vectors(k + (head // group) * k_head, k_row, rows, start + tl.arange(0, CK), R, DK)
        lower += product_with_itself(keys)
    # From one row of the block to another, the path lies within it.
    total = _path_decay(seen, step)
    gamma = _gamma(seen, total, total)
    lower *= tl.where(local[:, None] > local[None, :], strength[:, None] * gamma, 0.0)
    square = (head * blocks + i).to(tl.int64) * BLOCK * BLOCK
    place = square + local[:, None] * BLOCK + local[None, :]
    if SINGLE:
        tl.store(gammas + place, gamma)
    if BLOCK == 16:
        tl.store(inverses + place, invert_16(lower, local[:, None], local[None, :]))
    else:
        invert_64(lower, inverses + square)
    total += tl.load(g + head).to(tl.float32)
    for j in range(i):
        cols = 1 + j * BLOCK + local
        total += _path_decay(_seen(visible, rows, cols, R), tl.load(g + cols * g_row + head).to(tl.float32))
    tl.store(decay + rows * HV + head, total, mask=rows < R)


@triton.jit
def _relate(
    x, k, products, x_row, x_head, k_row, k_head, shared, i, j, R, padded,
    DK: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The products x_i·k_j of one block, of a key head."""
    rows = i * BLOCK + tl.arange(0, BLOCK)
    cols = j * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, BDK, CK):
        dims = start + tl.arange(0, CK)
        down = _vectors(x + shared * x_head, x_row, 1 + rows, dims, R, DK)
        across = _vectors(k + shared * k_head, k_row, 1 + cols, dims, R, DK)
        total = add_product(total, down, tl.trans(across))
    place = shared.to(tl.int64) * padded * padded + rows[:, None] * padded + cols[None, :]
    tl.store(products + place, total)


@triton.jit
def _read_state(
    x, k, v, g, beta, state, out, u, decay, to, x_row, x_head, k_head, v_head, head, tile, i, queries, R, HV,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr,
    BV: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """S_1ᵀ x of a block of rows, x their keys or their queries. S_1 is never there: what the root wrote comes
    in afterwards, S_1ᵀ x = e^{g_0} S_0ᵀ x + (k_0·x) u_0."""
    shared = head // group
    values = tile * BV + tl.arange(0, BV)
    rows = 1 + i * BLOCK + tl.arange(0, BLOCK)
    x += shared * x_head
    k += shared * k_head
    value = tl.load(v + head * v_head + values, mask=values < DV, other=0.0).to(tl.float32)
    strength = tl.load(beta + head).to(tl.float32)
    loss = tl.load(g + head).to(tl.float32)
    total = tl.zeros([BLOCK, BV], tl.float32)
    along = tl.zeros([BLOCK, CK], tl.float32)
    by_key = tl.zeros([CK, BV], tl.float32)
    by_own = tl.zeros([CK, BV], tl.float32)
    own_along = tl.zeros([CK], tl.float32)
    for start in range(0, BDK, CK):
        dims = start + tl.arange(0, CK)
        inside = (dims[:, None] < DK) & (values[None, :] < DV)
        s = tl.load(state + head * DK * DV + dims[:, None] * DV + values[None, :], mask=inside, other=0.0)
        s = s.to(tl.float32)
        some = _vectors(x, x_row, rows, dims, R, DK)
        key = tl.load(k + dims, mask=dims < DK, other=0.0).to(tl.float32)
        own = tl.load(x + dims, mask=dims < DK, other=0.0).to(tl.float32)
        by_key += s * key[:, None]
        by_own += s * own[:, None]
        own_along += key * own
        along += some * key[None, :]
        total = add_product(total, some, s)
    kept = tl.exp(loss)
    wrote = strength * (value - kept * tl.sum(by_key, axis=0))
    read = kept * total + tl.sum(along, axis=1)[:, None] * wrote[None, :]
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    tl.store(to + place, read, mask=(rows[:, None] < R) & (values[None, :] < DV))
    if queries & (i == 0):  # the root's own results
        output = kept * tl.sum(by_own, axis=0) + tl.sum(own_along, axis=0) * wrote
        tl.store(out + head * DV + values, output.to(out.dtype.element_ty), mask=values < DV)
        tl.store(u + head * DV + values, wrote, mask=values < DV)
        if tile == 0:
            tl.store(decay + head, loss)


@triton.jit
def _prepare(
    q, k, v, g, beta, visible, state, out, u, decay, inverses, gammas, similar, scores, base,
    q_row, q_head, k_row, k_head, v_row, v_head, g_row, beta_row, R, HV, HK, blocks, tiles,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr,
    BV: tl.constexpr, BLOCK: tl.constexpr, SINGLE: tl.constexpr, INVERT: tl.constexpr, READ: tl.constexpr,
    RELATE: tl.constexpr,
):  # fmt: skip
    """One task a program, of the kinds wanted; the products, the shortest, come last."""
    task = tl.program_id(0)
    inverted = HV * blocks if INVERT else 0
    reads = HV * tiles * 2 * blocks if READ else 0
    if INVERT and task < inverted:
        _invert_block(
            k, g, beta, visible, decay, inverses, gammas, k_row, k_head, g_row, beta_row, task // blocks,
            task % blocks, blocks, R, HV, group, DK, BDK, CK, BLOCK, SINGLE,
        )  # fmt: skip
    elif READ and task < inverted + reads:
        task -= inverted
        queries = task % 2 == 0
        i, task = task // 2 % blocks, task // 2 // blocks
        if queries:
            x, x_row, x_head, to = q, q_row, q_head, base
        else:
            x, x_row, x_head, to = k, k_row, k_head, u
        _read_state(
            x, k, v, g, beta, state, out, u, decay, to, x_row, x_head, k_head, v_head, task // tiles,
            task % tiles, i, queries, R, HV, group, DK, DV, BDK, CK, BV, BLOCK,
        )  # fmt: skip
    elif RELATE:
        task -= inverted + reads
        padded = blocks * BLOCK
        shared, task = task // (blocks * blocks), task % (blocks * blocks)
        i, j = tl.maximum(task // blocks, task % blocks), tl.minimum(task // blocks, task % blocks)
        if task // blocks >= task % blocks:
            x, x_row, x_head, to = q, q_row, q_head, scores
        else:  # what is above the diagonal of the one is below that of the other
            x, x_row, x_head, to = k, k_row, k_head, similar
        _relate(x, k, to, x_row, x_head, k_row, k_head, shared, i, j, R, padded, DK, BDK, CK, BLOCK)


@triton.jit
def _solve(
    v, g, beta, out, u, decay, inverses, gammas, scores, base, v_row, v_head, beta_row, R, HV,
    group: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """All of one block."""
    tile, head = tl.program_id(0), tl.program_id(1)
    values = tile * BV + tl.arange(0, BV)
    local = tl.arange(0, BLOCK)
    rows = 1 + local
    wanted = (rows[:, None] < R) & (values[None, :] < DV)
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    from_key = tl.load(u + place, mask=wanted, other=0.0)
    from_query = tl.load(base + place, mask=wanted, other=0.0)
    v_i = tl.load(v + rows[:, None] * v_row + head * v_head + values[None, :], mask=wanted, other=0.0)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    kept = tl.exp(tl.load(decay + rows * HV + head, mask=rows < R, other=0.0) - tl.load(g + head))[:, None]
    square = local[:, None] * BLOCK + local[None, :]
    inverse = tl.load(inverses + head * BLOCK * BLOCK + square)
    score = tl.load(scores + (head // group) * BLOCK * BLOCK + square)
    score *= tl.load(gammas + head * BLOCK * BLOCK + square)
    own = product(inverse, strength[:, None] * (v_i.to(tl.float32) - kept * from_key))
    tl.store(u + place, own, mask=wanted)
    output = kept * from_query + product(score, own)
    tl.store(out + place, output.to(out.dtype.element_ty), mask=wanted)


@triton.jit
def _couple(
    v, g, beta, visible, u, decay, inverses, similar, scores, couplings, weights, v_row, v_head, beta_row,
    R, HV, blocks, tiles, sharing,
    group: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """M_ij and P_ij of a block row i; or, in the programs after these, T_i r_i a tile of columns at a time,
    into ``u``."""
    place, i, head = tl.program_id(0), blocks - 1 - tl.program_id(1), tl.program_id(2)
    local = tl.arange(0, BLOCK)
    rows = 1 + i * BLOCK + local
    square = local[:, None] * BLOCK + local[None, :]
    inverse = tl.load(inverses + (head * blocks + i).to(tl.int64) * BLOCK * BLOCK + square)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    down = tl.load(decay + rows * HV + head, mask=rows < R, other=0.0)
    if place < sharing:
        padded = blocks * BLOCK
        for j in range(place, i + 1, sharing):
            line = (head // group).to(tl.int64) * padded * padded + (i * BLOCK + local[:, None]) * padded
            line += j * BLOCK + local[None, :]
            to = _square_of(head, i, j, blocks, BLOCK) + square
            cols = 1 + j * BLOCK + local
            across = tl.load(decay + cols * HV + head, mask=cols < R, other=0.0)
            gamma = _gamma(_seen(visible, rows, cols, R), down, across)
            tl.store(weights + to, gamma * tl.load(scores + line))
            if j < i:
                lower = strength[:, None] * gamma * tl.load(similar + line)
                tl.store(couplings + to, product(inverse, lower))
    else:
        kept = tl.exp(down - tl.load(g + head))[:, None]
        for tile in range(place - sharing, tiles, tl.num_programs(0) - sharing):
            values = tile * BV + tl.arange(0, BV)
            wanted = (rows[:, None] < R) & (values[None, :] < DV)
            at = (rows[:, None] * HV + head) * DV + values[None, :]
            from_key = tl.load(u + at, mask=wanted, other=0.0)
            from_v = v + rows[:, None] * v_row + head * v_head + values[None, :]
            v_i = tl.load(from_v, mask=wanted, other=0.0).to(tl.float32)
            own = product(inverse, strength[:, None] * (v_i - kept * from_key))
            tl.store(u + at, own, mask=wanted)


@triton.jit
def _square_of(head, i, j, blocks, BLOCK: tl.constexpr):
    """Where block (i, j) lies among those on and below the diagonal, of all heads."""
    return (head * (blocks * (blocks + 1) // 2) + i * (i + 1) // 2 + j).to(tl.int64) * BLOCK * BLOCK


@triton.jit
def _substitute(u, couplings, R, HV, blocks, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr):
    """What must be serial, of a tile of columns; ``u`` holds T_i r_i and is overwritten with the solution."""
    tile, head = tl.program_id(0), tl.program_id(1)
    values = tile * BV + tl.arange(0, BV)
    local = tl.arange(0, BLOCK)
    square = local[:, None] * BLOCK + local[None, :]
    for i in range(1, blocks):
        rows = 1 + i * BLOCK + local
        wanted = (rows[:, None] < R) & (values[None, :] < DV)
        place = (rows[:, None] * HV + head) * DV + values[None, :]
        own = tl.load(u + place, mask=wanted, other=0.0)
        for j in range(i):
            cols = 1 + j * BLOCK + local
            coupling = tl.load(couplings + _square_of(head, i, j, blocks, BLOCK) + square)
            solved = tl.load(
                u + (cols[:, None] * HV + head) * DV + values[None, :], mask=values[None, :] < DV, other=0.0
            )
            own -= product(coupling, solved)
        tl.store(u + place, own, mask=wanted)
        tl.debug_barrier()  # the next block row reads what other threads stored here


@triton.jit
def _outputs(
    g, out, u, decay, weights, base, R, HV, blocks,
    DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Outputs of a block row, in a tile of columns; the last row, which takes longest, comes first."""
    i, tile, head = blocks - 1 - tl.program_id(2), tl.program_id(0), tl.program_id(1)
    values = tile * BV + tl.arange(0, BV)
    local = tl.arange(0, BLOCK)
    square = local[:, None] * BLOCK + local[None, :]
    rows = 1 + i * BLOCK + local
    wanted = (rows[:, None] < R) & (values[None, :] < DV)
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    down = tl.load(decay + rows * HV + head, mask=rows < R, other=0.0)
    output = tl.exp(down - tl.load(g + head))[:, None] * tl.load(base + place, mask=wanted, other=0.0)
    for j in range(i + 1):
        cols = 1 + j * BLOCK + local
        weight = tl.load(weights + _square_of(head, i, j, blocks, BLOCK) + square)
        solved = tl.load(
            u + (cols[:, None] * HV + head) * DV + values[None, :],
            mask=(cols[:, None] < R) & (values[None, :] < DV), other=0.0,
        )  # fmt: skip
        output += product(weight, solved)
    tl.store(out + place, output.to(out.dtype.element_ty), mask=wanted)
