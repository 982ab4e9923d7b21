"""Compiled elementwise loops: integer arithmetic with its REQUIREs, RESCALE, the interpolated TABLE.

`low` and `high` are element positions in the output. Tests are gathered without branches and looked up only when one
failed, so that the loops stay vector code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics import lookup
from ._jit import jit

apply_lookup_s = jit(lookup.apply_lookup_s)
I32_MIN, I32_MAX = -2147483648, 2147483647
ADD, SUB, MUL = 0, 1, 2


@jit
def offset(row: int, dims: Any, strides: Any) -> int:
    """Where a row (an index of all axes but the last) starts in a broadcast input."""
    at = np.int64(0)
    for axis in range(len(dims) - 2, -1, -1):
        at += row % dims[axis] * strides[axis]
        row //= dims[axis]
    return at


@jit
def combine(op: int, shift: int, a: Any, b: Any) -> Any:
    """The result in 64 bits. MUL with a shift rounds half up; its rounding bit is added after the shift, where it
    can't overflow."""
    left, right = np.int64(a), np.int64(b)
    if op == ADD:
        return left + right
    if op == SUB:
        return left - right
    product = left * right
    if shift == 0:
        return product
    return (product >> np.int64(shift)) + ((product >> np.int64(shift - 1)) & 1)


@jit
def arithmetic(op: int, shift: int, wrap: bool, a: Any, b: Any, dims: Any, sa: Any, sb: Any, out: Any, low: int, high: int) -> int:
    """ADD, SUB and MUL of integers into int32, with broadcasting; `wrap`: MUL without a shift keeps the low 32 bits."""
    inner = dims[len(dims) - 1]
    step_a, step_b = sa[len(dims) - 1], sb[len(dims) - 1]
    at = low
    while at < high:
        row = at // inner
        column = at - row * inner
        run = min(inner - column, high - at)
        ia, ib = offset(row, dims, sa) + column * step_a, offset(row, dims, sb) + column * step_b
        bad = False
        for i in range(run):
            value = combine(op, shift, a[ia + i * step_a], b[ib + i * step_b])
            bad |= value > I32_MAX or value < I32_MIN
            out[at + i] = value
        if bad and not wrap:
            for i in range(run):
                value = combine(op, shift, a[ia + i * step_a], b[ib + i * step_b])
                if value > I32_MAX or value < I32_MIN:
                    return at + i
        at += run
    return -1


@jit
def scale(value: int, multiplier: int, shift: int, double: int) -> int:
    """numerics.scale.apply_scale_32 (or _16); `double` is 2^30 for DOUBLE_ROUND with shift > 31, else 0."""
    rounding = (np.int64(1) << np.int64(shift - 1)) + (double if value >= 0 else -double)
    return (value * multiplier + rounding) >> np.int64(shift)


@jit
def rescale(x: Any, multiplier: Any, shift: Any, double: Any, g: Any, out: Any, low: int, high: int) -> int:
    """RESCALE; g: input zp, output zp, low, high, mask of an unsigned input (-1: none), value limit (1: scale32)."""
    channels = len(multiplier)
    at = low
    while at < high:
        first = at % channels
        run = min(channels - first, high - at) if channels > 1 else high - at
        bad = False
        for i in range(run):
            c = first + i if channels > 1 else 0
            value = (np.int64(x[at + i]) & g[4]) - g[0]
            half = np.int64(1) << (shift[c] - 1)
            bad |= g[5] != 0 and (value < -half or value >= half)
            result = scale(value, multiplier[c], shift[c], double[c])
            bad |= result > I32_MAX or result < I32_MIN
            result += g[1]
            bad |= result > I32_MAX or result < I32_MIN
            out[at + i] = min(max(result, g[2]), g[3])
        if bad:
            for i in range(run):
                c = first + i if channels > 1 else 0
                value = (np.int64(x[at + i]) & g[4]) - g[0]
                half = np.int64(1) << (shift[c] - 1)
                result = scale(value, multiplier[c], shift[c], double[c])
                after = result + g[1]
                wrong = result > I32_MAX or result < I32_MIN or after > I32_MAX or after < I32_MIN
                if wrong or (g[5] != 0 and (value < -half or value >= half)):
                    return at + i
        at += run
    return -1


@jit
def table_int16(x: Any, table: Any, out: Any, low: int, high: int) -> int:
    for i in range(low, high):
        value = np.int64(x[i])
        index = (value + 32768) >> 7
        slope = np.int64(table[index + 1]) - np.int64(table[index])
        if slope > 32767 or slope < -32768:
            return i
        out[i] = apply_lookup_s(table, value)
    return -1


@jit
def rescaled_add(op: int, a: Any, b: Any, table_a: Any, table_b: Any, e32: Any, e64: Any, limits: Any, out: Any, low: int, high: int) -> int:
    """ADD or SUB of two int8 tensors that were scaled to int32, and scaled back to int8, in one pass.

    What the first two RESCALEs make of the 256 values of each input is known ahead: `table_a` and `table_b`.
    """
    rounding, double, multiplier = e64[0], e64[1], np.int64(e32[1])
    right, left = np.int64(e32[2]), np.int64(e32[3])
    for i in range(low, high):
        first, second = np.int64(table_a[np.int64(a[i]) + 128]), np.int64(table_b[np.int64(b[i]) + 128])
        value = first + second if op == ADD else first - second
        total = (value * multiplier + rounding + (double if value >= 0 else -double)) << left
        result = ((total >> 32) >> right) + limits[0]
        out[i] = min(max(result, limits[1]), limits[2])
    return -1
