"""How exact the elements of each operator must be: `RULES` holds the one list (chapter 2, "Precision Requirements" of
each operator).

A rule says for every output element whether it is good, from the inputs, the operator's fp64 reference and what was
computed. References and bounds are those of `oracle.reference`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...numerics.float_formats import FORMATS
from ...spec import TABLE
from ...types import fp32
from .bounds import FLUSHED, abs_error_bound, reference_ulp, within_bound, within_ulp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...spec.table import Call
    from ...types import Array, DType

    Inputs = Mapping[str, Array]  # in fp64, by argument name
    Test = Callable[["Measured"], Array]


@dataclass(frozen=True)
class Measured:
    """One output of an operator: what was computed in `dtype`, its reference in fp64, and the operator's inputs."""

    call: Call
    inputs: Inputs
    tested: Array
    reference: Array
    dtype: DType

    @property
    def x(self) -> Array:
        """The first input."""
        return next(iter(self.inputs.values()))

    def within(self, bound: Array) -> Array:
        return within_bound(self.tested, self.reference, bound, self.dtype)

    def bound(self, magnitude: Array, value: Any, lower: Any = 0.0, divisor: int = 1) -> Array:
        return abs_error_bound(self.dtype, magnitude, value, lower, divisor)


@dataclass(frozen=True)
class Rule:
    """`name` is what reports call it; `text` says it in a line."""

    name: str
    text: str
    good: Test


def _same(m: Measured) -> Array:
    if not m.dtype.is_float:
        return np.asarray(m.tested == m.reference)
    value = m.tested.astype(np.float64)
    signed = (value == m.reference) & (np.signbit(value) == np.signbit(m.reference))
    return np.where(np.isnan(m.reference), np.isnan(value), signed)


def _chosen(m: Measured) -> Array:
    if not m.dtype.is_float:
        return _same(m)
    value = m.tested.astype(np.float64)
    small = (m.dtype in FLUSHED) & (np.abs(m.reference) < FORMATS[m.dtype].least_normal)
    good = (value == m.reference) | (small & (value == 0))
    return np.where(np.isnan(m.reference), np.isnan(value), good)


def _units(units: float) -> Rule:
    def good(m: Measured) -> Array:
        return within_ulp(m.tested, m.reference, units, m.dtype) if m.dtype.is_float else _same(m)

    return Rule(f"{units} ULP", f"within {units} units in the last place; integers exact", good)


def _exp_base(m: Measured) -> float:
    return 3.0 if m.dtype is fp32 else 1.0


def _cos(m: Measured) -> Array:
    return m.within(m.bound(1 + np.abs(m.x), 1.0, divisor=2))


def _sin(m: Measured) -> Array:
    bound = m.bound(m.x, 2.0, divisor=2)
    return m.within(np.maximum(bound, np.pi * FORMATS[m.dtype].least_normal))


def _exp(m: Measured) -> Array:
    return m.within(m.bound(m.reference, _exp_base(m) + 2 * np.abs(m.x)))


def _log(m: Measured) -> Array:
    return m.within(m.bound(m.reference, 5.0, 0.5))


def _sigmoid(m: Measured) -> Array:
    return m.within(m.bound(m.reference, 2 * (1 + np.abs(m.x))))


def _tanh(m: Measured) -> Array:
    return m.within(m.bound(m.reference, 4 * (_exp_base(m) + 2 * np.abs(m.x)), 0.5))


def _pow(m: Measured) -> Array:
    x, y = (np.broadcast_to(one, m.reference.shape) for one in m.inputs.values())
    with np.errstate(all="ignore"):
        product = y * np.log(x)
        mul_err = m.bound(product, 5.5, np.abs(0.55 * y))
        exp_err = m.bound(m.reference, _exp_base(m) + 2 * np.abs(product + mul_err))
        bound = m.reference * np.expm1(mul_err) + exp_err
    # 0 to a positive power is 0, a positive number to the power of 0 is 1
    known = (x == 0) | (y == 0)
    return np.where(known, m.tested.astype(np.float64) == m.reference, m.within(bound))


