"""Elementary functions as formulas: computed in float64, rounded to float32 once, and from there to narrower formats.

Before they are rounded, relative errors are below 2^-35 (SIN and COS: 2^-31), so that results are at most 0.501 (0.51)
units of float32 in the last place from the exact ones; `python benchmarks/elementary.py` measures it. The specification
allows two units or more ("Precision requirements" of each operator).

Every step is an addition, a multiplication, a division or a root that IEEE 754 rounds, none of them fused, so that the
bytes are the same on every vector unit, in any lane and without the JIT. There are no branches and no tables:
where a formula gives nothing sensible, its result is replaced at the end, which keeps the comparisons out of the chain
of steps that wait for each other.

Polynomials interpolate at the Chebyshev nodes of their interval, which comes close to the least error of their
degree; `tests/elementary_fits.py` computes them, and the tests compare.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .formula import cast, like, magnitude, nearest, root, view, where

if TYPE_CHECKING:
    from collections.abc import Sequence

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
LOG2_E: Final = 1.4426950408889634
LN2: Final = 0.6931471805599453
INTEGER: Final = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the lowest bits
INTEGER_BITS: Final = 0x4338000000000000
FRACTION_BITS: Final = 52
ONE_BITS: Final = 1023 << FRACTION_BITS
ROOT_HALF_BITS: Final = 0x3FE6A09E667F3BCD  # of 2^-1/2
# (2^f - 1) / f by powers of f for |f| <= 1/2: 2^-37.5
EXP2: Final = (
    0.6931471805568324, 0.24022650695888503, 0.055504109063258665, 0.00961812913523614, 0.0013333478473685416,
    0.00015403475186530786, 1.5303700711365693e-05, 1.325080551750225e-06,
)  # fmt: skip
# 2 * atanh(s) / s by powers of s^2 for |s| <= 3 - 2^(3/2): 2^-37.7
LOG: Final = (2.0000000000083595, 0.6666666524748752, 0.4000038467237519, 0.2853505103781631, 0.23616359099145984)
# the same over ln 2: 2^-45.0
LOG2: Final = (
    2.885390081777851, 0.9617966941122649, 0.5770779426603044, 0.41220922406110433, 0.31990680380701336,
    0.28288502340748234,
)  # fmt: skip
# sin(pi * f) / f by powers of f^2 for |f| <= 1/2: 2^-43.5
SIN: Final = (
    3.141592653589635, -5.167712779987959, 2.550164035906745, -0.5992644339357286, 0.08214479467064854,
    -0.007364005472115722, 0.0004474920849077101,
)  # fmt: skip
# erf(x) / x by powers of x^2 / ERF_MIDDLE - 1 for x^2 <= 2 * ERF_MIDDLE: 2^-39.5
ERF_MIDDLE: Final = 7.75
ERF: Final = (
    0.3591809672918827, -0.17934746319127542, 0.1335688930299447, -0.10887467490323846, 0.09055191861877847,
    -0.07419091400883866, 0.05857160178594803, -0.043940211749841744, 0.03107321816272115, -0.020631084259064424,
    0.012842524843707999, -0.00750141318628933, 0.0041227958628060595, -0.0021275891227850938, 0.0010230506709997627,
    -0.00047303639990306935, 0.000222442314371872, -9.063182281213798e-05, 2.3771520384231576e-05,
    -9.645876564613565e-06, 8.523168975279432e-06, -2.795303777186074e-06,
)  # fmt: skip
# from this size on: 1 / pi but for an even integer over the group's power of two, in pieces of 29, 29 and 53 bits; all
# of a group have one sign, so that zeros keep theirs
GROUPS: Final = (
    (0.0, (0.3183098854497075, 7.340831623126043e-10, 1.138005036539198e-18)),
    (2.0**50, (-2.0598845545949374e-09, -5.800888867077463e-18, -2.9056689322530833e-28)),
    (2.0**77, (3.5832474517591816e-17, 3.8483524236783526e-26, 8.34143383430412e-35)),
    (2.0**104, (-2.7170920508541586e-25, -3.0177164987488473e-34, -6.595212469671656e-43)),
)


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """The sum of coefficients[k] * x^k, in pairs, which don't wait for each other."""
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        left = terms[-1:] if len(terms) % 2 else []
        terms = [x * odd + even for even, odd in zip(terms[::2], terms[1::2], strict=False)] + left
        x = x * x
    return terms[0]


