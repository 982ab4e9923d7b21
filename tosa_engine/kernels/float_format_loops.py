"""Compiled loops between the formats of floats, held as their bits, and float32. Widening is exact; narrowing rounds to
nearest, ties to even. Nothing branches, so that LLVM vectorises.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ._jit import inline, jit

# fp16: 5 bits of exponent, biased by 15; float32: 8 bits, biased by 127
SHIFT: Final = 13  # of the fraction
REBIAS: Final = (127 - 15) << 23
HALF_NORMAL: Final = np.float32(2.0**-14)  # the least
HALF_UNIT: Final = np.float32(2.0**-24)  # the least subnormal
HALF_BITS: Final = 0x3F000000  # of 0.5, whose last place is HALF_UNIT
HALF_OVERFLOWS: Final = np.float32(65520.0)  # from here on, values round to infinity
HALF_INFINITY: Final = 0x7C00
HALF_LEAST: Final = 0x0400  # normal value
HALF_NAN: Final = 0x7E00
BF16_NAN: Final = 0x7FC0


@inline
def half_to_float(h: int) -> Any:
    rest = np.uint32(h & 0x7FFF)
    bits = np.uint32((rest << SHIFT) + REBIAS)
    bits = np.uint32(bits + REBIAS) if rest >= HALF_INFINITY else bits
    small = np.float32(np.float32(rest) * HALF_UNIT).view(np.uint32)
    bits = small if rest < HALF_LEAST else bits
    return np.uint32(bits | np.uint32((h & 0x8000) << 16)).view(np.float32)


@inline
def float_to_half(value: Any) -> Any:
    bits = np.float32(value).view(np.uint32)
    sign, rest = np.uint32((bits >> 16) & 0x8000), np.uint32(bits & 0x7FFFFFFF)
    size = np.uint32(rest).view(np.float32)
    tie = np.uint32((rest >> SHIFT) & 1)
    normal = np.uint32(np.uint32(rest - REBIAS + (1 << (SHIFT - 1)) - 1 + tie) >> SHIFT)
    small = np.uint32(np.float32(size + np.float32(0.5)).view(np.uint32) - HALF_BITS)
    found = small if size < HALF_NORMAL else normal
    found = np.uint32(HALF_INFINITY) if size >= HALF_OVERFLOWS else found
    found = found if size == size else np.uint32(HALF_NAN)
    return np.uint16(found | sign)


@inline
def float_to_bf16(value: Any) -> Any:
    bits = np.float32(value).view(np.uint32)
    rounded = np.uint32(np.uint32(bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)
    quiet = np.uint32(BF16_NAN | ((bits >> 16) & 0x8000))
    return np.uint16(rounded if value == value else quiet)


@jit
def widen_half(x: Any, out: Any, low: int, high: int) -> int:
    source, target = x[low:high], out[low:high]
    for i in range(len(target)):
        target[i] = half_to_float(source[i])
    return -1


@jit
def widen_bf16(x: Any, out: Any, low: int, high: int) -> int:
    source, target = x[low:high], out[low:high]
    for i in range(len(target)):
        target[i] = np.uint32(np.uint32(source[i]) << 16).view(np.float32)
    return -1


@jit
def widen_byte(x: Any, table: Any, out: Any, low: int, high: int) -> int:
    """`table` has the value of each of the 256 bytes."""
    source, target = x[low:high], out[low:high]
    for i in range(len(target)):
        target[i] = table[source[i]]
    return -1


@jit
def narrow_half(x: Any, out: Any, low: int, high: int) -> int:
    source, target = x[low:high], out[low:high]
    for i in range(len(target)):
        target[i] = float_to_half(source[i])
    return -1


@jit
def narrow_bf16(x: Any, out: Any, low: int, high: int) -> int:
    source, target = x[low:high], out[low:high]
    for i in range(len(target)):
        target[i] = float_to_bf16(source[i])
    return -1