def _reduce_product(m: Measured) -> Array:
    form, n = FORMATS[m.dtype], m.call.shape1[m.call.axis]
    growth = np.expm1(n * np.log1p(2.0 ** (-form.fraction_bits - 1)))
    return m.within(np.maximum(np.abs(m.reference), form.least_normal) * growth)


def _resize(m: Measured) -> Array:
    if m.call.mode == "NEAREST" or not m.dtype.is_float:
        return _same(m)
    largest = np.abs(m.x).max()
    return m.within(np.broadcast_to(np.maximum(m.bound(largest, 20.0), largest * 0.006), m.reference.shape))


def _cast(m: Measured) -> Array:
    if not m.dtype.is_float:
        return _same(m)
    if not m.call.in_t.is_float:
        return within_ulp(m.tested, m.reference, 0.5, m.dtype)
    form, value = FORMATS[m.dtype], m.tested.astype(np.float64)
    magnitude, found = np.abs(m.reference), np.abs(value)
    unit = reference_ulp(m.reference, m.dtype)
    good = (magnitude - found <= unit) & (found - magnitude <= unit / 2)  # towards zero, or to nearest
    if m.dtype in FLUSHED:
        good |= (magnitude < form.least_normal) & (found == 0)
    same_sign = np.signbit(value) == np.signbit(m.reference)
    last = 2.0 ** (form.most_exponent - form.fraction_bits)
    beyond = np.isinf(value) & same_sign if form.has_infinity else np.isnan(value)
    good = np.where(magnitude >= form.largest + last / 2, beyond, good & same_sign)
    return np.where(np.isnan(m.reference), np.isnan(value), good)


EXACT = Rule("exact", "exact, with the sign of zeros; any NaN for NaN", _same)
CHOSEN = Rule("exact but for zeros", "exact; zeros of either sign, subnormal results may be zeros", _chosen)
DOT_PRODUCT = Rule("dot product", "the bounds of `dot_product`", _same)
RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(("ADD", "SUB", "MUL", "CEIL", "FLOOR"), _units(0.5)),
    "RECIPROCAL": _units(1), "RSQRT": _units(2), "ERF": _units(5),
    **dict.fromkeys(("MAXIMUM", "MINIMUM", "CLAMP", "REDUCE_MAX", "REDUCE_MIN", "MAX_POOL2D"), CHOSEN),
    "COS": Rule("COS", "half of the fraction's bits, relative to 1 + |x|", _cos),
    "SIN": Rule("SIN", "half of the fraction's bits, relative to |x|", _sin),
    "EXP": Rule("EXP", "3 (fp32) or 1 units, and 2 for each unit of |x|", _exp),
    "LOG": Rule("LOG", "5 units, of 0.1 or more", _log),
    "SIGMOID": Rule("SIGMOID", "2 (1 + |x|) units", _sigmoid),
    "TANH": Rule("TANH", "4 times the bound of EXP, or half a unit of 1", _tanh),
    "POW": Rule("POW", "the bounds of LOG, MUL and EXP one after the other", _pow),
    "REDUCE_PRODUCT": Rule("REDUCE_PRODUCT", "half a unit for each factor", _reduce_product),
    "RESIZE": Rule("RESIZE", "20 units or 0.6 % of the largest input; NEAREST exact", _resize),
    "CAST": Rule("CAST", "rounded to nearest or towards zero; from integers 0.5 units", _cast),
}  # fmt: skip


def rule_of(name: str) -> Rule:
    """The rule of an operator's floating-point results: its own, that of dot products where it adds up, else exact."""
    assert name in TABLE, f"no operator {name}"
    return RULES.get(name, EXACT if TABLE[name].traits.terms is None else DOT_PRODUCT)