def limited(x: Any, found: Any, low: float, below: float, high: float, above: float) -> Any:
    """What is found for x, but from certain sizes on what the result is rounded to there."""
    return where(x > high, above, where(x < low, below, found))


def exponential(t: Any) -> tuple[Any, Any]:
    """(shifted, rest) of 2^t = 2^n * (1 + rest) for the integer n nearest to t, which is in the low bits of `shifted`.

    t - n is exact. The polynomial leaves out the 1, so that `rest` keeps its relative precision near 0.
    """
    shifted = t + INTEGER
    f = t - (shifted - INTEGER)
    return shifted, f * polynomial(f, EXP2)


def power_of_two(t: Any) -> Any:
    """2^t for |t| < 1000: n goes into the exponent as an integer.

    The NaN of a float32 stays one: its low bits are 0 in float64, and so is what they become in the exponent.
    """
    shifted, rest = exponential(t)
    return view(view(rest + 1.0, "i8") + (view(shifted, "i8") << FRACTION_BITS), "f8")


def exp(x: Any) -> Any:
    """2^(x / ln 2). That quotient, up to 2^7.5, is rounded by up to 2^-46, which is the relative error of the result;
    with the polynomial's, 2^-38.
    """
    return limited(x, cast(power_of_two(cast(x, F64) * LOG2_E), F32), -110.0, 0.0, 90.0, math.inf)


def taken_apart(x: Any) -> tuple[Any, Any]:
    """(k, s) of a positive x = 2^k * m with m in [2^-1/2, 2^1/2) and s = (m - 1) / (m + 1), so that
    log m = 2 * atanh(s), with |s| <= 3 - 2^(3/2) = 0.17.

    m - 1 is exact, so that s and with it a logarithm near 0, where k is 0, keep their relative precision.
    """
    bits = view(x, "i8")
    k = (bits - ROOT_HALF_BITS) >> FRACTION_BITS
    f = view(bits - (k << FRACTION_BITS), "f8") - 1.0
    return view(k + INTEGER_BITS, "f8") - INTEGER, f / (f + 2.0)


def log(x: Any) -> Any:
    """k * ln 2 + log m; where k isn't 0, the sum is at least (ln 2) / 2, so that errors don't grow: 2^-37."""
    k, s = taken_apart(cast(x, F64))
    found = cast(k * LN2 + s * polynomial(s * s, LOG), F32)
    return where(x > 0.0, where(x == math.inf, x, found), where(x == 0.0, like(x, -math.inf), like(x, math.nan)))


def power(base: Any, exponent: Any) -> Any:
    """2^(exponent * log2(base)) of a base that isn't negative; of 0 it is 0, with its sign where the exponent is odd.

    log2 has a relative error of 2^-45; where the result is a finite float32 that isn't 0, the exponent of 2 is less
    than 150, and the result's error below 150 * (ln 2) * 2^-45 + 2^-38 < 2^-36.
    """
    k, s = taken_apart(cast(base, F64))
    t = cast(exponent, F64) * (k + s * polynomial(s * s, LOG2))
    found = limited(t, power_of_two(t), -160.0, 0.0, 140.0, math.inf)
    half = exponent * 0.5
    odd = (nearest(exponent) == exponent) & (nearest(half) != half)
    return where(base == 0.0, where(odd, base, 0.0), cast(found, F32))


