"""Matrix products of float32 on tensor cores, which take 11 of its 24 bits at a time."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def product(a, b):
    """``a @ b`` as exactly as float32 needs it: all but the product of the two remainders, which is below
    2⁻²² of the whole. With ``input_precision="tf32x3"`` the compiler would split an operand anew in every
    warp that uses it; here each number is split where it was loaded, once."""
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    return product_of_halves(a_high, a_low, b_high, b_low)


@triton.jit
def add_product(total, a, b):
    """``total + a @ b``."""
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    total = tl.dot(a_low, b_high, total, input_precision="tf32")
    total = tl.dot(a_high, b_low, total, input_precision="tf32")
    return tl.dot(a_high, b_high, total, input_precision="tf32")


@triton.jit
def product_with_itself(a):
    """``a @ aᵀ``."""
    high, low = halves(a)
    return product_of_halves(high, low, tl.trans(high), tl.trans(low))


@triton.jit
def halves(x):
    """What a tensor core keeps of a number, rounded, and the rest."""
    bits = x.to(tl.int32, bitcast=True)
    high = ((bits + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
    return high, x - high


@triton.jit
def product_of_halves(a_high, a_low, b_high, b_low):
    """``product`` of what is split already."""
    total = tl.dot(a_low, b_high, input_precision="tf32")
    total = tl.dot(a_high, b_low, total, input_precision="tf32")
    return tl.dot(a_high, b_high, total, input_precision="tf32")
