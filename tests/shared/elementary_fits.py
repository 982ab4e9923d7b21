"""The numbers of `kernels/elementwise/elementary.py` computed anew, with 70 digits or more."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[Decimal], Decimal]

D = Decimal


def total(first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """first * (1 + ratio(1) * (1 + ratio(2) * (...))), until its terms are no matter."""
    term, found, k = first, first, 0
    while abs(term) > D("1e-70"):
        k += 1
        term *= ratio(k)
        found += term
    return found


def pi() -> Decimal:
    """By Machin's formula, in the digits of the context."""

    def arcus(n: int) -> Decimal:
        term, found, k = D(1) / n, D(1) / n, 1
        while abs(term) > D("1e-130"):
            term, k = -term / (n * n), k + 2
            found += term / k
        return found

    return 16 * arcus(5) - 4 * arcus(239)


def grown(f: Decimal) -> Decimal:
    """(2^f - 1) / f"""
    y = f * D(2).ln()
    return total(D(2).ln(), lambda k: y / (k + 1))


def logarithm(z: Decimal) -> Decimal:
    """2 * atanh(s) / s of z = s^2"""
    return total(D(2), lambda k: z * (2 * k - 1) / (2 * k + 1))


def binary_logarithm(z: Decimal) -> Decimal:
    return logarithm(z) / D(2).ln()


def wave(z: Decimal) -> Decimal:
    """sin(pi * f) / f of z = f^2"""
    square = z * pi() ** 2
    return total(pi(), lambda k: -square / (2 * k * (2 * k + 1)))


def error_function(middle: float) -> Function:
    """erf(x) / x of u = x^2 / middle - 1"""

    def of(u: Decimal) -> Decimal:
        z = (u + 1) * D(middle)
        return 2 / pi().sqrt() * (-z).exp() * total(D(1), lambda k: 2 * z / (2 * k + 1))

    return of


LEAST = (3 - 2 * D(2).sqrt()) ** 2
FITS: dict[tuple[str, str], tuple[Function, Decimal, Decimal, float]] = {  # function, interval, log2 of its error
    ("DOUBLE", "exp2"): (grown, D("-0.5"), D("0.5"), -37.4),
    ("DOUBLE", "log"): (logarithm, D(0), LEAST, -37.7),
    ("DOUBLE", "log2"): (binary_logarithm, D(0), LEAST, -45.0),
    ("DOUBLE", "sin"): (wave, D(0), D("0.25"), -43.5),
    ("DOUBLE", "erf"): (error_function(7.75), D(-1), D(1), -39.5),
    ("SINGLE", "exp2"): (grown, D("-0.5"), D("0.5"), -20.9),
    ("SINGLE", "log"): (logarithm, D(0), LEAST, -30.4),
    ("SINGLE", "log2"): (binary_logarithm, D(0), LEAST, -30.4),
    ("SINGLE", "sin"): (wave, D(0), D("0.25"), -27.1),
    ("SINGLE", "erf"): (error_function(3.75), D(-1), D(1), -22.1),
}


def interpolated(function: Function, low: Decimal, high: Decimal, count: int) -> list[float]:
    """Coefficients of the polynomial that has the function's values at the Chebyshev nodes of an interval."""
    with localcontext() as context:
        context.prec = 70
        angles = [pi() * (2 * i + 1) / (2 * count) for i in range(count)]
        cosines = [total(D(1), lambda k, a=a: -a * a / (2 * k * (2 * k - 1))) for a in angles]
        nodes = [(low + high) / 2 + (high - low) / 2 * c for c in cosines]
        divided = [function(x) for x in nodes]
        for order in range(1, count):
            for i in range(count - 1, order - 1, -1):
                divided[i] = (divided[i] - divided[i - 1]) / (nodes[i] - nodes[i - order])
        found = [divided[-1]]
        for node, value in zip(nodes[-2::-1], divided[-2::-1], strict=True):
            found = [a - node * b for a, b in zip([D(0), *found], [*found, D(0)], strict=True)]
            found[0] += value
        return [float(c) for c in found]


def error(function: Function, low: Decimal, high: Decimal, coefficients: tuple[float, ...]) -> float:
    """The largest relative error at points of the interval."""
    worst = D(0)
    for i in range(101):
        x, value = low + (high - low) * i / 100, D(0)
        for c in reversed(coefficients):
            value = value * x + D(c)
        worst = max(worst, abs(value / function(x) - 1))
    return float(worst)


def cut(value: Decimal, bits: int) -> float:
    """Towards zero."""
    fraction, exponent = math.frexp(float(value))
    return math.ldexp(math.trunc(math.ldexp(fraction, bits)), exponent - bits)


def pieces(power: int, bits: int, kind: type) -> tuple[float, float, float]:
    """2^power / pi less the nearest even integer, in two pieces of so many bits and a rounded one, over 2^power."""
    with localcontext() as context:
        context.prec = 120
        left = D(2) ** power / pi()
        left -= 2 * (left / 2).to_integral_value()
        first = cut(left, bits)
        second = cut(left - D(first), bits)
        last = float(kind(left - D(first) - D(second)))
    return math.ldexp(first, -power), math.ldexp(second, -power), math.ldexp(last, -power)
