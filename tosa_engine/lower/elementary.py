"""Elementwise functions that TOSA composes: trigonometry, powers, comparisons, selection, limits, conversion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from .. import types
from .views import shape_of
from .writer import FLOAT_MAX

if TYPE_CHECKING:
    from ..graph import Tensor
    from ..types import DType
    from .writer import Writer

# of the first value of atan on 0 .. 1: x * (pi / 4 + 0.273 * (1 - x)), off by at most 0.0038 before it is corrected
ATAN_BEND: Final = 0.273


def number(g: Writer, value: float, like: Tensor) -> Tensor:
    """A constant that broadcasts to `like`."""
    return g.scalar(value, like.dtype, len(shape_of(like)))


def plus(g: Writer, x: Tensor, value: float) -> Tensor:
    return g.binary("ADD", x, number(g, value, x))


def times(g: Writer, x: Tensor, value: float) -> Tensor:
    return g.binary("MUL", x, number(g, value, x))


def compared(g: Writer, op: str, x: Tensor, y: Tensor) -> Tensor:
    """EQUAL, GREATER, GREATER_EQUAL, LOGICAL_AND or LOGICAL_OR."""
    shape = tuple(n if m == 1 else m for m, n in zip(shape_of(x), shape_of(y), strict=True))
    return g.operator(op, [x, y], shape, types.bool_)


def chosen(g: Writer, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """SELECT; the three have one rank."""
    shapes = [shape_of(t) for t in (condition, yes, no)]
    return g.operator(
        "SELECT", [condition, yes, no], tuple(max(extents) for extents in zip(*shapes, strict=True)), yes.dtype
    )


def power(g: Writer, x: Tensor, exponent: float) -> Tensor:
    """x to a constant power, by products and reciprocals where they do."""
    if exponent < 0:
        return g.unary("RSQRT", x) if exponent == -0.5 else g.unary("RECIPROCAL", power(g, x, -exponent))
    if exponent == 1:
        return x
    if exponent == 0.5:
        return root(g, x)
    if exponent == 2:
        return g.binary("MUL", x, x)
    return g.binary("POW", x, number(g, exponent, x))


def root(g: Writer, x: Tensor) -> Tensor:
    """1 / (1 / sqrt(x)), right for 0 and infinity too, where POW would be unpredictable."""
    return g.unary("RECIPROCAL", g.unary("RSQRT", x))


def tan(g: Writer, x: Tensor) -> Tensor:
    return g.binary("MUL", g.unary("SIN", x), g.unary("RECIPROCAL", g.unary("COS", x)))


def sinh(g: Writer, x: Tensor) -> Tensor:
    """(exp(x) - exp(-x)) / 2; within 1 of 0 by the series, where the difference would lose its digits."""
    exact = times(g, g.binary("SUB", g.unary("EXP", x), g.unary("EXP", g.negate(x))), 0.5)
    square = g.binary("MUL", x, x)
    series = number(g, 1.0, x)
    for n in (8, 6, 4, 2):
        series = plus(g, times(g, g.binary("MUL", square, series), 1.0 / (n * (n + 1))), 1.0)
    small = compared(g, "GREATER", number(g, 1.0, x), g.unary("ABS", x))
    return chosen(g, small, g.binary("MUL", x, series), exact)


def cosh(g: Writer, x: Tensor) -> Tensor:
    return times(g, g.binary("ADD", g.unary("EXP", x), g.unary("EXP", g.negate(x))), 0.5)


def sign(g: Writer, x: Tensor) -> Tensor:
    zero = number(g, 0.0, x)
    below = chosen(g, compared(g, "GREATER", zero, x), number(g, -1.0, x), zero)
    return chosen(g, compared(g, "GREATER", x, zero), number(g, 1.0, x), below)


def atan(g: Writer, x: Tensor) -> Tensor:
    """sign(x) * a(|x|), a(t) = pi / 2 - a(1 / t) for t > 1.

    On 0 .. 1 a first value y is off by d, tan(d) = (t * cos y - sin y) / (cos y + t * sin y) = e, and
    atan(e) = e - e^3 / 3 for an e of at most 0.0038.
    """
    size = g.unary("ABS", x)
    beyond = compared(g, "GREATER", size, number(g, 1.0, x))
    t = chosen(g, beyond, g.unary("RECIPROCAL", size), size)
    bent = plus(g, times(g, t, -ATAN_BEND), math.pi / 4 + ATAN_BEND)
    y = g.binary("MUL", t, bent)
    sine, cosine = g.unary("SIN", y), g.unary("COS", y)
    above = g.binary("SUB", g.binary("MUL", t, cosine), sine)
    below = g.binary("ADD", cosine, g.binary("MUL", t, sine))
    e = g.binary("MUL", above, g.unary("RECIPROCAL", below))
    cube = times(g, g.binary("MUL", e, g.binary("MUL", e, e)), -1.0 / 3.0)
    angle = g.binary("ADD", y, g.binary("ADD", e, cube))
    angle = chosen(g, beyond, g.binary("SUB", number(g, math.pi / 2, x), angle), angle)
    return chosen(g, compared(g, "GREATER", number(g, 0.0, x), x), g.negate(angle), angle)


def asin(g: Writer, x: Tensor) -> Tensor:
    """atan(x / sqrt(1 - x^2)), with (1 - x) * (1 + x) under the root."""
    one = number(g, 1.0, x)
    room = g.binary("MUL", g.binary("SUB", one, x), g.binary("ADD", one, x))
    return atan(g, g.binary("MUL", x, g.unary("RECIPROCAL", root(g, room))))


def acos(g: Writer, x: Tensor) -> Tensor:
    """2 * atan(sqrt((1 - x) / (1 + x)))."""
    one = number(g, 1.0, x)
    ratio = g.binary("MUL", g.binary("SUB", one, x), g.unary("RECIPROCAL", g.binary("ADD", one, x)))
    return times(g, atan(g, root(g, ratio)), 2.0)


def asinh(g: Writer, x: Tensor) -> Tensor:
    """sign(x) * log1p(t + t^2 / (1 + sqrt(1 + t^2))), t = |x|: what is added to 1 keeps its digits near 0.

    Beyond 10^6, where the square may be infinite, log(t) + log(2).
    """
    size = g.unary("ABS", x)
    far = compared(g, "GREATER", size, number(g, 1e6, x))
    t = g.clamp(size, 0.0, 1e6)
    square = g.binary("MUL", t, t)
    below = plus(g, root(g, plus(g, square, 1.0)), 1.0)
    small = g.binary("ADD", t, g.binary("MUL", square, g.unary("RECIPROCAL", below)))
    great = plus(g, g.unary("LOG", size), math.log(2.0))
    return g.binary("MUL", sign(g, x), chosen(g, far, great, _log1p(g, small)))


def acosh(g: Writer, x: Tensor) -> Tensor:
    """log1p(t + sqrt(2 * t + t^2)), t = x - 1; beyond 10^6, where the square may be infinite, log(x) + log(2)."""
    far = compared(g, "GREATER", x, number(g, 1e6, x))
    t = g.binary("MINIMUM", plus(g, x, -1.0), number(g, 1e6, x))
    near = _log1p(g, g.binary("ADD", t, root(g, g.binary("MUL", t, plus(g, t, 2.0)))))
    return chosen(g, far, plus(g, g.unary("LOG", x), math.log(2.0)), near)


def atanh(g: Writer, x: Tensor) -> Tensor:
    """log1p(2 * t / (1 - t)) / 2 with the sign of x, t = |x|."""
    t = g.unary("ABS", x)
    ratio = g.binary("MUL", times(g, t, 2.0), g.unary("RECIPROCAL", g.binary("SUB", number(g, 1.0, x), t)))
    return g.binary("MUL", sign(g, x), times(g, _log1p(g, ratio), 0.5))


def _log1p(g: Writer, x: Tensor) -> Tensor:
    """log(1 + x) for x >= 0: log(u) * x / (u - 1) with u = fl(1 + x), whose errors cancel; x where u is 1."""
    u = plus(g, x, 1.0)
    step = plus(g, u, -1.0)
    none = g.operator("EQUAL", [step, number(g, 0.0, x)], shape_of(x), types.bool_)
    far = compared(g, "GREATER", x, number(g, 1e6, x))  # x / (u - 1) is 1 there, and may be infinity / infinity
    safe = chosen(g, none, number(g, 1.0, x), step)
    ratio = chosen(g, far, number(g, 1.0, x), g.binary("MUL", x, g.unary("RECIPROCAL", safe)))
    return chosen(g, none, x, g.binary("MUL", g.unary("LOG", u), ratio))


def round_(g: Writer, x: Tensor) -> Tensor:
    """floor(x + 0.5): halves go up."""
    return g.unary("FLOOR", plus(g, x, 0.5))


def round_even(g: Writer, x: Tensor) -> Tensor:
    """To the nearest whole number, halves to the even one: the floor, plus 1 where x is further above it.

    The difference to the floor is exact but for |x| < 0.5, where its rounding doesn't change the result.
    """
    low = g.unary("FLOOR", x)
    above, half = g.binary("SUB", x, low), number(g, 0.5, x)
    odd = compared(g, "GREATER", g.binary("SUB", low, times(g, g.unary("FLOOR", times(g, low, 0.5)), 2.0)), half)
    tied = compared(g, "LOGICAL_AND", compared(g, "EQUAL", above, half), odd)
    up = compared(g, "LOGICAL_OR", compared(g, "GREATER", above, half), tied)
    return chosen(g, up, plus(g, low, 1.0), low)


def relu(g: Writer, x: Tensor) -> Tensor:
    return g.clamp(x, 0.0, FLOAT_MAX)


def division(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    """x / y as x * (1 / y); of narrow floats in fp32, so that the result is rounded once."""
    if x.dtype is types.fp32:
        return g.binary("MUL", x, g.unary("RECIPROCAL", y))
    wide = [g.operator("CAST", [t], shape_of(t), types.fp32) for t in (x, y)]
    found = division(g, *wide)
    return g.operator("CAST", [found], shape_of(found), x.dtype)


def exact_division(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    """x / y of fp32 as it is rounded, for what is rounded to whole numbers next: a tie must be one.

    The remainder of the first quotient is exact, by products of halves of 12 bits. Numbers beyond 10^34 overflow.
    """
    reciprocal = g.unary("RECIPROCAL", y)
    first = g.binary("MUL", x, reciprocal)
    product = g.binary("MUL", first, y)
    (a, b), (c, d) = _halves(g, first), _halves(g, y)
    lost = g.binary("SUB", g.binary("MUL", a, c), product)
    for left, right in ((a, d), (b, c), (b, d)):
        lost = g.binary("ADD", lost, g.binary("MUL", left, right))
    rest = g.binary("SUB", g.binary("SUB", x, product), lost)
    return g.binary("ADD", first, g.binary("MUL", rest, reciprocal))


def _halves(g: Writer, x: Tensor) -> tuple[Tensor, Tensor]:
    """Two numbers of 12 bits whose sum is x."""
    wide = times(g, x, 4097.0)
    high = g.binary("SUB", wide, g.binary("SUB", wide, x))
    return high, g.binary("SUB", x, high)


def limited(g: Writer, op: str, x: Tensor, y: Tensor) -> Tensor:
    """MINIMUM or MAXIMUM; with a constant of one element CLAMP."""
    for value, limit in ((x, number_of(y)), (y, number_of(x))):
        if limit is not None and value.data is None:
            return g.clamp(value, *((-FLOAT_MAX, limit) if op == "MINIMUM" else (limit, FLOAT_MAX)))
    return g.binary(op, x, y)


def clamped(g: Writer, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """max(min(x, high), low); with constants of one element, low <= high, it is CLAMP."""
    least, most = number_of(low), number_of(high)
    if least is not None and most is not None and least <= most:
        return g.clamp(x, least, most)
    return g.binary("MAXIMUM", g.binary("MINIMUM", x, high), low)


def number_of(x: Tensor) -> float | None:
    """The value of a constant of one finite element."""
    if x.data is None or x.data.size != 1:
        return None
    value = float(x.data.reshape(-1)[0])
    return value if math.isfinite(value) else None


def powers(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    """x to the power of y, of tensors of one rank."""
    if y.data is not None and y.data.size == 1:
        return power(g, x, float(y.data.reshape(-1)[0]))
    return g.binary("POW", x, y)


def converted(g: Writer, x: Tensor, wanted: DType) -> Tensor:
    """fp32, int32 or bool as one of the others: int32 gets the closest smaller integer, bool whether it isn't 0."""
    if x.dtype is wanted:
        return x
    if x.dtype is types.bool_:
        rank = len(shape_of(x))
        return chosen(g, x, g.scalar(1, wanted, rank), g.scalar(0, wanted, rank))
    if wanted is types.bool_:
        return g.unary("LOGICAL_NOT", compared(g, "EQUAL", x, number(g, 0, x)))
    if wanted is types.i32:
        x = g.unary("FLOOR", x)
    return g.operator("CAST", [x], shape_of(x), wanted)
