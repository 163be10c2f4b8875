"""Kernels of the gated delta rule over a tree whose row 0, the root, is an ancestor of every row.

So the root needs no system: S_1 = e^{g_0} S_0 + k_0 u_0ᵀ is the state from which all the others start. Their
unit lower triangular system, (I + L) U = r with L_ij = β_i Γ_ij (k_i·k_j), is cut into square blocks. G below
is the decay from the root's children on.

- ``_whole``: one small block of rows; a program takes a head and a tile of value columns, from first to last.
- ``_prepare`` and ``_solve``: any blocks. The first does what can be done at once, one task a program: what
  rows read from the state, S_1ᵀ k and S_1ᵀ q; the inverses of I + L_ii; the products k_i·k_j and q_i·k_j, per
  key head, without the Γ of the value heads that share it. The second does, per head and tile of value
  columns, what must be serial: block row by block row, with r_i = β_i (v_i - e^{G_i} S_1ᵀ k_i),
  U_i = (I + L_ii)^{-1} (r_i - Σ_{j<i} L_ij U_j) and o_i = e^{G_i} S_1ᵀ q_i + Σ_{j≤i} Γ_ij (q_i·k_j) U_j.

A program runs through its code about once, so what takes time is how much code it is: operands are split for
the tensor cores once, and results go through memory where cutting registers would take more instructions.
"""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.jit.inverse import invert_16, invert_64
from engine.kernels.jit.products import halves, product, product_of_halves, product_with_itself


@triton.jit
def _seen(visible, rows, cols, R):
    known = (rows[:, None] < R) & (cols[None, :] < R)
    return tl.load(visible + rows[:, None] * R + cols[None, :], mask=known, other=0) != 0


