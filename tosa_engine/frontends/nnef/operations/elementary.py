"""Elementwise functions that TOSA composes (section 4.2): trigonometry, powers, comparisons, selection."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

from .... import types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper

# of atan on 0 .. 1: x * (pi / 4 + 0.273 * (1 - x)), off by at most 0.0038
ATAN_BEND: Final = 0.273


def number(b: NnefWriter, value: float, like: Tensor) -> Tensor:
    """A constant that broadcasts to `like`."""
    return b.scalar(value, like.dtype, len(b.shape_of(like)))


def plus(b: NnefWriter, x: Tensor, value: float) -> Tensor:
    return b.binary("ADD", x, number(b, value, x))


def times(b: NnefWriter, x: Tensor, value: float) -> Tensor:
    return b.binary("MUL", x, number(b, value, x))


def compared(b: NnefWriter, op: str, x: Tensor, y: Tensor) -> Tensor:
    """EQUAL, GREATER or GREATER_EQUAL."""
    shape = tuple(n if m == 1 else m for m, n in zip(b.shape_of(x), b.shape_of(y), strict=True))
    return b.operator(op, [x, y], shape, types.bool_)


def chosen(b: NnefWriter, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """SELECT; the three have one rank."""
    shapes = [b.shape_of(t) for t in (condition, yes, no)]
    return b.operator(
        "SELECT", [condition, yes, no], tuple(max(extents) for extents in zip(*shapes, strict=True)), yes.dtype
    )


def power(b: NnefWriter, x: Tensor, exponent: float) -> Tensor:
    """x to a constant power, by products and reciprocals where they do."""
    if exponent < 0:
        return b.unary("RSQRT", x) if exponent == -0.5 else b.unary("RECIPROCAL", power(b, x, -exponent))
    if exponent == 1:
        return x
    if exponent == 0.5:
        return root(b, x)
    if exponent == 2:
        return b.binary("MUL", x, x)
    return b.binary("POW", x, number(b, exponent, x))


def root(b: NnefWriter, x: Tensor) -> Tensor:
    """1 / (1 / sqrt(x)), right for 0 and infinity too, where POW would be unpredictable."""
    return b.unary("RECIPROCAL", b.unary("RSQRT", x))


def tan(b: NnefWriter, x: Tensor) -> Tensor:
    return b.binary("MUL", b.unary("SIN", x), b.unary("RECIPROCAL", b.unary("COS", x)))


def sinh(b: NnefWriter, x: Tensor) -> Tensor:
    """(exp(x) - exp(-x)) / 2; within 1 of 0 by the series, where the difference would lose its digits."""
    exact = times(b, b.binary("SUB", b.unary("EXP", x), b.unary("EXP", b.negate(x))), 0.5)
    square = b.binary("MUL", x, x)
    series = number(b, 1.0, x)
    for n in (8, 6, 4, 2):
        series = plus(b, times(b, b.binary("MUL", square, series), 1.0 / (n * (n + 1))), 1.0)
    small = compared(b, "GREATER", number(b, 1.0, x), b.unary("ABS", x))
    return chosen(b, small, b.binary("MUL", x, series), exact)


def cosh(b: NnefWriter, x: Tensor) -> Tensor:
    return times(b, b.binary("ADD", b.unary("EXP", x), b.unary("EXP", b.negate(x))), 0.5)


def sign(b: NnefWriter, x: Tensor) -> Tensor:
    zero = number(b, 0.0, x)
    below = chosen(b, compared(b, "GREATER", zero, x), number(b, -1.0, x), zero)
    return chosen(b, compared(b, "GREATER", x, zero), number(b, 1.0, x), below)


def atan(b: NnefWriter, x: Tensor) -> Tensor:
    """sign(x) * a(|x|), a(t) = pi / 2 - a(1 / t) for t > 1.

    On 0 .. 1 a first value y is off by d, tan(d) = (t * cos y - sin y) / (cos y + t * sin y) = e, and
    atan(e) = e - e^3 / 3 for an e of at most 0.0038.
    """
    size = b.unary("ABS", x)
    beyond = compared(b, "GREATER", size, number(b, 1.0, x))
    t = chosen(b, beyond, b.unary("RECIPROCAL", size), size)
    bent = plus(b, times(b, t, -ATAN_BEND), math.pi / 4 + ATAN_BEND)
    y = b.binary("MUL", t, bent)
    sine, cosine = b.unary("SIN", y), b.unary("COS", y)
    above = b.binary("SUB", b.binary("MUL", t, cosine), sine)
    below = b.binary("ADD", cosine, b.binary("MUL", t, sine))
    e = b.binary("MUL", above, b.unary("RECIPROCAL", below))
    cube = times(b, b.binary("MUL", e, b.binary("MUL", e, e)), -1.0 / 3.0)
    angle = b.binary("ADD", y, b.binary("ADD", e, cube))
    angle = chosen(b, beyond, b.binary("SUB", number(b, math.pi / 2, x), angle), angle)
    return chosen(b, compared(b, "GREATER", number(b, 0.0, x), x), b.negate(angle), angle)


def asin(b: NnefWriter, x: Tensor) -> Tensor:
    """atan(x / sqrt(1 - x^2)), with (1 - x) * (1 + x) under the root."""
    one = number(b, 1.0, x)
    room = b.binary("MUL", b.binary("SUB", one, x), b.binary("ADD", one, x))
    return atan(b, b.binary("MUL", x, b.unary("RECIPROCAL", root(b, room))))


def acos(b: NnefWriter, x: Tensor) -> Tensor:
    """2 * atan(sqrt((1 - x) / (1 + x)))."""
    one = number(b, 1.0, x)
    ratio = b.binary("MUL", b.binary("SUB", one, x), b.unary("RECIPROCAL", b.binary("ADD", one, x)))
    return times(b, atan(b, root(b, ratio)), 2.0)


def asinh(b: NnefWriter, x: Tensor) -> Tensor:
    """sign(x) * log1p(t + t^2 / (1 + sqrt(1 + t^2))), t = |x|: what is added to 1 keeps its digits near 0.

    Beyond 10^6, where the square may be infinite, log(t) + log(2).
    """
    size = b.unary("ABS", x)
    far = compared(b, "GREATER", size, number(b, 1e6, x))
    t = b.clamp(size, 0.0, 1e6)
    square = b.binary("MUL", t, t)
    below = plus(b, root(b, plus(b, square, 1.0)), 1.0)
    small = b.binary("ADD", t, b.binary("MUL", square, b.unary("RECIPROCAL", below)))
    great = plus(b, b.unary("LOG", size), math.log(2.0))
    return b.binary("MUL", sign(b, x), chosen(b, far, great, _log1p(b, small)))


def acosh(b: NnefWriter, x: Tensor) -> Tensor:
    """log1p(t + sqrt(2 * t + t^2)), t = x - 1."""
    t = plus(b, x, -1.0)
    return _log1p(b, b.binary("ADD", t, root(b, b.binary("MUL", t, plus(b, t, 2.0)))))


def atanh(b: NnefWriter, x: Tensor) -> Tensor:
    """log1p(2 * t / (1 - t)) / 2 with the sign of x, t = |x|."""
    t = b.unary("ABS", x)
    ratio = b.binary("MUL", times(b, t, 2.0), b.unary("RECIPROCAL", b.binary("SUB", number(b, 1.0, x), t)))
    return b.binary("MUL", sign(b, x), times(b, _log1p(b, ratio), 0.5))


def _log1p(b: NnefWriter, x: Tensor) -> Tensor:
    """log(1 + x) for x >= 0: log(u) * x / (u - 1) with u = fl(1 + x), whose errors cancel; x where u is 1."""
    u = plus(b, x, 1.0)
    step = plus(b, u, -1.0)
    none = b.operator("EQUAL", [step, number(b, 0.0, x)], b.shape_of(x), types.bool_)
    far = compared(b, "GREATER", x, number(b, 1e6, x))  # x / (u - 1) is 1 there, and may be infinity / infinity
    safe = chosen(b, none, number(b, 1.0, x), step)
    ratio = chosen(b, far, number(b, 1.0, x), b.binary("MUL", x, b.unary("RECIPROCAL", safe)))
    return chosen(b, none, x, b.binary("MUL", b.unary("LOG", u), ratio))


def round_(b: NnefWriter, x: Tensor) -> Tensor:
    """floor(x + 0.5), as the standard has it."""
    return b.unary("FLOOR", plus(b, x, 0.5))


def _of_x(function: object, b: NnefWriter, operation: Operation) -> Tensor:
    assert callable(function)
    found: Tensor = function(b, b.value(operation.arguments["x"]))
    return found


def pow_(b: NnefWriter, operation: Operation) -> Tensor:
    x, y = b.operands(operation.arguments["x"], operation.arguments["y"])
    if y.data is not None and y.data.size == 1:
        return power(b, x, float(y.data.reshape(-1)[0]))
    return b.binary("POW", x, y)


def comparison(op: str, swapped: bool, negated: bool, b: NnefWriter, operation: Operation) -> Tensor:
    """lt is GREATER with its sides swapped; ne is EQUAL negated."""
    x, y = b.operands(operation.arguments["x"], operation.arguments["y"])
    found = compared(b, op, y, x) if swapped else compared(b, op, x, y)
    return b.unary("LOGICAL_NOT", found) if negated else found


def logical(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    x, y = b.operands(operation.arguments["x"], operation.arguments["y"])
    return compared(b, op, x, y)


def select(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    return chosen(b, *b.operands(arguments["condition"], arguments["true_value"], arguments["false_value"]))


def cast(b: NnefWriter, operation: Operation) -> Tensor:
    """As the built-in functions do: to integer goes to the closest smaller one, to logical asks for other than 0."""
    x = b.value(operation.arguments["input"])
    wanted = {"scalar": types.fp32, "integer": types.i32, "logical": types.bool_}[operation.type]
    if x.dtype is wanted:
        return x
    if x.dtype is types.bool_:
        rank = len(b.shape_of(x))
        return chosen(b, x, b.scalar(1, wanted, rank), b.scalar(0, wanted, rank))
    if wanted is types.bool_:
        return b.unary("LOGICAL_NOT", compared(b, "EQUAL", x, number(b, 0, x)))
    if wanted is types.i32:
        x = b.unary("FLOOR", x)
    return b.operator("CAST", [x], b.shape_of(x), wanted)


FUNCTIONS: Final = {
    "tan": tan, "sinh": sinh, "cosh": cosh, "asin": asin, "acos": acos, "atan": atan, "asinh": asinh, "acosh": acosh,
    "atanh": atanh, "sign": sign, "round": round_,
}  # fmt: skip
UNARY: Final = {"log": "LOG", "sin": "SIN", "cos": "COS", "floor": "FLOOR", "ceil": "CEIL", "not": "LOGICAL_NOT"}
COMPARISONS: Final = {
    "lt": ("GREATER", True, False), "gt": ("GREATER", False, False), "le": ("GREATER_EQUAL", True, False),
    "ge": ("GREATER_EQUAL", False, False), "eq": ("EQUAL", False, False), "ne": ("EQUAL", False, True),
}  # fmt: skip
MAPPERS: Final[Mapping[str, Mapper]] = {
    **{name: partial(_of_x, function) for name, function in FUNCTIONS.items()},
    **{name: partial(_of_x, lambda b, x, op=op: b.unary(op, x)) for name, op in UNARY.items()},
    **{name: partial(comparison, *how) for name, how in COMPARISONS.items()},
    "sqrt": partial(_of_x, root),
    "rsqrt": partial(_of_x, lambda b, x: b.unary("RSQRT", x)),
    "pow": pow_,
    "and": partial(logical, "LOGICAL_AND"),
    "or": partial(logical, "LOGICAL_OR"),
    "select": select,
    "cast": cast,
}
