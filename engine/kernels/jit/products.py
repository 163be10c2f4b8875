"""Matrix products of float32 on tensor cores, whose numbers are shorter: each is cut in two.

Of the 24 bits of a number, two of TF32 hold 22, and products are as exact as float32 needs them; two of
bfloat16 hold 16, and products are off by some 1e-6. Tensor cores take bfloat16 twice as fast as TF32, and
from half the shared memory, where TF32 also has to be turned first. So products are ``FINE``, of TF32,
where a model computes in float32, and of bfloat16 where its own numbers have no more bits than that.
"""

from __future__ import annotations

import os

import triton
import triton.language as tl

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""The interpreter cuts numbers to bfloat16 where a chip rounds, and multiplies them as the integers in
which it keeps them; it gets the same numbers as float32."""


@triton.jit
def _rounded(x, FINE: tl.constexpr):
    """What a tensor core keeps of a number."""
    bits = x.to(tl.int32, bitcast=True)
    if FINE:
        kept = ((bits + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
    elif INTERPRETED:
        kept = ((bits + 0x8000) & -0x10000).to(tl.float32, bitcast=True)
    else:
        kept = x.to(tl.bfloat16)
    return kept


@triton.jit
def halves(x, FINE: tl.constexpr):
    """What a tensor core keeps of a number, and what it keeps of the rest."""
    high = _rounded(x, FINE)
    rest = x - high.to(tl.float32)
    return high, rest if FINE else _rounded(rest, FINE)


@triton.jit
def _dot(a, b, total, FINE: tl.constexpr):
    if INTERPRETED and not FINE:
        a, b = a.to(tl.float32), b.to(tl.float32)
    return tl.dot(a, b, total, input_precision="tf32")


@triton.jit
def add_product_of_halves(total, a_high, a_low, b_high, b_low, FINE: tl.constexpr):
    """``total + a @ b``, less the product of the two rests."""
    total = _dot(a_low, b_high, total, FINE)
    total = _dot(a_high, b_low, total, FINE)
    return _dot(a_high, b_high, total, FINE)


@triton.jit
def add_product(total, a, b, FINE: tl.constexpr):
    """``total + a @ b``. With ``input_precision="tf32x3"`` the compiler would split an operand anew in every
    warp that uses it; here each number is split where it was loaded, once."""
    a_high, a_low = halves(a, FINE)
    b_high, b_low = halves(b, FINE)
    return add_product_of_halves(total, a_high, a_low, b_high, b_low, FINE)


@triton.jit
def product(a, b, FINE: tl.constexpr):
    """``a @ b``."""
    return add_product(None, a, b, FINE)


@triton.jit
def add_product_with_itself(total, a, FINE: tl.constexpr):
    """``total + a @ aᵀ``."""
    high, low = halves(a, FINE)
    return add_product_of_halves(total, high, low, tl.trans(high), tl.trans(low), FINE)
