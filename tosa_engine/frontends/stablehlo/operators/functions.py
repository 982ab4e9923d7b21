"""Elementwise functions of floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....lower import elementary
from ....lower.elementary import chosen, compared, number, plus, times
from ....lower.views import shape_of
from ..elements import BOOL
from .floats import in_fp32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..values import Value

OPS: Final = {
    "ceil": "CEIL", "cosine": "COS", "exponential": "EXP", "floor": "FLOOR", "log": "LOG", "logistic": "SIGMOID",
    "rsqrt": "RSQRT", "sine": "SIN", "tanh": "TANH",
}  # fmt: skip


def one_operator(call: Call) -> Value:
    return call.elementwise(in_fp32(call, lambda x: call.g.unary(OPS[call.name], x), call.lean(0)))


def composed(call: Call) -> Value:
    function = COMPOSED[call.name]
    return call.elementwise(in_fp32(call, lambda x: function(call.g, x), call.lean(0), small=False))


def root(g: Any, x: Tensor) -> Tensor:
    """x / sqrt(x) with half a step of Newton's; 0 and infinity stay as they are."""
    inverse = g.unary("RSQRT", x)
    first = g.binary("MUL", x, inverse)
    rest = g.binary("SUB", x, g.binary("MUL", first, first))
    better = g.binary("ADD", first, g.binary("MUL", rest, times(g, inverse, 0.5)))
    end = compared(g, "LOGICAL_OR", *(compared(g, "EQUAL", x, number(g, v, x)) for v in (0.0, float("inf"))))
    return chosen(g, end, x, better)


def cube_root(g: Any, x: Tensor) -> Tensor:
    """|x|^(1/3) by POW with a step of Newton's, and the sign of x."""
    size = g.unary("ABS", x)
    end = compared(g, "LOGICAL_OR", *(compared(g, "EQUAL", size, number(g, v, x)) for v in (0.0, float("inf"))))
    safe = chosen(g, end, number(g, 1.0, x), size)
    y = g.binary("POW", safe, number(g, 1.0 / 3.0, x))
    square = g.binary("MUL", y, y)
    step = g.binary("SUB", g.binary("MUL", safe, g.unary("RECIPROCAL", square)), y)
    found = chosen(g, end, size, g.binary("ADD", y, times(g, step, 1.0 / 3.0)))
    return chosen(g, compared(g, "GREATER", number(g, 0.0, x), x), g.negate(found), found)


def log_plus_one(g: Any, x: Tensor) -> Tensor:
    """log(u) * x / (u - 1), u = fl(1 + x), whose errors cancel; x where u is 1."""
    u = plus(g, x, 1.0)
    step = plus(g, u, -1.0)
    none = compared(g, "EQUAL", step, number(g, 0.0, x))
    far = compared(g, "GREATER", g.unary("ABS", x), number(g, 1e6, x))
    safe = chosen(g, none, number(g, 1.0, x), step)
    ratio = chosen(g, far, number(g, 1.0, x), g.binary("MUL", x, g.unary("RECIPROCAL", safe)))
    return chosen(g, none, x, g.binary("MUL", g.unary("LOG", u), ratio))


SERIES: Final = (1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0)


def exponential_minus_one(g: Any, x: Tensor) -> Tensor:
    """The series within 0.5 of 0, else exp(x) - 1."""
    series = number(g, SERIES[0], x)
    for factor in SERIES[1:]:
        series = plus(g, g.binary("MUL", x, series), factor)
    small = compared(g, "GREATER", number(g, 0.5, x), g.unary("ABS", x))
    return chosen(g, small, g.binary("MUL", x, series), plus(g, g.unary("EXP", x), -1.0))


def half_away(g: Any, x: Tensor) -> Tensor:
    """To the nearest whole number, halves away from 0: the floor of the size, plus 1 from one half on."""
    size = g.unary("ABS", x)
    low = g.unary("FLOOR", size)
    up = compared(g, "GREATER_EQUAL", g.binary("SUB", size, low), number(g, 0.5, x))
    found = chosen(g, up, plus(g, low, 1.0), low)
    return chosen(g, compared(g, "GREATER", number(g, 0.0, x), x), g.negate(found), found)


def atan2(call: Call) -> Value:
    """The angle of (x, y): that of y / x, turned by pi with the sign of y where x is negative."""
    y, x = call.operands()
    return call.elementwise(in_fp32(call, lambda *t: _angle(call, *t), y, x, small=False))


PI: Final = 3.141592653589793


