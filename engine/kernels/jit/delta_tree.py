"""Kernels of the gated delta rule over a tree whose row 0, the root, is an ancestor of every row.

So the root needs no system: S_1 = e^{g_0} S_0 + k_0 u_0ᵀ is the state from which all the others start. Their
unit lower triangular system, (I + L) U = r with L_ij = β_i Γ_ij (k_i·k_j), is cut into square blocks. G below
is the decay from the root's children on.

``_prepare`` does what can be done at once, one task a program: the root's own u_0 and output; what rows
read from the state, S_0ᵀ k and S_0ᵀ q; the inverses T_i of I + L_ii; the products k_i·k_j and q_i·k_j,
also with the root's key, per key head, without the Γ of the value heads that share it. None of it waits
for the root: what it wrote is added afterwards, S_1ᵀ x = e^{g_0} S_0ᵀ x + (k_0·x) u_0. What is left, with
r_i = β_i (v_i - e^{G_i} S_1ᵀ k_i) and P_ij = Γ_ij (q_i·k_j):

- ``_solve``: of one block, U = T r and o = e^G S_1ᵀ q + P U, per head and tile of value columns.
- ``_couple``, ``_substitute`` and ``_outputs``: of more. Only U_i = T_i r_i - Σ_{j<i} M_ij U_j with
  M_ij = T_i L_ij must be serial, and is no more than these products: the first of the three makes T_i r_i,
  M_ij and P_ij before it, the last o_i = e^{G_i} S_1ᵀ q_i + Σ_{j≤i} P_ij U_j after it, all blocks at once.
  With unit keys no entry of M exceeds 1, as none of T does: Γ β k_iᵀ Π (I - β k kᵀ) k_j, over rows between.

A program runs through its code about once, so what takes time is how much code it is, and how few programs
its registers leave room for: sums over the key dimensions are made in steps, M and P are stored as the halves
that are multiplied, and results go through memory where cutting registers would take more instructions.
"""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.jit.delta_state import write_root
from engine.kernels.jit.inverse import invert_16, invert_64
from engine.kernels.jit.products import (
    add_product,
    add_product_of_halves,
    add_product_with_itself,
    halves,
    product,
)


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
    SINGLE: tl.constexpr, FINE: tl.constexpr,
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
        lower = add_product_with_itself(lower, keys, FINE)
    # From one row of the block to another, the path lies within it.
    total = _path_decay(seen, step)
    gamma = _gamma(seen, total, total)
    lower *= tl.where(local[:, None] > local[None, :], strength[:, None] * gamma, 0.0)
    square = (head * blocks + i).to(tl.int64) * BLOCK * BLOCK
    place = square + local[:, None] * BLOCK + local[None, :]
    if SINGLE:
        tl.store(gammas + place, gamma)
    if BLOCK == 16:
        tl.store(inverses + place, invert_16(lower, local[:, None], local[None, :], FINE))
    else:
        invert_64(lower, inverses + square, FINE)
    total += tl.load(g + head).to(tl.float32)
    for j in range(i):
        cols = 1 + j * BLOCK + local
        total += _path_decay(_seen(visible, rows, cols, R), tl.load(g + cols * g_row + head).to(tl.float32))
    tl.store(decay + rows * HV + head, total, mask=rows < R)


@triton.jit
def _relate(
    x, k, products, x_row, x_head, k_row, k_head, shared, i, j, R, padded,
    DK: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr, BLOCK: tl.constexpr, FINE: tl.constexpr,
):  # fmt: skip
    """The products x_i·k_j of one block, of a key head."""
    rows = i * BLOCK + tl.arange(0, BLOCK)
    cols = j * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, BDK, CK):
        dims = start + tl.arange(0, CK)
        down = _vectors(x + shared * x_head, x_row, 1 + rows, dims, R, DK)
        across = _vectors(k + shared * k_head, k_row, 1 + cols, dims, R, DK)
        total = add_product(total, down, tl.trans(across), FINE)
    place = shared.to(tl.int64) * padded * padded + rows[:, None] * padded + cols[None, :]
    tl.store(products + place, total)


