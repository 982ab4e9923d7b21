"""Elementary functions as formulas: computed in float64, rounded to float32 once, and from there to narrower formats.

Before they are rounded, relative errors are below 2^-35 (SIN and COS: 2^-31), so that results are at most 0.501 (0.51)
units of float32 in the last place from the exact ones; `python benchmarks/elementary.py` measures it. The specification
allows two units or more ("Precision requirements" of each operator). Those of fp16 are computed in float32, by the same
formulas with shorter polynomials, to relative errors below 2^-17: 0.51 units of fp16. All its numbers are normal there.

Every step is an addition, a multiplication, a division or a root that IEEE 754 rounds, none of them fused, so that the
bytes are the same on every vector unit, in any lane and without the JIT. There are no branches and no tables:
where a formula gives nothing sensible, its result is replaced at the end, which keeps the comparisons out of the chain
of steps that wait for each other.

Polynomials interpolate at the Chebyshev nodes of their interval, which comes close to the least error of their
degree; `tests/shared/elementary_fits.py` computes them, and the tests compare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .formula import cast, like, magnitude, nearest, root, view, where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .formula import Compute, Operand, Tested

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
LOG2_E: Final = 1.4426950408889634
LN2: Final = 0.6931471805599453


@dataclass(frozen=True)
class Wide:
    """A kind of numbers that formulas are computed in, and polynomials for it."""

    kind: np.dtype[Any]
    fraction: int  # bits of it
    most: float  # 2^t is normal for |t| below, and beyond it what is to be rounded to 0 or infinity
    exp2: tuple[float, ...]  # (2^f - 1) / f by powers of f for |f| <= 1/2
    log: tuple[float, ...]  # 2 * atanh(s) / s by powers of s^2 for |s| <= 3 - 2^(3/2)
    log2: tuple[float, ...]  # the same over ln 2
    sin: tuple[float, ...]  # sin(pi * f) / f by powers of f^2 for |f| <= 1/2
    erf: tuple[float, ...]  # erf(x) / x by powers of x^2 / erf_middle - 1 for x^2 <= 2 * erf_middle
    erf_middle: float
    erf_end: float  # from which on results are rounded to 1
    # from a size on: 1 / pi but for an even integer over the group's power of two, in pieces, the last of which is
    # rounded, while the others times a number to be computed are exact; all have one sign, so that zeros keep theirs
    groups: tuple[tuple[float, tuple[float, ...]], ...]

    @property
    def integers(self) -> str:
        return f"i{self.kind.itemsize}"

    @property
    def integer(self) -> float:
        """Added to a number, it leaves the nearest integer in the lowest bits."""
        return 1.5 * 2.0**self.fraction

    def bits(self, number: float) -> int:
        return int(np.array(number, self.kind).view(self.integers))


DOUBLE: Final = Wide(
    F64,
    fraction=52,
    most=160.0,
    # relative errors of 2^-37.5, 2^-37.7, 2^-45, 2^-43.5 and 2^-39.5
    exp2=(
        0.6931471805568324, 0.24022650695888503, 0.055504109063258665, 0.00961812913523614, 0.0013333478473685416,
        0.00015403475186530786, 1.5303700711365693e-05, 1.325080551750225e-06,
    ),
    log=(2.0000000000083595, 0.6666666524748752, 0.4000038467237519, 0.2853505103781631, 0.23616359099145984),
    log2=(
        2.885390081777851, 0.9617966941122649, 0.5770779426603044, 0.41220922406110433, 0.31990680380701336,
        0.28288502340748234,
    ),
    sin=(
        3.141592653589635, -5.167712779987959, 2.550164035906745, -0.5992644339357286, 0.08214479467064854,
        -0.007364005472115722, 0.0004474920849077101,
    ),
    erf=(
        0.3591809672918827, -0.17934746319127542, 0.1335688930299447, -0.10887467490323846, 0.09055191861877847,
        -0.07419091400883866, 0.05857160178594803, -0.043940211749841744, 0.03107321816272115, -0.020631084259064424,
        0.012842524843707999, -0.00750141318628933, 0.0041227958628060595, -0.0021275891227850938,
        0.0010230506709997627, -0.00047303639990306935, 0.000222442314371872, -9.063182281213798e-05,
        2.3771520384231576e-05, -9.645876564613565e-06, 8.523168975279432e-06, -2.795303777186074e-06,
    ),
    erf_middle=7.75,
    erf_end=3.93,
    groups=(  # pieces of 29, 29 and 53 bits
        (0.0, (0.3183098854497075, 7.340831623126043e-10, 1.138005036539198e-18)),
        (2.0**50, (-2.0598845545949374e-09, -5.800888867077463e-18, -2.9056689322530833e-28)),
        (2.0**77, (3.5832474517591816e-17, 3.8483524236783526e-26, 8.34143383430412e-35)),
        (2.0**104, (-2.7170920508541586e-25, -3.0177164987488473e-34, -6.595212469671656e-43)),
    ),
)  # fmt: skip
SINGLE: Final = Wide(
    F32,
    fraction=23,
    most=120.0,
    # relative errors of 2^-20.9, 2^-30.4, 2^-30.4, 2^-27.1 and 2^-22.1
    exp2=(0.6931471805599453, 0.2402234903802036, 0.05550381013796457, 0.009666368515385448, 0.0013381302537320797),
    log=(1.9999999986313182, 0.6666681533815119, 0.3997485051751905, 0.29924390479144986),
    log2=(2.8853900798033365, 0.96179883880211, 0.5767151860190234, 0.43171769745887384),
    sin=(3.1415926400772034, -5.167710076668315, 2.550077386528912, -0.5982904112834275, 0.07765591227601387),
    erf=(
        0.5132116571854897, -0.24333846529264988, 0.15762494583042969, -0.10023389872113188, 0.058563566741182974,
        -0.030968957961851364, 0.014643510263409178, -0.005971383364275618, 0.0023483697566325967,
        -0.0011222133978322246, 0.0003520617247652437,
    ),
    erf_middle=3.75,
    erf_end=2.7,
    groups=((0.0, (0.31829833984375, 1.1544674634933472e-05, 1.6654057022336133e-09)),),  # pieces of 13, 13 and 24 bits
)  # fmt: skip


def in_single(function: Compute) -> Compute:
    """A function for numbers of fp16."""

    def computed(*numbers: Operand) -> Operand | Tested:
        return function(*numbers, SINGLE)

    return computed


def polynomial(x: Operand, coefficients: Sequence[float]) -> Operand:
    """The sum of coefficients[k] * x^k by Horner's rule. Each step waits for the one before, but loops do several
    vectors side by side (`formula_emit.LONG`), and the rule needs the fewest registers.
    """
    found: Operand | float = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = x * found + coefficient
    assert not isinstance(found, float)
    return found


def limited(t: Operand, found: Operand, most: float, below: float, above: float) -> Operand:
    """What is found for t, but from a size on what the result is rounded to there."""
    return where(t > most, above, where(t < -most, below, found))


def exponential(t: Operand, wide: Wide) -> tuple[Operand, Operand]:
    """(shifted, rest) of 2^t = 2^n * (1 + rest) for the integer n nearest to t, which is in the low bits of `shifted`.

    t - n is exact. The polynomial leaves out the 1, so that `rest` keeps its relative precision near 0.
    """
    shifted = t + wide.integer
    f = t - (shifted - wide.integer)
    return shifted, f * polynomial(f, wide.exp2)


def exponent_of(shifted: Operand, wide: Wide) -> Operand:
    return view(shifted, wide.integers) << wide.fraction


def power_of_two(t: Operand, wide: Wide) -> Operand:
    """2^t where it is normal: n goes into the exponent as an integer.

    A NaN stays one: widened, its low bits are 0, and so is what they become in the exponent.
    """
    shifted, rest = exponential(t, wide)
    return view(view(rest + 1.0, wide.integers) + exponent_of(shifted, wide), wide.kind)


def exp(x: Operand, wide: Wide = DOUBLE) -> Operand:
    """2^(x / ln 2). That quotient, up to 2^7.3, is rounded by up to 2^-46, which is the relative error of the result;
    with the polynomial's, 2^-38.
    """
    found = cast(power_of_two(cast(x, wide.kind) * LOG2_E, wide), F32)
    return limited(x, found, wide.most * LN2, 0.0, math.inf)


def taken_apart(x: Operand, wide: Wide) -> tuple[Operand, Operand]:
    """(k, s) of a positive x = 2^k * m with m in [2^-1/2, 2^1/2) and s = (m - 1) / (m + 1), so that
    log m = 2 * atanh(s), with |s| <= 3 - 2^(3/2) = 0.17.

    m - 1 is exact, so that s and with it a logarithm near 0, where k is 0, keep their relative precision.
    """
    bits = view(x, wide.integers)
    k = (bits - wide.bits(math.sqrt(0.5))) >> wide.fraction
    f = view(bits - (k << wide.fraction), wide.kind) - 1.0
    return view(k + wide.bits(wide.integer), wide.kind) - wide.integer, f / (f + 2.0)


def log(x: Operand, wide: Wide = DOUBLE) -> Operand:
    """k * ln 2 + log m; where k isn't 0, the sum is at least (ln 2) / 2, so that errors don't grow: 2^-37."""
    k, s = taken_apart(cast(x, wide.kind), wide)
    found = cast(k * LN2 + s * polynomial(s * s, wide.log), F32)
    return where(x > 0.0, where(x == math.inf, x, found), where(x == 0.0, like(x, -math.inf), like(x, math.nan)))


def power(base: Operand, exponent: Operand, wide: Wide = DOUBLE) -> Operand:
    """2^(exponent * log2(base)) of a base that isn't negative; of 0 it is 0, with its sign where the exponent is odd.

    log2 has a relative error of 2^-45; where the result is a finite float32 that isn't 0, the exponent of 2 is less
    than 150, and the result's error below 150 * (ln 2) * 2^-45 + 2^-38 < 2^-36. Of fp16: 25 * (ln 2) * 2^-22 < 2^-17.
    """
    k, s = taken_apart(cast(base, wide.kind), wide)
    t = cast(exponent, wide.kind) * (k + s * polynomial(s * s, wide.log2))
    found = limited(t, power_of_two(t, wide), wide.most, 0.0, math.inf)
    half = exponent * 0.5
    odd = (nearest(exponent) == exponent) & (nearest(half) != half)
    return where(base == 0.0, where(odd, base, 0.0), cast(found, F32))


def tanh(x: Operand, wide: Wide = DOUBLE) -> Operand:
    """less / (less + 2) with less = e^2x - 1 = 2^n * rest - (1 - 2^n): near 0 `rest` alone, with the sign of a zero."""
    shifted, rest = exponential(cast(x, wide.kind) * (2 * LOG2_E), wide)
    scale = view(exponent_of(shifted, wide) + wide.bits(1.0), wide.kind)
    less = scale * rest - (1.0 - scale)
    return limited(x, cast(less / (less + 2.0), F32), 20.0, -1.0, 1.0)


def sigmoid(x: Operand, wide: Wide = DOUBLE) -> Operand:
    found = cast(1.0 / (1.0 + power_of_two(cast(x, wide.kind) * -LOG2_E, wide)), F32)
    return limited(x, found, wide.most * LN2, 0.0, 1.0)


def erf(x: Operand, wide: Wide = DOUBLE) -> Operand:
    """erf(x) / x has no singularity, and one polynomial is as short as two with an exponential between them.

    By powers of x^2 less the middle of the interval its coefficients are small, so that rounding is no matter.
    """
    y = cast(x, wide.kind)
    found = cast(y * polynomial(y * y * (1 / wide.erf_middle) - 1.0, wide.erf), F32)
    return limited(x, found, wide.erf_end, -1.0, 1.0)


def reciprocal(x: Operand) -> Operand:
    """In float32: its quotient of 1 and a number of 11 bits or fewer isn't so near to the middle of two such numbers
    that it would be rounded to another one than the exact quotient.
    """
    return 1.0 / x


def rsqrt(x: Operand, wide: Wide = DOUBLE) -> Operand:
    """The root and the quotient of float32 have a relative error e < 2^-22.4 together, and one step of Newton's in
    float64 leaves 1.5 * e^2 < 2^-44. Infinities, zeros and NaN need none.
    """
    near = 1.0 / root(x)
    if wide is SINGLE:
        return near
    y = cast(near, wide.kind)
    found = y + y * (0.5 - cast(x, wide.kind) * 0.5 * y * y)
    return where((near > 0.0) & (near < math.inf), cast(found, F32), near)


def sin(x: Operand, wide: Wide = DOUBLE) -> Operand:
    return sine(cast(x, wide.kind), 0.0, wide)


def cos(x: Operand, wide: Wide = DOUBLE) -> Operand:
    return sine(cast(x, wide.kind), 0.5, wide)


def sine(x: Operand, ahead: float, wide: Wide) -> Operand:
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
    of a zero. In float32, fp16 has 11 + 13 bits and no large numbers, so that the same holds.
    """
    size = magnitude(x)
    first, second, last = (x * by_size(size, [(least, pieces[i]) for least, pieces in wide.groups]) for i in range(3))
    near = first + second
    shifted = (near + ahead if ahead else near) + wide.integer
    n = shifted - wide.integer
    f = ((first - (n - ahead if ahead else n)) + second) + last
    found = f * polynomial(f * f, wide.sin)
    sign = view(shifted, wide.integers) << (8 * wide.kind.itemsize - 1)
    return cast(view(view(found, wide.integers) ^ sign, wide.kind), F32)


def by_size(size: Operand, numbers: Sequence[tuple[float, float]]) -> Operand:
    """The last number whose least size isn't more than a size."""
    found = like(size, numbers[0][1])
    for least, number in numbers[1:]:
        found = where(size >= least, number, found)
    return found
