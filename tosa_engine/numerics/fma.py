"""Fused multiply-add of float32 from float64 arithmetic: what vector units do in one instruction, for hosts without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..types import Array


def fma32(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """a * b + c with one rounding to float32.

    Meaning: the product of two 24-bit significands has 48 bits, so it is exact in float64. Its sum with c is rounded
    to 53 bits, and a second rounding to 24 bits could go wrong when the first one lands on a tie.
    Reason: rounding to odd cures that (Boldo and Melquiond, 2008): when the sum isn't exact, its last bit is made 1,
    so that it can't look like a tie. The error of the sum is exact by Knuth's two-sum.
    """
    product = np.float64(a) * np.float64(b)
    addend = np.float64(c)
    total = product + addend
    if not np.isfinite(total) or total == 0.0:
        return np.float32(total)
    rest = total - product
    error = (product - (total - rest)) + (addend - rest)
    if error != 0.0:
        bits = np.float64(total).view(np.int64)
        if bits & 1 == 0:
            # one step towards the exact sum: up in magnitude when the error has the sign of the total
            bits += 1 if (error > 0.0) == (total > 0.0) else -1
            total = np.int64(bits).view(np.float64)
    return np.float32(total)


def fma32_of(product: Array, c: Array) -> Array:
    """`fma32` of arrays of one shape: float64, exact products and what holds float32; so does the result."""
    total = product + c
    rest = total - product
    error = (product - (total - rest)) + (c - rest)
    bits = total.view(np.int64)
    even = np.isfinite(total) & (total != 0.0) & (error != 0.0) & (bits & 1 == 0)
    steps = np.where((error > 0.0) == (total > 0.0), 1, -1)
    found: Array = np.where(even, bits + steps, bits).view(np.float64).astype(np.float32).astype(np.float64)
    return found