def tanh(x: Any) -> Any:
    """less / (less + 2) with less = e^2x - 1 = 2^n * rest - (1 - 2^n): near 0 `rest` alone, with the sign of a zero."""
    shifted, rest = exponential(cast(x, F64) * (2 * LOG2_E))
    scale = view((view(shifted, "i8") << FRACTION_BITS) + ONE_BITS, "f8")
    less = scale * rest - (1.0 - scale)
    return limited(x, cast(less / (less + 2.0), F32), -20.0, -1.0, 20.0, 1.0)


def sigmoid(x: Any) -> Any:
    found = cast(1.0 / (1.0 + power_of_two(cast(x, F64) * -LOG2_E)), F32)
    return limited(x, found, -110.0, 0.0, 90.0, 1.0)


def erf(x: Any) -> Any:
    """erf(x) / x has no singularity, and one polynomial is as short as two with an exponential between them.

    By powers of x^2 less the middle of the interval its coefficients are small, so that rounding is no matter. Beyond
    3.93 float32 has nothing between erf(x) and 1.
    """
    wide = cast(x, F64)
    found = cast(wide * polynomial(wide * wide * (1 / ERF_MIDDLE) - 1.0, ERF), F32)
    return limited(x, found, -3.93, -1.0, 3.93, 1.0)


def reciprocal(x: Any) -> Any:
    """In float32: its quotient of 1 and a number of 11 bits or fewer isn't so near to the middle of two such numbers
    that it would be rounded to another one than the exact quotient.
    """
    return 1.0 / x


def rsqrt(x: Any) -> Any:
    """The root and the quotient of float32 have a relative error e < 2^-22.4 together, and one step of Newton's in
    float64 leaves 1.5 * e^2 < 2^-44. Infinities, zeros and NaN need none.
    """
    near = 1.0 / root(x)
    y = cast(near, F64)
    found = y + y * (0.5 - cast(x, F64) * 0.5 * y * y)
    return where((near > 0.0) & (near < math.inf), cast(found, F32), near)


def sin(x: Any) -> Any:
    return sine(cast(x, F64), 0.0)


def cos(x: Any) -> Any:
    return sine(cast(x, F64), 0.5)


def sine(x: Any, ahead: float) -> Any:
    """sin(x + ahead * pi) of a float32 in float64, of every size, for `ahead` of 0 or 1/2.

    It is sin(pi * f) * (-1)^n, where x / pi + ahead = n + f. Of x / pi only what is left without even integers counts.
    A large x is x' * 2^g with an integer x' < 2^50 and g = 27, 54 or 81; so 2^g / pi may stand there without the even
    integer nearest to it, times 2^-g, which changes no digit. What it is multiplied by has three pieces:

    - a = x * first has 24 + 29 bits: it is exact, and so is a - n, n being nearest to a + b.
    - b = x * second is exact, too. It may be as large as 2^20 where x is, but (a - n) + b is 1/2 at most, and exact
      where it is small: then a - n has no digit below those that b may have.
    - c = x * last is less than 2^-9, so that f has an error of 2^-62 beside its last digit's.

    No float32 but 0 is nearer to a multiple of pi / 2 than 2^-29.3, or f to one of 1/2 than 2^-31, so that results have
    relative errors below 2^-31, and below 2^-43 but for a few. For x near 0, n is 0, and f = (a + b) + c keeps the sign
    of a zero.
    """
    size = magnitude(x)
    first, second, last = (x * by_size(size, [pieces[i] for _, pieces in GROUPS]) for i in range(3))
    near = first + second
    shifted = (near + ahead if ahead else near) + INTEGER
    n = shifted - INTEGER
    f = ((first - (n - ahead if ahead else n)) + second) + last
    found = f * polynomial(f * f, SIN)
    return cast(view(view(found, "i8") ^ (view(shifted, "i8") << 63), "f8"), F32)


def by_size(size: Any, numbers: Sequence[float]) -> Any:
    """The number of the group that a size is in."""
    found = like(size, numbers[0])
    for (least, _), number in zip(GROUPS[1:], numbers[1:], strict=True):
        found = where(size >= least, number, found)
    return found
