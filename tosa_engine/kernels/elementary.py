"""Elementary functions as formulas in float64, to be rounded once: their errors are some units of 2^-52, far below what
the specification allows of fp32 (section "Precision requirements" of each operator).

Every step is an addition, a multiplication or a division that IEEE 754 rounds, none of them fused, so that the bytes
are the same on every vector unit and without the JIT. POW, SIN and COS are those of the C library, one by one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .formula import call, cast, magnitude, root, view, where

if TYPE_CHECKING:
    from collections.abc import Sequence

F64: Final = np.dtype(np.float64)
LOG2_E: Final = 1.4426950408889634
LN2_HIGH: Final = 0.6931471805582987  # with zeros at the end: whole multiples of less than 2^17 are exact
LN2_LOW: Final = 1.6465949582897082e-12
INTEGER: Final = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the lowest bits
INTEGER_BITS: Final = 0x4338000000000000
FRACTION_BITS: Final = 52
ONE_BITS: Final = 1023 << FRACTION_BITS
ROOT_HALF_BITS: Final = 0x3FE6A09E667F3BCD  # of 2^-1/2
# Polynomials that interpolate at Chebyshev nodes; their relative errors, but for rounding, are below 2^-52.
# (e^f - 1) / f by powers of f for |f| <= ln(2) / 2: 2.4e-17
EXP: Final = (
    1.0, 0.5000000000000006, 0.1666666666666667, 0.041666666666573066, 0.008333333333326136, 0.001388888893251478,
    0.00019841269874820627, 2.480150431378554e-05, 2.7557255400206422e-06, 2.7626371065696354e-07,
    2.5105217004720745e-08,
)  # fmt: skip
# atanh(s) / s by powers of s^2 for |s| <= 3 - 2^(3/2): 2.9e-18
ATANH: Final = (
    1.0, 0.33333333333333826, 0.19999999999650955, 0.1428571438036914, 0.11111098523202137, 0.09091816120808513,
    0.0765625655736915, 0.07404933786156531,
)  # fmt: skip
# erf(x) / x by powers of x^2 for |x| < 1: 2.2e-16
ERF: Final = (
    1.1283791670955126, -0.37612638903183543, 0.11283791670945006, -0.02686617064323777, 0.0052239776071164225,
    -0.0008548325975389692, 0.00012055294904839707, -1.492473690741966e-05, 1.6447424703317362e-06,
    -1.6208483801871705e-07, 1.3720064546777686e-08, -7.795898827002142e-10,
)  # fmt: skip
# (1 - erf(x)) * e^(x^2) by powers of (x - 2) / (x + 2) for 1 <= x <= 6: 2.7e-17 of erf
ERFC: Final = (
    0.25539567631050575, -0.4271858474139579, 0.24165819424246987, -0.07897858101585253, 0.00373289240349224,
    0.006997461747753573, -0.0008471431980760424, -0.0009819773208131022, 4.3554202452705896e-05,
    0.00017436697232946864, 2.754312818566672e-05, -2.7647305443610053e-05, -1.4067532694582058e-05,
    1.820143195975009e-06, 3.917059299925389e-06,
)  # fmt: skip


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """The sum of coefficients[k] * x^k, in pairs, which don't wait for each other."""
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        left = terms[-1:] if len(terms) % 2 else []
        terms = [x * odd + even for even, odd in zip(terms[::2], terms[1::2], strict=False)] + left
        x = x * x
    return terms[0]


def limited(x: Any, low: float, high: float) -> Any:
    """NaN stays NaN."""
    return where(x < low, low, where(x > high, high, x))


def exponential(x: Any) -> tuple[Any, Any]:
    """(scale, rest) with e^x = scale + scale * rest, for |x| < 700: scale is 2^n for the integer n nearest to
    x / ln 2, and |rest| < 0.42 keeps its relative precision near 0.
    """
    shifted = x * LOG2_E + INTEGER
    n = shifted - INTEGER
    f = (x - n * LN2_HIGH) - n * LN2_LOW
    scale = view((view(shifted, "i8") << FRACTION_BITS) + ONE_BITS, "f8")
    return scale, f * polynomial(f, EXP)


def exp(x: Any) -> Any:
    """Beyond the limits float32 has 0 and infinity."""
    scale, rest = exponential(limited(cast(x, F64), -110.0, 90.0))
    return scale + scale * rest


def log(x: Any) -> Any:
    """x = 2^k * m, m in [2^-1/2, 2^1/2); log m = 2 * atanh(s), s = (m - 1) / (m + 1)."""
    x = cast(x, F64)
    bits = view(x, "i8")
    k = (bits - ROOT_HALF_BITS) >> FRACTION_BITS
    f = view(bits - (k << FRACTION_BITS), "f8") - 1.0
    n = view(k + INTEGER_BITS, "f8") - INTEGER
    s = f / (f + 2.0)
    small = (s + s) * polynomial(s * s, ATANH)
    found = n * LN2_HIGH + (n * LN2_LOW + small)
    nothing = x - x  # NaN of what isn't finite
    return where(x > 0.0, where(x == math.inf, x, found), where(x == 0.0, nothing - math.inf, nothing + math.nan))


def tanh(x: Any) -> Any:
    """(e^2x - 1) / (e^2x + 1), by what is left of e^2x without 1."""
    x = cast(x, F64)
    scale, rest = exponential(limited(x + x, -40.0, 40.0))
    less = scale * rest + (scale - 1.0)
    return where(x == 0.0, x, less / (less + 2.0))


def sigmoid(x: Any) -> Any:
    scale, rest = exponential(limited(-cast(x, F64), -110.0, 110.0))
    return 1.0 / (1.0 + (scale + scale * rest))


def erf(x: Any) -> Any:
    x = cast(x, F64)
    size = limited(magnitude(x), 0.0, 6.0)
    inner = x * polynomial(x * x, ERF)
    scale, rest = exponential(-(size * size))
    tail = (scale + scale * rest) * polynomial((size - 2.0) / (size + 2.0), ERFC)
    outer = 1.0 - tail
    return where(size < 1.0, inner, where(x < 0.0, -outer, outer))


def reciprocal(x: Any) -> Any:
    return 1.0 / cast(x, F64)


def rsqrt(x: Any) -> Any:
    return 1.0 / root(cast(x, F64))


def sin(x: Any) -> Any:
    return call("sin", np.sin, cast(x, F64))


def cos(x: Any) -> Any:
    return call("cos", np.cos, cast(x, F64))


def power(base: Any, exponent: Any) -> Any:
    return call("pow", np.power, cast(base, F64), cast(exponent, F64))
