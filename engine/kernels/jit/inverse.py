"""Inverses of unit lower triangular matrices."""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.jit.products import product


@triton.jit
def invert(lower, SIZE: tl.constexpr):
    """(I + L)^{-1} of a strictly lower triangular L of 16, 32 or 64 rows, by doubling.

    With the inverse T of the diagonal blocks of size m, and C the part of L that joins two of them to one of
    size 2m, the inverse of the larger blocks is T - T C T. Unlike the product (I - L)(I + L²)(I + L⁴)…, no
    power of L appears: those grow like binomials when keys are alike, and cancel only in exact arithmetic.
    From size 16 on the blocks are multiplied for themselves, not as parts of a matrix of zeros.
    """
    if SIZE == 16:
        inverse = _invert_16(lower, tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :])
    else:
        small = _diagonal_blocks(lower, 16, SIZE // 16)
        small = _invert_16(small, tl.arange(0, 16)[None, :, None], tl.arange(0, 16)[None, None, :])
        inverse = _join(small, _diagonal_blocks(lower, 32, SIZE // 32), 16, SIZE // 32)
        if SIZE == 64:
            inverse = _join(inverse, tl.reshape(lower, [1, 64, 64]), 32, 1)
        inverse = tl.reshape(inverse, [SIZE, SIZE])
    return inverse


@triton.jit
def _invert_16(lower, row, col):
    """Of one 16 × 16 matrix, or of many; ``row`` and ``col`` number its places."""
    inverse = tl.where(row == col, 1.0, 0.0) - tl.where((row // 2 == col // 2) & (row > col), lower, 0.0)
    for level in tl.static_range(1, 4):
        size = 1 << level
        joins = (row // (2 * size) == col // (2 * size)) & (row // size > col // size)
        inverse -= product(inverse, product(tl.where(joins, lower, 0.0), inverse))
    return inverse


@triton.jit
def _diagonal_blocks(x, SIZE: tl.constexpr, COUNT: tl.constexpr):
    """(COUNT · SIZE)² -> COUNT × SIZE²."""
    if COUNT == 1:
        blocks = tl.reshape(x, [1, SIZE, SIZE])
    else:
        blocks = tl.permute(tl.reshape(x, [COUNT, SIZE, COUNT, SIZE]), [0, 2, 1, 3])
        order = tl.arange(0, COUNT)
        same = order[:, None] == order[None, :]
        blocks = tl.sum(tl.where(same[:, :, None, None], blocks, 0.0), axis=1)
    return blocks


@triton.jit
def _join(inverse, lower, SIZE: tl.constexpr, COUNT: tl.constexpr):
    """2 COUNT inverses of SIZE², in pairs: [[T, 0], [-T' C T, T']] with C from ``lower``, COUNT of these."""
    first, last = tl.split(tl.permute(tl.reshape(inverse, [COUNT, 2, SIZE, SIZE]), [0, 2, 3, 1]))
    _, below = tl.split(tl.permute(tl.reshape(lower, [COUNT, 2, SIZE, 2, SIZE]), [0, 2, 4, 3, 1]))
    link, _ = tl.split(below)
    if COUNT == 1:
        link, above = tl.reshape(link, [SIZE, SIZE]), tl.reshape(first, [SIZE, SIZE])
        corner = product(tl.reshape(last, [SIZE, SIZE]), product(link, above))
        corner = tl.reshape(corner, [1, SIZE, SIZE])
    else:
        corner = product(last, product(link, first))
    top, bottom = tl.join(first, tl.zeros_like(first)), tl.join(-corner, last)
    both = tl.permute(tl.join(top, bottom), [0, 4, 1, 3, 2])
    return tl.reshape(both, [COUNT, 2 * SIZE, 2 * SIZE])
