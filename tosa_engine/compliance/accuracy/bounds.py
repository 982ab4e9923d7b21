"""Error bounds of single values: the specification's `tosa_reference_check_fp` and what it is made of (section 1.8.3,
"Floating-Point Precision Requirements"; helpers in "Numeric Accuracy Helpers").

Everything is fp64 on whole arrays; `dtype` is the format of the tested values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...numerics.float_formats import FORMATS
from ...types import bf16, fp8e4m3, fp16, fp32

if TYPE_CHECKING:
    from ...types import Array, DType

FLUSHED = (bf16, fp16, fp32)  # whose subnormal values may become zero


def reference_ulp(reference: Array, dtype: DType) -> Array:
    """`tosa_reference_ulp`: one unit in the last place at each value; 0 for zeros and what isn't normal in fp64."""
    form = FORMATS[dtype]
    magnitude = np.abs(np.asarray(reference, np.float64))
    normal = np.isfinite(magnitude) & (magnitude >= np.finfo(np.float64).tiny)
    power = np.ldexp(0.5, np.frexp(np.where(normal, magnitude, 1.0))[1])
    return np.where(normal, np.maximum(power, form.least_normal) * 2.0**-form.fraction_bits, 0.0)


def abs_error_bound(dtype: DType, magnitude: Array, value: Array, lower: Array | float, divisor: int) -> Array:
    """`calcAbsErrorBound`: `value` units, relative to `magnitude` or absolute where that is less than `lower`.

    The exponent -normal_frac / divisor is a real number here, as in -11.5 for fp32 and a divisor of 2.
    """
    form = FORMATS[dtype]
    magnitude, value, lower = np.broadcast_arrays(np.abs(magnitude), np.asarray(value, np.float64), lower)
    with np.errstate(all="ignore"):
        least = np.maximum(magnitude, form.least_normal)
        least = np.where(lower > 0, np.maximum(lower / value, least), least)
        bound = 2.0 ** (-form.fraction_bits / divisor) * least * value
    return np.where(np.isfinite(value) | (magnitude != 0), bound, 0.0)


def within_bound(tested: Array, reference: Array, bound: Array, dtype: DType) -> Array:
    """`tosa_reference_check_fp_bnd` for each element: whether `tested` is within `bound` of `reference`.

    NaN must be NaN; an infinite or NaN bound allows everything; beyond the largest value only infinity (of fp8e4m3:
    NaN) is in reach; zero stands for what may be flushed.
    """
    form = FORMATS[dtype]
    tested, reference, bound = np.broadcast_arrays(tested.astype(np.float64), reference, bound)
    with np.errstate(all="ignore"):
        sign = np.where(reference < 0, -1.0, 1.0)
        value, middle = tested * sign, reference * sign
        high, low = middle + bound, middle - bound
        high = np.where(high > form.largest, np.inf, high)
        low = np.where(low > form.largest, np.inf, np.where(low < -form.largest, -np.inf, low))
        good = (value >= low) & (value <= high)
    if dtype in FLUSHED:
        good = np.where(value == 0, low < form.least_normal, good)
    if dtype is fp8e4m3:
        good = np.where(np.isnan(value), high == np.inf, good)
    good = np.where(np.isfinite(bound), good, True)
    return np.where(np.isnan(reference), np.isnan(tested), good)


def within_ulp(tested: Array, reference: Array, units: float, dtype: DType) -> Array:
    """`tosa_reference_check_fp` for each element: whether `tested` is within `units` in the last place."""
    return within_bound(tested, reference, reference_ulp(reference, dtype) * units, dtype)


def flushed(values: Array, dtype: DType) -> Array:
    """The values with subnormal ones as zeros of their sign; those of formats without that freedom as they are."""
    if dtype not in FLUSHED:
        return values
    wide = values.astype(np.float64)
    small = np.abs(wide) < FORMATS[dtype].least_normal
    return np.where(small, np.copysign(0.0, wide), wide).astype(values.dtype)
