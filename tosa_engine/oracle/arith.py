"""Exact arithmetic of the specification on whole arrays.

Integers are computed in int64. Nothing wraps inside it: partial sums are of at most 48 bits and tested at every step,
and the widest products are those of `apply_scale_32` (32 x 31 bits) and `apply_scale_16` (48 x 15 bits), both at most
2^62 in magnitude before a rounding term of at most 2^61 + 2^30 is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import types
from ..types import i16, i32
from . import formats
from .requires import within

if TYPE_CHECKING:
    from ..types import Array, DType
    from .requires import Requires

IEEE: Final[dict[str, Any]] = {"over": "ignore", "under": "ignore", "invalid": "ignore", "divide": "ignore"}


@np.errstate(**IEEE)
def wide(array: Array) -> Array:
    """The values as int64 (integers, bool) or float64: sign extension, and the specification's fp64 arithmetic."""
    if types.holds_floats(array):
        return np.asarray(array.astype(np.float64) * 1.0)  # which makes signalling NaNs quiet ones
    return array.astype(np.int64)


def wide_unsigned(array: Array) -> Array:
    """The bits of 8, 16 and 32 bit integers read as unsigned, as int64: `zero_extend`."""
    return array.view(np.dtype(f"uint{array.dtype.itemsize * 8}")).astype(np.int64)


@np.errstate(**IEEE)
def narrow(value: Array, dtype: DType) -> Array:
    """A value in its storage: low bits of integers (`truncate`), round to nearest for floats."""
    value = np.asarray(value)
    if dtype.is_float:
        value = value.astype(np.float64)
    return formats.nearest(value, dtype) if dtype in formats.BITS else value.astype(dtype.storage)


def apply_scale_32(
    value: Array, multiplier: Array, shift: Array, double_round: bool, require: Requires, rules: tuple[str, str, str]
) -> Array:
    """value * multiplier / 2^shift, rounded ("Scaling Helpers"); `rules`: the tests of multiplier, shift, value."""
    _scale_arguments(multiplier, shift, require, rules[0], rules[1])
    shift = np.clip(shift, 2, 62)
    limit = np.left_shift(np.int64(1), shift - 1)
    message = "value {value} is beyond -{limit} .. {limit} - 1 for shift {shift}"
    require.holds(rules[2], (value >= -limit) & (value < limit), message, value=value, limit=limit, shift=shift)
    rounding = limit
    if double_round:
        half = np.int64(1 << 30)
        rounding = rounding + np.where(shift > 31, np.where(value >= 0, half, -half), np.int64(0))
    scaled: Array = (value * multiplier + rounding) >> shift
    return scaled


def apply_scale_16(
    value: Array, multiplier: Array, shift: Array, require: Requires, rules: tuple[str, str, str]
) -> Array:
    """value * multiplier / 2^shift, rounded ("Scaling Helpers"); `rules`: the tests of multiplier, shift, result."""
    _scale_arguments(multiplier, shift, require, rules[0], rules[1])
    shift = np.clip(shift, 2, 62)
    scaled: Array = (value * multiplier + np.left_shift(np.int64(1), shift - 1)) >> shift
    return require.fits(rules[2], scaled, i32, "scaled value")


def _scale_arguments(multiplier: Array, shift: Array, require: Requires, first: str, second: str) -> None:
    require.holds(first, multiplier >= 0, "multiplier {multiplier} is negative", multiplier=multiplier)
    require.holds(second, (shift >= 2) & (shift <= 62), "shift {shift} is not in 2 .. 62", shift=shift)


def reciprocal_scale(count: int) -> tuple[int, int]:
    """Multiplier and shift whose `apply_scale_32` divides by `count` >= 1 ("Scaling Helpers")."""
    k = (count - 1).bit_length()  # the least k with count <= 2^k
    return (((1 << 30) + 1) << k) // count, 30 + k


def apply_lookup_s(table: Array, value: Array, require: Requires, rule: str) -> Array:
    """16.7 fixed point between neighbours of a table of 513 entries, for int16 values ("General Unary Functions")."""
    index = (value + 32768) >> 7
    fraction = value & 0x7F
    base, following = table[index], table[index + 1]
    slope = following - base
    message = "slope {slope} from table entry {base} to {following} is beyond int16 for input {value}"
    require.holds(rule, within(slope, i16), message, slope=slope, base=base, following=following, value=value)
    looked: Array = (base << 7) + slope * fraction
    return looked


def apply_max_s(a: Array, b: Array, nan_mode: str = "PROPAGATE") -> Array:
    """The greater of two values; of equal ones the first ("Arithmetic Helpers")."""
    return _compare_nan(a, b, np.where(a >= b, a, b), nan_mode)


def apply_min_s(a: Array, b: Array, nan_mode: str = "PROPAGATE") -> Array:
    """The lesser of two values; of equal ones the second ("Arithmetic Helpers")."""
    return _compare_nan(a, b, np.where(a < b, a, b), nan_mode)


def _compare_nan(a: Array, b: Array, chosen: Array, nan_mode: str) -> Array:
    """Where a float is NaN: NaN itself (PROPAGATE) or the other value (IGNORE)."""
    if not types.holds_floats(chosen):
        return chosen
    if nan_mode == "PROPAGATE":
        return np.where(np.isnan(a), a, np.where(np.isnan(b), b, chosen))
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, chosen))


def lowest(dtype: DType, nan_mode: str) -> int | float:
    """What a running maximum starts from: the least value, or NaN for floats that ignore NaN."""
    if not dtype.is_float:
        return dtype.minimum
    return float("nan") if nan_mode == "IGNORE" else -_most(dtype)


def highest(dtype: DType, nan_mode: str) -> int | float:
    """What a running minimum starts from: the greatest value, or NaN for floats that ignore NaN."""
    if not dtype.is_float:
        return dtype.maximum
    return float("nan") if nan_mode == "IGNORE" else _most(dtype)


def _most(dtype: DType) -> float:
    """The end of a format's range in its table: infinity, or the largest value where there is none."""
    return 448.0 if dtype is types.fp8e4m3 else float("inf")


def apply_intdiv_s(a: Array, b: Array) -> Array:
    """a / b towards zero, for b other than 0."""
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


def count_leading_zeros(a: Array) -> Array:
    """How many of the 32 bits are 0 before the first 1; 32 for 0."""
    bits = wide_unsigned(a)
    count = np.zeros(a.shape, np.int64)
    for bit in range(32):
        count += bits < 1 << bit
    return count