@triton.jit
def _relate_to_root(
    x, k, products, x_row, x_head, k_head, shared, i, R, padded,
    DK: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The products x_i·k_0 of the rows of a block, of a key head."""
    rows = i * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, CK], tl.float32)
    for start in range(0, BDK, CK):
        dims = start + tl.arange(0, CK)
        key = tl.load(k + shared * k_head + dims, mask=dims < DK, other=0.0).to(tl.float32)
        total += _vectors(x + shared * x_head, x_row, 1 + rows, dims, R, DK) * key[None, :]
    tl.store(products + shared * padded + rows, tl.sum(total, axis=1))


@triton.jit
def _read_state(
    x, state, to, x_row, x_head, head, tile, i, R, HV,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr,
    BV: tl.constexpr, BLOCK: tl.constexpr, FINE: tl.constexpr,
):  # fmt: skip
    """S_0ᵀ x of a block of rows, x their keys or their queries."""
    values = tile * BV + tl.arange(0, BV)
    rows = 1 + i * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, BV], tl.float32)
    for start in range(0, BDK, CK):
        dims = start + tl.arange(0, CK)
        inside = (dims[:, None] < DK) & (values[None, :] < DV)
        s = tl.load(state + head * DK * DV + dims[:, None] * DV + values[None, :], mask=inside, other=0.0)
        some = _vectors(x + (head // group) * x_head, x_row, rows, dims, R, DK)
        total = add_product(total, some, s.to(tl.float32), FINE)
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    tl.store(to + place, total, mask=(rows[:, None] < R) & (values[None, :] < DV))


@triton.jit
def _prepare(
    q, k, v, g, beta, visible, state, out, u, decay, inverses, gammas, similar, scores, base, to_root,
    q_row, q_head, k_row, k_head, v_row, v_head, g_row, beta_row, R, HV, HK, blocks, tiles,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, CK: tl.constexpr,
    BV: tl.constexpr, BLOCK: tl.constexpr, SINGLE: tl.constexpr, FINE: tl.constexpr,
):  # fmt: skip
    """One task a program; those that take longest come first."""
    task = tl.program_id(0)
    inverted, roots, reads, padded = HV * blocks, HV * tiles, HV * tiles * 2 * blocks, blocks * BLOCK
    if task < inverted:
        _invert_block(
            k, g, beta, visible, decay, inverses, gammas, k_row, k_head, g_row, beta_row, task // blocks,
            task % blocks, blocks, R, HV, group, DK, BDK, CK, BLOCK, SINGLE, FINE,
        )  # fmt: skip
    elif task < inverted + roots:
        task -= inverted
        write_root(
            q, k, v, g, beta, state, out, u, decay, q_head, k_head, v_head, task // tiles, task % tiles,
            group, DK, DV, BDK, BV,
        )  # fmt: skip
    elif task < inverted + roots + reads:
        task -= inverted + roots
        if task % 2 == 0:
            x, x_row, x_head, to = q, q_row, q_head, base
        else:
            x, x_row, x_head, to = k, k_row, k_head, u
        i, task = task // 2 % blocks, task // 2 // blocks
        _read_state(
            x, state, to, x_row, x_head, task // tiles, task % tiles, i, R, HV,
            group, DK, DV, BDK, CK, BV, BLOCK, FINE,
        )  # fmt: skip
    else:
        task -= inverted + roots + reads
        shared, task = task // (blocks * (blocks + 2)), task % (blocks * (blocks + 2))
        column, row = task // blocks, task % blocks
        # What is on and below the diagonal of the one is above that of the other.
        if (column <= row) | (column == blocks):
            x, x_row, x_head, to, aside = q, q_row, q_head, scores, to_root
        else:
            x, x_row, x_head, to, aside = k, k_row, k_head, similar, to_root + HK * padded
        if column >= blocks:
            _relate_to_root(x, k, aside, x_row, x_head, k_head, shared, row, R, padded, DK, BDK, CK, BLOCK)
        else:
            i, j = tl.maximum(column, row), tl.minimum(column, row)
            _relate(x, k, to, x_row, x_head, k_row, k_head, shared, i, j, R, padded, DK, BDK, CK, BLOCK, FINE)


@triton.jit
def _to_solve(
    v, g, beta, u, decay, to_root, v_row, v_head, beta_row, head, values, rows, place, wanted, R, HV, HK,
    padded, group: tl.constexpr, DV: tl.constexpr,
):  # fmt: skip
    """What their part of the system must give, r, of rows whose S_0ᵀ k stands in ``u``."""
    from_key = tl.load(u + place, mask=wanted, other=0.0)
    from_v = tl.load(v + rows[:, None] * v_row + head * v_head + values[None, :], mask=wanted, other=0.0)
    wrote = tl.load(u + head * DV + values, mask=values < DV, other=0.0)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    total = tl.load(decay + rows * HV + head, mask=rows < R, other=0.0)
    kept = tl.exp(total - tl.load(g + head))
    near = kept * tl.load(to_root + (HK + head // group) * padded + rows - 1)
    read = tl.exp(total)[:, None] * from_key + near[:, None] * wrote[None, :]
    return strength[:, None] * (from_v.to(tl.float32) - read)


@triton.jit
def _from_root(
    g, u, decay, base, to_root, head, values, rows, place, wanted, R, HV, padded,
    group: tl.constexpr, DV: tl.constexpr,
):  # fmt: skip
    """e^G S_1ᵀ q of some rows."""
    from_query = tl.load(base + place, mask=wanted, other=0.0)
    wrote = tl.load(u + head * DV + values, mask=values < DV, other=0.0)
    total = tl.load(decay + rows * HV + head, mask=rows < R, other=0.0)
    near = tl.exp(total - tl.load(g + head)) * tl.load(to_root + (head // group) * padded + rows - 1)
    return tl.exp(total)[:, None] * from_query + near[:, None] * wrote[None, :]


@triton.jit
def _solve(
    v, g, beta, out, u, decay, inverses, gammas, scores, base, to_root, v_row, v_head, beta_row, R, HV, HK,
    group: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr, FINE: tl.constexpr,
):  # fmt: skip
    """All of one block."""
    tile, head = tl.program_id(0), tl.program_id(1)
    values = tile * BV + tl.arange(0, BV)
    local = tl.arange(0, BLOCK)
    rows = 1 + local
    wanted = (rows[:, None] < R) & (values[None, :] < DV)
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    square = local[:, None] * BLOCK + local[None, :]
    inverse = tl.load(inverses + head * BLOCK * BLOCK + square)
    score = tl.load(scores + (head // group) * BLOCK * BLOCK + square)
    score *= tl.load(gammas + head * BLOCK * BLOCK + square)
    output = _from_root(
        g, u, decay, base, to_root, head, values, rows, place, wanted, R, HV, BLOCK, group, DV
    )
    right = _to_solve(
        v, g, beta, u, decay, to_root, v_row, v_head, beta_row, head, values, rows, place, wanted, R, HV, HK,
        BLOCK, group, DV,
    )  # fmt: skip
    own = product(inverse, right, FINE)
    tl.store(u + place, own, mask=wanted)
    output = add_product(output, score, own, FINE)
    tl.store(out + place, output.to(out.dtype.element_ty), mask=wanted)


@triton.jit
def _store_halves(to, low, x, FINE: tl.constexpr):
    """``x`` as what is multiplied; its second half lies ``low`` numbers behind the first."""
    high, rest = halves(x, FINE)
    tl.store(to, high)
    tl.store(to + low, rest)


@triton.jit
def _couple(
    v, g, beta, visible, u, decay, inverses, similar, scores, couplings, weights, to_root, v_row, v_head,
    beta_row, R, HV, HK, blocks,
    group: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr, FINE: tl.constexpr,
):  # fmt: skip
    """M_ij and P_ij; or, in the programs after these, T_i r_i of a tile of columns, into ``u``."""
    j, i, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if (j <= i) | (j >= blocks):
        local = tl.arange(0, BLOCK)
        rows = 1 + i * BLOCK + local
        padded = blocks * BLOCK
        square = local[:, None] * BLOCK + local[None, :]
        inverse = tl.load(inverses + (head * blocks + i).to(tl.int64) * BLOCK * BLOCK + square)
        if j <= i:
            line = (head // group).to(tl.int64) * padded * padded + (i * BLOCK + local[:, None]) * padded
            line += j * BLOCK + local[None, :]
            to = _square_of(head, i, j, blocks, BLOCK) + square
            low = _square_of(HV, 0, 0, blocks, BLOCK)
            cols = 1 + j * BLOCK + local
            strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
            down = tl.load(decay + rows * HV + head, mask=rows < R, other=0.0)
            across = tl.load(decay + cols * HV + head, mask=cols < R, other=0.0)
            gamma = _gamma(_seen(visible, rows, cols, R), down, across)
            _store_halves(weights + to, low, gamma * tl.load(scores + line), FINE)
            if j < i:
                lower = strength[:, None] * gamma * tl.load(similar + line)
                _store_halves(couplings + to, low, product(inverse, lower, FINE), FINE)
        else:
            values = (j - blocks) * BV + tl.arange(0, BV)
            wanted = (rows[:, None] < R) & (values[None, :] < DV)
            place = (rows[:, None] * HV + head) * DV + values[None, :]
            right = _to_solve(
                v, g, beta, u, decay, to_root, v_row, v_head, beta_row, head, values, rows, place, wanted, R,
                HV, HK, padded, group, DV,
            )  # fmt: skip
            tl.store(u + place, product(inverse, right, FINE), mask=wanted)


@triton.jit
def _square_of(head, i, j, blocks, BLOCK: tl.constexpr):
    """Where block (i, j) lies among those on and below the diagonal, of all heads."""
    return (head * (blocks * (blocks + 1) // 2) + i * (i + 1) // 2 + j).to(tl.int64) * BLOCK * BLOCK


@triton.jit
def _add_solved(
    total, squares, u, head, i, j, values, R, HV, blocks,
    DV: tl.constexpr, BLOCK: tl.constexpr, FINE: tl.constexpr,
):  # fmt: skip
    """``total`` + a block of M or P times the solutions of block row j, in some columns."""
    local = tl.arange(0, BLOCK)
    cols = 1 + j * BLOCK + local
    square = squares + _square_of(head, i, j, blocks, BLOCK) + local[:, None] * BLOCK + local[None, :]
    known = (cols[:, None] < R) & (values[None, :] < DV)
    solved = tl.load(u + (cols[:, None] * HV + head) * DV + values[None, :], mask=known, other=0.0)
    high, low = halves(solved, FINE)
    rest = tl.load(square + _square_of(HV, 0, 0, blocks, BLOCK))
    return add_product_of_halves(total, tl.load(square), rest, high, low, FINE)


@triton.jit
def _substitute(
    u, couplings, R, HV, blocks, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr, FINE: tl.constexpr
):
    """What must be serial, of a tile of columns; ``u`` holds T_i r_i and is overwritten with the solution."""
    tile, head = tl.program_id(0), tl.program_id(1)
    values = tile * BV + tl.arange(0, BV)
    for i in range(1, blocks):
        rows = 1 + i * BLOCK + tl.arange(0, BLOCK)
        wanted = (rows[:, None] < R) & (values[None, :] < DV)
        place = (rows[:, None] * HV + head) * DV + values[None, :]
        total = tl.zeros([BLOCK, BV], tl.float32)
        for j in range(i):
            total = _add_solved(total, couplings, u, head, i, j, values, R, HV, blocks, DV, BLOCK, FINE)
        tl.store(u + place, tl.load(u + place, mask=wanted, other=0.0) - total, mask=wanted)
        tl.debug_barrier()  # the next block row reads what other threads stored here


@triton.jit
def _outputs(
    g, out, u, decay, weights, base, to_root, R, HV, blocks,
    group: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr, FINE: tl.constexpr,
):  # fmt: skip
    """Outputs of a block row, in a tile of columns; the last row, which takes longest, comes first."""
    i, tile, head = blocks - 1 - tl.program_id(2), tl.program_id(0), tl.program_id(1)
    values = tile * BV + tl.arange(0, BV)
    rows = 1 + i * BLOCK + tl.arange(0, BLOCK)
    wanted = (rows[:, None] < R) & (values[None, :] < DV)
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    output = _from_root(
        g, u, decay, base, to_root, head, values, rows, place, wanted, R, HV, blocks * BLOCK, group, DV
    )
    for j in range(i + 1):
        output = _add_solved(output, weights, u, head, i, j, values, R, HV, blocks, DV, BLOCK, FINE)
    tl.store(out + place, output.to(out.dtype.element_ty), mask=wanted)