def _angle(call: Call, y: Tensor, x: Tensor) -> Tensor:
    g = call.g
    shape = tuple(max(m, n) for m, n in zip(shape_of(x), shape_of(y), strict=True))
    y, x = (g.spread(t, shape) for t in (y, x))
    sizes = [g.unary("ABS", t) for t in (y, x)]
    steep = compared(g, "GREATER", *sizes)
    small, great = (g.binary(op, *sizes) for op in ("MINIMUM", "MAXIMUM"))
    none, infinite = (
        compared(g, "EQUAL", great, number(g, 0.0, x)),
        compared(g, "EQUAL", small, number(g, float("inf"), x)),
    )
    ratio = g.binary("MUL", small, g.unary("RECIPROCAL", chosen(g, none, number(g, 1.0, x), great)))
    angle = elementary.atan(g, chosen(g, infinite, number(g, 1.0, x), ratio))
    angle = chosen(g, steep, g.binary("SUB", number(g, PI / 2, x), angle), angle)
    left = _negative(call, x)
    angle = chosen(g, left, g.binary("SUB", number(g, PI, x), angle), angle)
    return chosen(g, _negative(call, y), g.negate(angle), angle)


def _negative(call: Call, x: Tensor) -> Tensor:
    """Whether the sign is set, that of zero too."""
    g = call.g
    zero = number(g, 0.0, x)
    below = compared(g, "GREATER", zero, x)
    minus = compared(g, "GREATER", zero, g.unary("RECIPROCAL", x))
    return compared(g, "LOGICAL_OR", below, compared(g, "LOGICAL_AND", compared(g, "EQUAL", x, zero), minus))


def finite(call: Call) -> Value:
    x = call.cast(call.lean(0), types.fp32)
    return call.elementwise(compared(call.g, "GREATER", number(call.g, float("inf"), x), call.g.unary("ABS", x)), BOOL)


FORMATS: Final = {(5, 10): types.fp16, (8, 7): types.bf16}
MANTISSA: Final = {types.fp32: 23, types.fp16: 10, types.bf16: 7}
EXPONENT: Final = {types.fp32: 8, types.fp16: 5, types.bf16: 8}


def reduce_precision(call: Call) -> Value:
    """CAST to fp16 or bf16 and back where the format is one of them; else rounding by a scale that is a power of 2."""
    x, g = call.lean(0), call.g
    exponent, mantissa = call.attribute("exponent_bits"), call.attribute("mantissa_bits")
    exponent, mantissa = min(exponent, EXPONENT[x.dtype]), min(mantissa, MANTISSA[x.dtype])
    if (exponent, mantissa) == (EXPONENT[x.dtype], MANTISSA[x.dtype]):
        return call.elementwise(x)
    found = FORMATS.get((exponent, mantissa))
    if found is types.bf16 and x.dtype is types.fp32:
        return call.elementwise(call.cast(call.cast(x, found), x.dtype))
    return call.elementwise(in_fp32(call, lambda t: _reduced(g, t, exponent, mantissa), x, small=False))


def _reduced(g: Any, x: Tensor, exponent: int, mantissa: int) -> Tensor:
    """Round to `mantissa` bits; beyond the exponent's range infinity, below it zero.

    The scale is found by halving: the power of 2 below the size of x.
    """
    size = g.unary("ABS", x)
    scale = number(g, 1.0, x)
    rest = size
    for k in (64, 32, 16, 8, 4, 2, 1):
        up = compared(g, "GREATER_EQUAL", rest, number(g, 2.0**k, x))
        rest = chosen(g, up, times(g, rest, 2.0**-k), rest)
        scale = chosen(g, up, times(g, scale, 2.0**k), scale)
    for k in (64, 32, 16, 8, 4, 2, 1):
        down = compared(g, "GREATER", number(g, 2.0 ** (1 - k), x), rest)
        rest = chosen(g, down, times(g, rest, 2.0**k), rest)
        scale = chosen(g, down, times(g, scale, 2.0**-k), scale)
    rounded = times(g, elementary.round_even(g, times(g, rest, 2.0**mantissa)), 2.0**-mantissa)
    found = g.binary("MUL", rounded, scale)
    bias = (1 << (exponent - 1)) - 1
    most = (2.0 - 2.0**-mantissa) * 2.0**bias
    found = chosen(g, compared(g, "GREATER", found, number(g, most, x)), number(g, float("inf"), x), found)
    found = chosen(g, compared(g, "GREATER", number(g, 2.0 ** (1 - bias), x), found), number(g, 0.0, x), found)
    infinite = compared(g, "EQUAL", size, number(g, float("inf"), x))
    found = chosen(g, infinite, size, found)
    found = chosen(g, compared(g, "GREATER", number(g, 0.0, x), x), g.negate(found), found)
    return chosen(g, compared(g, "EQUAL", x, x), found, x)


COMPOSED: Final[Mapping[str, Callable[[Any, Tensor], Tensor]]] = {
    "cbrt": cube_root, "exponential_minus_one": exponential_minus_one, "log_plus_one": log_plus_one,
    "round_nearest_afz": half_away, "round_nearest_even": elementary.round_even, "sqrt": root, "tan": elementary.tan,
}  # fmt: skip
OPERATORS: Final[Mapping[str, Callable[[Call], Value]]] = {
    **dict.fromkeys(OPS, one_operator), **dict.fromkeys(COMPOSED, composed), "atan2": atan2, "is_finite": finite,
    "reduce_precision": reduce_precision,
}  # fmt: skip
