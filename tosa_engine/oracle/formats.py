"""Floating-point formats that numpy lacks, by their tables of values ("Supported Number Formats").

The values that aren't negative stand in the order of their bits. Rounding is a search among them: the nearer neighbour,
of two equally near ones the one whose last bit is 0. The first bits beyond the largest value are those of infinity, or
of NaN where the format has no infinity; they count as the next step of the highest exponent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from ..types import bf16, fp8e4m3, fp8e5m2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..types import Array, DType

BITS: Final[Mapping[DType, tuple[int, int]]] = {bf16: (8, 7), fp8e4m3: (4, 3), fp8e5m2: (5, 2)}  # exponent, fraction
BEYOND: Final[Mapping[DType, int]] = {bf16: 0x7F80, fp8e4m3: 0x7F, fp8e5m2: 0x7C}  # the first bits beyond all numbers
NAN: Final[Mapping[DType, int]] = {bf16: 0x7FC0, fp8e4m3: 0x7F, fp8e5m2: 0x7E}


@lru_cache
def ladder(dtype: DType) -> Array:
    """The values with the bits 0, 1, ... up to and with `BEYOND`, as float64."""
    exponent_bits, fraction_bits = BITS[dtype]
    bits = np.arange(BEYOND[dtype] + 1)
    exponent, fraction = bits >> fraction_bits, bits & ((1 << fraction_bits) - 1)
    hidden = (exponent > 0) << fraction_bits
    bias = (1 << (exponent_bits - 1)) - 1 + fraction_bits
    return np.asarray(np.ldexp((hidden + fraction).astype(np.float64), np.maximum(exponent, 1) - bias))


def nearest(values: Array, dtype: DType) -> Array:
    """Float64 values in the format, rounded to nearest, ties to even."""
    steps, beyond = ladder(dtype), BEYOND[dtype]
    magnitude = np.abs(values)
    numbers = np.where(np.isnan(magnitude), 0.0, np.minimum(magnitude, steps[-1]))
    above = np.searchsorted(steps, numbers)
    below = np.maximum(above - 1, 0)
    middle = (steps[below] + steps[above]) / 2  # exact: neighbours differ in few bits
    take_above = (numbers > middle) | ((numbers == middle) & (above % 2 == 0))
    bits = np.where(take_above, above, below)
    bits = np.where(np.isnan(magnitude), NAN[dtype], np.minimum(bits, beyond))
    bits = bits | (np.signbit(values).astype(np.int64) << (dtype.bits - 1))
    return np.asarray(bits.astype(f"u{dtype.storage.itemsize}")).view(dtype.storage)
