"""Tables sampled from a function of a real variable.

A stored integer q stands for the real number scale * (q - zero_point). Every entry is the function's value at the real
number its index stands for, divided by the output's scale, rounded half away from zero, plus the output's zero point,
saturated to the entry's type. The function is evaluated in double precision; ties can't be told from values that
double precision can't tell from ties.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]
    Int8Array = np.ndarray[Any, np.dtype[np.int8]]
    Int16Array = np.ndarray[Any, np.dtype[np.int16]]
    Int32Array = np.ndarray[Any, np.dtype[np.int32]]

INT16_MIN, INT16_MAX = -(1 << 15), (1 << 15) - 1
FRACTION_BITS = 7


class TableRangeError(ValueError):
    """A function that no table of the wanted kind can hold."""


def round_half_away(x: float) -> int:
    """The nearest integer; of two that are equally near, the one farther from zero. Exact for every finite x."""
    whole = math.floor(abs(x))
    whole += abs(x) - whole >= 0.5
    return whole if x >= 0 else -whole


def _entry(value: float, scale: float, zero_point: int, low: int, high: int) -> int:
    if math.isnan(value):
        raise TableRangeError("the function is NaN inside the table's range")
    steps = value / scale
    if math.isinf(steps):
        return high if steps > 0 else low
    return min(max(round_half_away(steps) + zero_point, low), high)


def _check_scales(*scales: float) -> None:
    for scale in scales:
        if not (math.isfinite(scale) and scale > 0):
            raise TableRangeError(f"a scale must be finite and greater than 0, got {scale!r}")


def table_8(
    function: Callable[[float], float], in_scale: float, in_zero_point: int, out_scale: float, out_zero_point: int
) -> Int8Array:
    """The 256 entries of an int8 TABLE; entry i belongs to the input i - 128 (specification 2.5.17).

    Raises TableRangeError when the function is NaN somewhere in the range, or a scale isn't finite and positive.
    """
    _check_scales(in_scale, out_scale)
    entries = [
        _entry(function(in_scale * (q - in_zero_point)), out_scale, out_zero_point, -128, 127) for q in range(-128, 128)
    ]
    return np.array(entries, np.int8)


def values_16(function: Callable[[float], float], in_scale: float) -> FloatArray:
    """The function at the inputs -32768 .. 32768 of an int16 TABLE, the last of which never occurs: float64 [65537]."""
    _check_scales(in_scale)
    return np.array([function(in_scale * q) for q in range(INT16_MIN, INT16_MAX + 2)], np.float64)


def table_16(function: Callable[[float], float], in_scale: float, out_scale: float) -> Int16Array:
    """The 513 entries of an int16 TABLE, symmetric on both sides (zero points 0).

    Entry i is the function at the input 128 * (i - 256). The last entry belongs to the input 32768, which never
    occurs: it is the far end of the last interval, sampled like the others. Results of a lookup have 7 more
    fractional bits than `out_scale` says (see `lookup_16`).

    Raises TableRangeError when the function is NaN somewhere in the range, when a scale isn't finite and positive,
    or when two neighbouring entries are farther apart than int16 holds (the REQUIRE of TABLE, label TABLE.R1).
    """
    _check_scales(in_scale, out_scale)
    entries = sampled_16([function(in_scale * (node << FRACTION_BITS)) for node in range(-256, 257)], out_scale)
    for i, (base, following) in enumerate(pairwise(entries)):
        if not INT16_MIN <= following - base <= INT16_MAX:
            raise TableRangeError(
                f"entries {i} and {i + 1} are {base} and {following}: their difference must fit int16 (TABLE.R1)"
            )
    return np.array(entries, np.int16)


def sampled_16(nodes: Sequence[float], out_scale: float) -> list[int]:
    """The entries nearest to the function's values at the 513 nodes; neighbours may be too far apart for TABLE.R1."""
    _check_scales(out_scale)
    return [_entry(value, out_scale, 0, INT16_MIN, INT16_MAX) for value in nodes]


def lookup_16(table: Int16Array, values: Int16Array) -> Int32Array:
    """What TABLE computes for int16 inputs: int32 of the same shape, 16 + 7 bits, linear between the entries.

    `table` has 513 entries. Written for the analysis of tables; executing graphs is the engine's part.
    """
    index = (values.astype(np.int32) + 32768) >> FRACTION_BITS
    fraction = values.astype(np.int32) & ((1 << FRACTION_BITS) - 1)
    base = table.astype(np.int32)[index]
    slope = table.astype(np.int32)[index + 1] - base
    interpolated: Int32Array = (base << FRACTION_BITS) + slope * fraction
    return interpolated
