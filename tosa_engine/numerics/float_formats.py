"""The floating-point formats: their constants, and rounding to them (specification 1.8, "Supported Number Formats").

A value is sign * fraction * 2^exponent; the exponent of normal values is in `least_exponent .. most_exponent`, that of
subnormal ones is the least. fp8e4m3 has no infinities: values beyond the largest become NaN, as in the non-saturating
mode of OCP-OFP8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..types import Array, DType


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """`fraction_bits` (without the hidden one), the exponents of normal values, and the largest finite value."""

    fraction_bits: int
    least_exponent: int
    most_exponent: int
    largest: float
    has_infinity: bool = True

    @property
    def least_normal(self) -> float:
        return 2.0**self.least_exponent

    @property
    def least_subnormal(self) -> float:
        return 2.0 ** (self.least_exponent - self.fraction_bits)


def _ieee(fraction_bits: int, exponent_bits: int) -> FloatFormat:
    most = (1 << (exponent_bits - 1)) - 1
    return FloatFormat(fraction_bits, 1 - most, most, 2.0**most * (2 - 2.0**-fraction_bits))


FORMATS: Final[Mapping[DType, FloatFormat]] = {
    types.fp32: _ieee(23, 8),
    types.fp16: _ieee(10, 5),
    types.bf16: _ieee(7, 8),
    types.fp8e5m2: _ieee(2, 5),
    # the highest exponent is one of normal values; of its fractions only all ones is NaN
    types.fp8e4m3: FloatFormat(3, -6, 8, 448.0, has_infinity=False),
}


def round_to(values: Array, dtype: DType) -> Array:
    """Float32 or float64 values in the storage of a format: to nearest, ties to even, rounded once; beyond the largest
    value infinity, or NaN where there is none.
    """
    storage = dtype.storage
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if values.dtype == np.float64 and storage not in (np.float32, np.float16):
            values = _to_odd(values)
        return np.asarray(values.astype(storage))


def _to_odd(values: Array) -> Array:
    """Float64 values as float32, cut towards zero, with the last bit set where anything was cut off.

    float32 has more than two bits beyond every narrower format, and the last one then tells a tie from what lies beside
    it: rounding the result to the narrow format gives what rounding the float64 would have given.
    """
    near = np.asarray(values.astype(np.float32))
    inexact = near != values
    further = np.abs(near) > np.abs(values)
    bits = near.reshape(-1).view(np.uint32).reshape(near.shape)
    odd: Array = ((bits - further) | inexact).astype(np.uint32)
    return odd.reshape(-1).view(np.float32).reshape(near.shape)
