"""Inverses of unit lower triangular matrices, by doubling.

With the inverse T of the diagonal blocks of size m, and C the part of L that joins two of them to one of size
2m, the inverse of the larger blocks of I + L is T - T C T. Unlike the product (I - L)(I + L²)(I + L⁴)…, no
power of L appears: those grow like binomials when keys are alike, and cancel only in exact arithmetic.
"""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.jit.products import product


@triton.jit
def invert_16(lower, row, col, FINE: tl.constexpr):
    """(I + L)^{-1} of strictly lower triangular L of 16 × 16, of one or many.

    Args:
        row, col: where an entry of L stands, of L's dimensions.
        FINE: as for products.
    """
    inverse = tl.where(row == col, 1.0, 0.0) - tl.where((row // 2 == col // 2) & (row > col), lower, 0.0)
    for level in tl.static_range(1, 4):
        size = 1 << level
        joins = (row // (2 * size) == col // (2 * size)) & (row // size > col // size)
        inverse -= product(inverse, product(tl.where(joins, lower, 0.0), inverse, FINE), FINE)
    return inverse


@triton.jit
def invert_64(lower, to, FINE: tl.constexpr):
    """Leave (I + L)^{-1} of a strictly lower triangular L of 64 × 64 in memory, 64 × 64 from ``to`` on.

    What is to be multiplied next is read from there: cutting blocks out of registers takes far longer.
    """
    rows, blocks = tl.arange(0, 64), tl.arange(0, 4)[:, None, None]
    tl.store(to + rows[:, None] * 64 + rows[None, :], lower)
    tl.debug_barrier()  # what follows was stored by other threads
    row, col = tl.arange(0, 16)[None, :, None], tl.arange(0, 16)[None, None, :]
    small = to + blocks * (16 * 64 + 16) + row * 64 + col
    inverse = invert_16(tl.load(small), row, col, FINE)
    pairs = to + tl.arange(0, 2)[:, None, None] * (32 * 64 + 32) + row * 64 + col
    link = tl.load(pairs + 16 * 64)
    tl.debug_barrier()
    tl.store(small, inverse)
    tl.debug_barrier()
    first, last = tl.load(pairs), tl.load(pairs + 16 * 64 + 16)
    tl.store(pairs + 16 * 64, -product(last, product(link, first, FINE), FINE))
    rows = tl.arange(0, 32)
    quarter = to + rows[:, None] * 64 + rows[None, :]
    link = tl.load(quarter + 32 * 64)
    tl.debug_barrier()
    first, last = tl.load(quarter), tl.load(quarter + 32 * 64 + 32)
    tl.store(quarter + 32 * 64, -product(last, product(link, first, FINE), FINE))
