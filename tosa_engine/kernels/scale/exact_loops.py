"""Compiled loops of RESCALE and of TABLE.

`low` and `high` are element positions in the output. Tests are gathered without branches, so that the loops stay vector
code; when one fails, the start of its run is returned. Results are cast to the output's type where their low bits are
meant: numpy's scalars wrap around then, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...numerics import lookup
from .._jit import inline, jit

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number

apply_lookup_s = jit(lookup.apply_lookup_s)
I32_MIN, I32_MAX = -2147483648, 2147483647


@jit
def offset(row: int, dims: Array, strides: Array) -> int:
    """Where a row (an index of all axes but the last) starts in a broadcast input."""
    at = np.int64(0)
    for axis in range(len(dims) - 2, -1, -1):
        at += row % dims[axis] * strides[axis]
        row //= dims[axis]
    return int(at)


@inline
def scale(value: Number, multiplier: Number, shift: Number, double: Number) -> Number:
    """numerics.scale.apply_scale_32 (or _16); `double` is 2^30 for DOUBLE_ROUND with shift > 31, else 0."""
    rounding = (np.int64(1) << np.int64(shift - 1)) + (double if value >= 0 else -double)
    return (value * multiplier + rounding) >> np.int64(shift)


@inline
def rescale_run(x: Array, multiplier: Array, shift: Array, double: Array, step: int, g: Array, out: Array) -> bool:
    """RESCALE of a run of elements, with the channels' numbers at a step of 1, or 0 for one channel.

    Returns whether an element violates a REQUIRE. See `rescale` for g.
    """
    zero_in, zero_out, low, high, mask, limited = g[0], g[1], g[2], g[3], g[4], g[5] != 0
    kind, bad = out.dtype.type, False
    for i in range(len(out)):
        c = i * step
        value = (np.int64(x[i]) & mask) - zero_in
        half = np.int64(1) << (shift[c] - 1)
        result = scale(value, multiplier[c], shift[c], double[c])
        after = result + zero_out
        wrong = result > I32_MAX or result < I32_MIN or after > I32_MAX or after < I32_MIN
        bad |= wrong or (limited and (value < -half or value >= half))
        out[i] = kind(min(max(after, low), high))
    return bad


@jit
def rescale(x: Array, multiplier: Array, shift: Array, double: Array, g: Array, out: Array, low: int, high: int) -> int:
    """RESCALE; g: input zp, output zp, low, high, mask of an unsigned input (-1: none), 1 for scale32's range."""
    channels = len(multiplier)
    at = low
    while at < high:
        first = at % channels
        run = min(channels - first, high - at) if channels > 1 else high - at
        source, target, end = x[at : at + run], out[at : at + run], first + run
        if channels == 1:
            bad = rescale_run(source, multiplier, shift, double, 0, g, target)
        else:
            bad = rescale_run(source, multiplier[first:end], shift[first:end], double[first:end], 1, g, target)
        if bad:
            return int(at)
        at += run
    return -1


@inline
def rescale_run_untested(
    x: Array, multiplier: Array, shift: Array, double: Array, step: int, g: Array, out: Array
) -> None:
    zero_in, zero_out, low, high, mask = g[0], g[1], g[2], g[3], g[4]
    kind = out.dtype.type
    for i in range(len(out)):
        c = i * step
        result = scale((np.int64(x[i]) & mask) - zero_in, multiplier[c], shift[c], double[c])
        out[i] = kind(min(max(result + zero_out, low), high))


@jit
def rescale_untested(
    x: Array, multiplier: Array, shift: Array, double: Array, g: Array, out: Array, low: int, high: int
) -> int:
    """`rescale` where it is proved that no element violates a REQUIRE."""
    channels = len(multiplier)
    at = low
    while at < high:
        first = at % channels
        run = min(channels - first, high - at) if channels > 1 else high - at
        source, target, end = x[at : at + run], out[at : at + run], first + run
        if channels == 1:
            rescale_run_untested(source, multiplier, shift, double, 0, g, target)
        else:
            rescale_run_untested(source, multiplier[first:end], shift[first:end], double[first:end], 1, g, target)
        at += run
    return -1


@jit
def table_int16(x: Array, table: Array, out: Array, low: int, high: int) -> int:
    source, target = x[low:high], out[low:high]
    for i in range(len(target)):
        value = np.int64(source[i])
        index = (value + 32768) >> 7
        slope = np.int64(table[index + 1]) - np.int64(table[index])
        if slope > 32767 or slope < -32768:
            return low + i
        target[i] = apply_lookup_s(table, value)
    return -1
