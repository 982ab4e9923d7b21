"""The accuracy of dot products: bounds for each element, and for the sums of errors over the specification's data sets
(section 1.8.3, "Dot product accuracy requirements").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...numerics.float_formats import FORMATS, round_to

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Array, DType

MIN_DOT_PRODUCTS: Final = 1000
UNBIASED_SETS: Final = (3, 4, 5)  # the sum of their errors is bounded, too


@dataclass(frozen=True)
class DotProducts:
    """How the errors of an output's dot products lie in the bounds.

    `errors` are in units of half the last place of the bound; `within` says for each element whether it is good.
    `abs_bound` bounds each error, `bias_bound` the sum (None: not asked for), `variance_bound` the sum of squares
    (None: not asked for).
    """

    errors: Array
    within: Array
    abs_bound: float
    bias_bound: float | None
    variance_bound: float | None

    @property
    def bias_good(self) -> bool:
        return self.bias_bound is None or abs(float(self.errors.sum())) <= self.bias_bound

    @property
    def variance_good(self) -> bool:
        return self.variance_bound is None or float((self.errors**2).sum()) <= self.variance_bound

    @property
    def good(self) -> bool:
        return bool(self.within.all()) and self.bias_good and self.variance_good


def kernel_size(call: Call) -> int:
    """KS: how many products one output element adds up ("Floating-Point Operator Test Data", Appendix A)."""
    terms = call.spec.traits.terms
    assert terms is not None, f"{call.spec.name} adds up nothing"
    return terms(call)


def rounding_count(kernel_size: int, acc_t: DType, out_t: DType, bias: bool) -> int:
    """`ksb`: the roundings that a bound allows for. `bias`: some element of the bias isn't zero.

    (The text's condition, that the bias after raising it to normal_min is above zero, would hold for every bias.)
    """
    difference = FORMATS[acc_t].fraction_bits - FORMATS[out_t].fraction_bits
    return math.ceil(kernel_size / 2.0 ** (difference // 2)) + bias


def check_dot_products(
    tested: Array, reference: Array, bound: Array, ksb: int, out_t: DType, data_set: int | None
) -> DotProducts:
    """`tosa_reference_check_dotproduct` from its results on.

    Args:
        tested: what the implementation gave, in the format out_t.
        reference, bound: `output_ref` and `output_bnd` in fp64 (`oracle.reference`).
        ksb: see `rounding_count`.
        out_t: the format of the output.
        data_set: S of the inputs (`data_sets`); None for other data, whose sums of errors have no bound.
    """
    form, abs_bound = FORMATS[out_t], 2.0 * ksb
    value = tested.astype(np.float64)
    half_unit = 2.0 ** (-1 - form.fraction_bits)
    with np.errstate(all="ignore"):
        scale = np.maximum(bound * half_unit, form.least_normal)
        errors = (value - reference) / scale
        overflow = np.isinf(round_to(np.asarray(bound * (1 + abs_bound * half_unit)), out_t).astype(np.float64))
    free = np.isnan(bound) | overflow
    nothing = bound == 0.0
    within = np.abs(errors) <= abs_bound
    within = np.where(nothing, (reference == 0.0) & (value == 0.0), within)
    within = np.where(free, True, within)
    within = np.where(np.isnan(reference), np.isnan(value), within)
    errors = np.where(np.isnan(reference) | free | nothing, 0.0, errors)
    if data_set is None:
        return DotProducts(errors, within, abs_bound, None, None)
    variance = 4 * 0.4 * ksb * tested.size
    bias = math.sqrt(10 * variance) if data_set in UNBIASED_SETS else None
    return DotProducts(errors, within, abs_bound, bias, variance)