@triton.jit
def _vectors(x, row, rows, R, D: tl.constexpr, BD: tl.constexpr):
    """Queries or keys of ``rows``; 0 past the last."""
    dims = tl.arange(0, BD)
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
def _whole(
    q, k, v, g, beta, visible, state, out, u, decay,
    q_row, q_head, k_row, k_head, v_row, v_head, g_row, beta_row, R, HV,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, BV: tl.constexpr,
    BLOCK: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """A root and at most BLOCK more rows. Warps share the sums over the key's dimensions: each takes a part
    of these, (PARTS, BLOCK, BDK / PARTS) of the keys."""
    W: tl.constexpr = BDK // PARTS
    tile, head = tl.program_id(0), tl.program_id(1)
    shared = head // group
    rows = 1 + tl.arange(0, BLOCK)
    values = tile * BV + tl.arange(0, BV)
    dims = tl.arange(0, PARTS)[:, None] * W + tl.arange(0, W)[None, :]
    inside = (dims[:, :, None] < DK) & (values[None, None, :] < DV)
    s = tl.load(
        state + head * DK * DV + dims[:, :, None] * DV + values[None, None, :], mask=inside, other=0.0
    )
    key = tl.load(k + shared * k_head + dims, mask=dims < DK, other=0.0).to(tl.float32)
    query = tl.load(q + shared * q_head + dims, mask=dims < DK, other=0.0).to(tl.float32)
    value = tl.load(v + head * v_head + values, mask=values < DV, other=0.0).to(tl.float32)
    loss = tl.load(g + head).to(tl.float32)
    first = tl.load(beta + head).to(tl.float32)
    places = rows[None, :, None], dims[:, None, :]
    known = (places[0] < R) & (places[1] < DK)
    keys = tl.load(k + shared * k_head + places[0] * k_row + places[1], mask=known, other=0.0).to(tl.float32)
    queries = tl.load(q + shared * q_head + places[0] * q_row + places[1], mask=known, other=0.0)
    seen = _seen(visible, rows, rows, R)
    step = tl.load(g + rows * g_row + head, mask=rows < R, other=0.0).to(tl.float32)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    wanted = (rows[:, None] < R) & (values[None, :] < DV)
    v_i = tl.load(v + rows[:, None] * v_row + head * v_head + values[None, :], mask=wanted, other=0.0)

    down = _path_decay(seen, step)
    gamma = _gamma(seen, down, down)
    key_high, key_low = halves(keys)
    query_high, query_low = halves(queries.to(tl.float32))
    high, low = tl.permute(key_high, [0, 2, 1]), tl.permute(key_low, [0, 2, 1])
    lower = tl.sum(product_of_halves(key_high, key_low, high, low), axis=0)
    lower *= tl.where(rows[:, None] > rows[None, :], strength[:, None] * gamma, 0.0)
    inverse = invert_16(lower, rows[:, None] - 1, rows[None, :] - 1)
    score = gamma * tl.sum(product_of_halves(query_high, query_low, high, low), axis=0)

    s = s.to(tl.float32) * tl.exp(loss)
    own = first * (value - tl.sum(tl.sum(s * key[:, :, None], axis=1), axis=0))
    s += key[:, :, None] * own[None, None, :]
    output = tl.sum(tl.sum(s * query[:, :, None], axis=1), axis=0)
    tl.store(out + head * DV + values, output.to(out.dtype.element_ty), mask=values < DV)
    tl.store(u + head * DV + values, own, mask=values < DV)

    kept = tl.exp(down)[:, None]
    high, low = halves(s)
    from_key = tl.sum(product_of_halves(key_high, key_low, high, low), axis=0)
    right = strength[:, None] * (v_i.to(tl.float32) - kept * from_key)
    outputs = kept * tl.sum(product_of_halves(query_high, query_low, high, low), axis=0)
    solved = product(inverse, right)
    outputs += product(score, solved)
    place = (rows[:, None] * HV + head) * DV + values[None, :]
    tl.store(u + place, solved, mask=wanted)
    tl.store(out + place, outputs.to(out.dtype.element_ty), mask=wanted)
    if tile == 0:
        tl.store(decay + head, loss)
        tl.store(decay + rows * HV + head, loss + down, mask=rows < R)


@triton.jit
def _invert_block(
    k, g, beta, visible, decay, inverses, gammas, k_row, k_head, g_row, beta_row, head, i, blocks, R, HV,
    group: tl.constexpr, DK: tl.constexpr, BDK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """(I + L_ii)^{-1}, and what else comes from the paths to a block's rows: Γ_ii and the decays."""
    local = tl.arange(0, BLOCK)
    rows = 1 + i * BLOCK + local
    seen = _seen(visible, rows, rows, R)
    strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
    step = tl.load(g + rows * g_row + head, mask=rows < R, other=0.0).to(tl.float32)
    keys = _vectors(k + (head // group) * k_head, k_row, rows, R, DK, BDK)
    # From one row of the block to another, the path lies within it.
    total = _path_decay(seen, step)
    gamma = _gamma(seen, total, total)
    lower = product_with_itself(keys)
    lower *= tl.where(local[:, None] > local[None, :], strength[:, None] * gamma, 0.0)
    square = (head * blocks + i).to(tl.int64) * BLOCK * BLOCK
    place = square + local[:, None] * BLOCK + local[None, :]
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
    DK: tl.constexpr, BDK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The products x_i·k_j of one block, of a key head."""
    rows = i * BLOCK + tl.arange(0, BLOCK)
    cols = j * BLOCK + tl.arange(0, BLOCK)
    down = _vectors(x + shared * x_head, x_row, 1 + rows, R, DK, BDK)
    across = _vectors(k + shared * k_head, k_row, 1 + cols, R, DK, BDK)
    place = shared.to(tl.int64) * padded * padded + rows[:, None] * padded + cols[None, :]
    tl.store(products + place, product(down, tl.trans(across)))


@triton.jit
def _after_root(
    q, k, v, g, beta, state, out, u, decay, q_head, k_head, v_head, head, tile,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    """S_1; the root's own results are written on the way."""
    shared = head // group
    dims = tl.arange(0, BDK)
    values = tile * BV + tl.arange(0, BV)
    inside = (dims[:, None] < DK) & (values[None, :] < DV)
    s = tl.load(state + head * DK * DV + dims[:, None] * DV + values[None, :], mask=inside, other=0.0)
    key = tl.load(k + shared * k_head + dims, mask=dims < DK, other=0.0).to(tl.float32)
    query = tl.load(q + shared * q_head + dims, mask=dims < DK, other=0.0).to(tl.float32)
    value = tl.load(v + head * v_head + values, mask=values < DV, other=0.0).to(tl.float32)
    loss = tl.load(g + head).to(tl.float32)
    s = s.to(tl.float32) * tl.exp(loss)
    own = tl.load(beta + head).to(tl.float32) * (value - tl.sum(s * key[:, None], axis=0))
    s += key[:, None] * own[None, :]
    output = tl.sum(s * query[:, None], axis=0)
    tl.store(out + head * DV + values, output.to(out.dtype.element_ty), mask=values < DV)
    tl.store(u + head * DV + values, own, mask=values < DV)
    if tile == 0:
        tl.store(decay + head, loss)
    return s


@triton.jit
def _read_state(
    q, k, v, g, beta, state, out, u, decay, base, q_row, q_head, k_row, k_head, v_head, head, tile, R, HV,
    blocks, group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, BV: tl.constexpr,
    BLOCK: tl.constexpr, SINGLE: tl.constexpr,
):  # fmt: skip
    """Into ``u`` S_1ᵀ k and into ``base`` S_1ᵀ q, of all rows."""
    shared = head // group
    if SINGLE:  # early, for its latency
        keys = _vectors(k + shared * k_head, k_row, 1 + tl.arange(0, BLOCK), R, DK, BDK)
    s = _after_root(
        q, k, v, g, beta, state, out, u, decay, q_head, k_head, v_head, head, tile, group, DK, DV, BDK, BV
    )
    values = tile * BV + tl.arange(0, BV)
    for i in range(blocks):
        rows = 1 + i * BLOCK + tl.arange(0, BLOCK)
        wanted = (rows[:, None] < R) & (values[None, :] < DV)
        place = (rows[:, None] * HV + head) * DV + values[None, :]
        if not SINGLE:
            keys = _vectors(k + shared * k_head, k_row, rows, R, DK, BDK)
        tl.store(u + place, product(keys, s), mask=wanted)
        queries = _vectors(q + shared * q_head, q_row, rows, R, DK, BDK)
        tl.store(base + place, product(queries, s), mask=wanted)


@triton.jit
def _prepare(
    q, k, v, g, beta, visible, state, out, u, decay, inverses, gammas, similar, scores, base,
    q_row, q_head, k_row, k_head, v_row, v_head, g_row, beta_row, R, HV, HK, blocks, tiles,
    group: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BDK: tl.constexpr, BV: tl.constexpr,
    BLOCK: tl.constexpr, SINGLE: tl.constexpr,
):  # fmt: skip
    """One task a program; the products, the shortest, come last."""
    task = tl.program_id(0)
    reads, inverted, padded = HV * tiles, HV * blocks, blocks * BLOCK
    if task < reads:
        _read_state(
            q, k, v, g, beta, state, out, u, decay, base, q_row, q_head, k_row, k_head, v_head,
            task // tiles, task % tiles, R, HV, blocks, group, DK, DV, BDK, BV, BLOCK, SINGLE,
        )  # fmt: skip
    elif task < reads + inverted:
        task -= reads
        _invert_block(
            k, g, beta, visible, decay, inverses, gammas, k_row, k_head, g_row, beta_row, task // blocks,
            task % blocks, blocks, R, HV, group, DK, BDK, BLOCK,
        )  # fmt: skip
    else:
        task -= reads + inverted
        shared, task = task // (blocks * (2 * blocks - 1)), task % (blocks * (2 * blocks - 1))
        if task < blocks * blocks:
            if task // blocks >= task % blocks:
                _relate(
                    q, k, scores, q_row, q_head, k_row, k_head, shared, task // blocks, task % blocks, R,
                    padded, DK, BDK, BLOCK,
                )  # fmt: skip
        else:  # the block rows from the second on
            task -= blocks * (blocks - 1)
            if task // blocks > task % blocks:
                _relate(
                    k, k, similar, k_row, k_head, k_row, k_head, shared, task // blocks, task % blocks, R,
                    padded, DK, BDK, BLOCK,
                )  # fmt: skip


@triton.jit
def _solve(
    v, g, beta, visible, out, u, decay, inverses, gammas, similar, scores, base, v_row, v_head, beta_row,
    R, HV, blocks,
    group: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, BLOCK: tl.constexpr, SINGLE: tl.constexpr,
):  # fmt: skip
    """Block forward substitution; ``u`` holds S_1ᵀ k and is overwritten with the solution."""
    tile, head = tl.program_id(0), tl.program_id(1)
    values = tile * BV + tl.arange(0, BV)
    local = tl.arange(0, BLOCK)
    padded = blocks * BLOCK
    matrix = (head // group).to(tl.int64) * padded * padded
    root = tl.load(g + head).to(tl.float32)
    for i in range(blocks):
        rows = 1 + i * BLOCK + local
        wanted = (rows[:, None] < R) & (values[None, :] < DV)
        place = (rows[:, None] * HV + head) * DV + values[None, :]
        from_key = tl.load(u + place, mask=wanted, other=0.0)
        from_query = tl.load(base + place, mask=wanted, other=0.0)
        v_i = tl.load(v + rows[:, None] * v_row + head * v_head + values[None, :], mask=wanted, other=0.0)
        strength = tl.load(beta + rows * beta_row + head, mask=rows < R, other=0.0).to(tl.float32)
        down = tl.load(decay + rows * HV + head, mask=rows < R, other=0.0)
        line = matrix + (i * BLOCK + local[:, None]) * padded + local[None, :]
        square = (head * blocks + i).to(tl.int64) * BLOCK * BLOCK + local[:, None] * BLOCK + local[None, :]
        if SINGLE:  # all loads at once, for their latency; with more blocks they would not fit
            inverse = tl.load(inverses + square)
            score = tl.load(scores + line) * tl.load(gammas + square)
        kept = tl.exp(down - root)[:, None]
        wished = v_i.to(tl.float32) - kept * from_key
        output = kept * from_query
        if not SINGLE:
            for j in range(i):
                cols = 1 + j * BLOCK + local
                solved = tl.load(
                    u + (cols[:, None] * HV + head) * DV + values[None, :],
                    mask=values[None, :] < DV, other=0.0,
                )  # fmt: skip
                past = _gamma(_seen(visible, rows, cols, R), down, tl.load(decay + cols * HV + head))
                wished -= product(past * tl.load(similar + line + j * BLOCK), solved)
                output += product(past * tl.load(scores + line + j * BLOCK), solved)
            inverse = tl.load(inverses + square)
        own = product(inverse, strength[:, None] * wished)
        tl.store(u + place, own, mask=wanted)
        if not SINGLE:
            score = tl.load(scores + line + i * BLOCK) * tl.load(gammas + square)
        output += product(score, own)
        tl.store(out + place, output.to(out.dtype.element_ty), mask=wanted)
        if not SINGLE:
            tl.debug_barrier()  # the next block row reads what other threads stored here
