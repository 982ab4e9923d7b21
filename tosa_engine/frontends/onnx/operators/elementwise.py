"""Arithmetic, comparisons, logic, selection and conversion of types, element by element.

Shapes broadcast from the right. TOSA adds and multiplies integers as i32; results of narrower types wrap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....graph import Tensor
from ....lower import elementary as lower
from ....lower.layout import tiled
from ....lower.views import shape_of
from ....lower.writer import FLOAT_MAX
from ..elements import BOOL, DOUBLE, FLOAT, Element
from ..values import Value
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....lower.writer import Writer
    from ..call import Call


def numbers(call: Call, *indices: int) -> list[Tensor]:
    """Operands that broadcast, integers as i32. Raises GraphError where their types differ."""
    elements = {call.element(index) for index in indices}
    if len(elements) > 1:
        raise GraphError(f"inputs of different types: {', '.join(sorted(map(str, elements)))}")
    integer = next(iter(elements)).is_integer
    return call.operands(*(call.wide(i) if integer else call.tensor(i) for i in indices))


def result(call: Call, x: Tensor) -> Value:
    """A result of the first input's type; integers come as i32."""
    element = call.element()
    return call.wrapped(x, element) if element.is_integer else value_of(x, element)


def arithmetic(op: str) -> Callable[[Call], Value]:
    return lambda call: result(call, call.g.binary(op, *numbers(call, 0, 1)))


def divide(call: Call) -> Value:
    """Floats: x * (1 / y), a product with 1 / y where y is constant. Integers round towards zero."""
    x, y = numbers(call, 0, 1)
    if call.element().is_integer:
        shape = tuple(np.broadcast_shapes(shape_of(x), shape_of(y)))
        return result(call, call.g.operator("INTDIV", [x, y], shape))
    if y.data is not None and y.dtype is types.fp32:
        with np.errstate(divide="ignore"):
            return result(call, call.g.binary("MUL", x, call.g.const(1 / y.data.astype(np.float64), types.fp32)))
    return result(call, lower.division(call.g, x, y))


def remainder(call: Call) -> Value:
    """x - y * q; q rounds towards zero with `fmod`, down without it."""
    g, (x, y) = call.g, numbers(call, 0, 1)
    shape = tuple(np.broadcast_shapes(shape_of(x), shape_of(y)))
    towards_zero = bool(call.attribute("fmod", 0))
    if not call.element().is_integer:
        return result(call, _remainder_of_floats(g, x, y, towards_zero=towards_zero))
    rest = g.binary("SUB", x, g.binary("MUL", y, g.operator("INTDIV", [x, y], shape)))
    if towards_zero:
        return result(call, rest)
    zero = lower.number(g, 0, rest)
    differ = g.operator("LOGICAL_XOR", [_less(g, rest, zero), _less(g, y, zero)], shape, types.bool_)
    some = g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", rest, zero))
    wrong = lower.compared(g, "LOGICAL_AND", differ, some)
    return result(call, lower.chosen(g, wrong, g.binary("ADD", rest, y), rest))


def _remainder_of_floats(g: Writer, x: Tensor, y: Tensor, *, towards_zero: bool) -> Tensor:
    """|x| - |y| * floor(|x| / |y|), brought between 0 and |y|, since the quotient may be one too large or too small.

    A finite number keeps its value modulo infinity.
    """
    size, step = g.unary("ABS", x), g.unary("ABS", y)
    endless = lower.compared(g, "EQUAL", step, lower.number(g, math.inf, step))
    quotient = g.unary("FLOOR", lower.division(g, size, step))
    rest = g.binary("SUB", size, g.binary("MUL", step, quotient))
    rest = lower.chosen(g, _less(g, rest, lower.number(g, 0.0, rest)), g.binary("ADD", rest, step), rest)
    rest = lower.chosen(g, lower.compared(g, "GREATER_EQUAL", rest, step), g.binary("SUB", rest, step), rest)
    kept = lower.chosen(g, _less(g, size, step), _spread(g, size, rest), rest)
    rest = lower.chosen(g, endless, kept, rest)
    zero = lower.number(g, 0.0, rest)
    signed = lower.chosen(g, _less(g, x, zero), g.negate(rest), rest)
    if towards_zero:
        return signed
    differ = g.operator("LOGICAL_XOR", [_less(g, x, zero), _less(g, y, zero)], shape_of(rest), types.bool_)
    some = g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", rest, zero))
    return lower.chosen(g, lower.compared(g, "LOGICAL_AND", differ, some), g.binary("ADD", signed, y), signed)


def _spread(g: Writer, x: Tensor, like: Tensor) -> Tensor:
    return tiled(g, x, [n // m for m, n in zip(shape_of(x), shape_of(like), strict=True)])


def _less(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    return lower.compared(g, "GREATER", y, x)


def truncated(g: Writer, x: Tensor, *, towards_zero: bool = True) -> Tensor:
    """Floats without their fraction."""
    down = g.unary("FLOOR", x)
    if not towards_zero:
        return down
    negative = _less(g, x, lower.number(g, 0.0, x))
    return lower.chosen(g, negative, g.unary("CEIL", x), down)


def compare(op: str, *, swapped: bool = False) -> Callable[[Call], Value]:
    def operator(call: Call) -> Value:
        if call.element() is BOOL:
            x, y = call.operands(call.cast(call.tensor(0), types.i8), call.cast(call.tensor(1), types.i8))
            x, y = call.cast(x, types.i32), call.cast(y, types.i32)
        else:
            x, y = numbers(call, 0, 1)
        return value_of(lower.compared(call.g, op, *((y, x) if swapped else (x, y))))

    return operator


def logic(op: str) -> Callable[[Call], Value]:
    return lambda call: value_of(lower.compared(call.g, op, *call.operands(call.tensor(0), call.tensor(1))))


def fold_left(op: str) -> Callable[[Call], Value]:
    """Of any number of inputs."""

    def operator(call: Call) -> Value:
        tensors = numbers(call, *range(len(call.inputs)))
        found = tensors[0]
        for one in tensors[1:]:
            found = call.g.binary(op, found, one)
        return result(call, found)

    return operator


def average(call: Call) -> Value:
    total = fold_left("ADD")(call)
    assert total.tensor is not None
    return value_of(lower.times(call.g, total.tensor, 1 / len(call.inputs)), call.element())


def one_by_one(op: str) -> Callable[[Call], Value]:
    return lambda call: value_of(call.g.unary(op, call.tensor(0)), call.element())


def by(function: Callable[[Writer, Tensor], Tensor]) -> Callable[[Call], Value]:
    """A function of `lower`."""
    return lambda call: value_of(function(call.g, call.tensor(0)), call.element())


def absolute(call: Call) -> Value:
    if not call.element().is_integer:
        return one_by_one("ABS")(call)
    return result(call, call.g.unary("ABS", call.wide(0)))


def negate(call: Call) -> Value:
    """TOSA's NEGATE saturates where ONNX wraps, so integers are taken from 0."""
    if not call.element().is_integer:
        return value_of(call.g.negate(call.tensor(0)), call.element())
    x = call.wide(0)
    return result(call, call.g.binary("SUB", lower.number(call.g, 0, x), x))


def sign(call: Call) -> Value:
    """NaN stays NaN."""
    g = call.g
    x = call.wide(0) if call.element().is_integer else call.tensor(0)
    zero, one, minus = (lower.number(g, n, x) for n in (0, 1, -1))
    below = lower.chosen(g, _less(g, x, zero), minus, x)
    return result(call, lower.chosen(g, lower.compared(g, "GREATER", x, zero), one, below))


def rounded(call: Call) -> Value:
    """Halves go to the even neighbour."""
    return value_of(to_even(call.g, call.tensor(0)), call.element())


def to_even(g: Writer, x: Tensor) -> Tensor:
    """floor(x + 1/2), one less where a half went up to an odd number."""
    up = g.unary("FLOOR", lower.plus(g, x, 0.5))
    half = lower.compared(g, "EQUAL", g.binary("SUB", up, x), lower.number(g, 0.5, x))
    even = lower.times(g, g.unary("FLOOR", lower.times(g, up, 0.5)), 2.0)
    odd = g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", even, up))
    near = lower.chosen(g, lower.compared(g, "LOGICAL_AND", half, odd), lower.plus(g, up, -1.0), up)
    large = lower.compared(g, "GREATER", g.unary("ABS", x), lower.number(g, float(1 << 22), x))
    return lower.chosen(g, large, x, near)


def is_nan(call: Call) -> Value:
    x = call.tensor(0)
    return value_of(call.g.unary("LOGICAL_NOT", lower.compared(call.g, "EQUAL", x, x)))


def is_infinite(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    above, below = bool(call.attribute("detect_positive", 1)), bool(call.attribute("detect_negative", 1))
    if above and below:
        return value_of(lower.compared(g, "EQUAL", g.unary("ABS", x), lower.number(g, math.inf, x)))
    if not above and not below:
        return value_of(g.const(np.zeros(shape_of(x)), types.bool_))
    return value_of(lower.compared(g, "EQUAL", x, lower.number(g, math.inf if above else -math.inf, x)))


def where(call: Call) -> Value:
    condition, yes, no = call.operands(call.tensor(0), call.tensor(1), call.tensor(2))
    return value_of(lower.chosen(call.g, condition, yes, no), call.element(1))


def clip(call: Call) -> Value:
    """Limits that are missing are the type's own. CLAMP takes no i32."""
    g, element = call.g, call.element()
    x = call.wide(0) if element.is_integer else call.tensor(0)
    least, most = _limit(call, "min", 1), _limit(call, "max", 2)
    if not element.is_integer and not isinstance(least, Tensor) and not isinstance(most, Tensor):
        low, high = (-FLOAT_MAX if least is None else least), (FLOAT_MAX if most is None else most)
        if low <= high:
            return result(call, g.clamp(x, low, high))
    for op, limit in (("MAXIMUM", least), ("MINIMUM", most)):
        if isinstance(limit, Tensor):
            x = g.binary(op, *call.operands(x, limit))
        elif limit is not None:
            x = g.binary(op, x, lower.number(g, limit, x))
    return result(call, x)


def _limit(call: Call, name: str, index: int) -> float | Tensor | None:
    if name in call.attributes:
        return float(call.attributes[name])
    if not call.has(index):
        return None
    value = call.value(index)
    if value.data is not None and value.data.size == 1:
        return float(value.data.reshape(-1)[0])
    return call.wide(index) if value.element.is_integer else call.tensor(index)


def cast(call: Call) -> Value:
    """CAST; floats lose their fraction on the way to integers, any number but 0 is true."""
    wanted = call.element(1) if call.op == "CastLike" else call.element_of(call.attributes["to"])
    return converted(call, call.value(0), wanted)


def converted(call: Call, value: Value, wanted: Element) -> Value:
    g, given = call.g, value.element
    if value.data is not None:
        return Value(wanted, value.shape, value.data.astype(wanted.storage))
    if wanted is DOUBLE:
        wanted = FLOAT
    if wanted.carrier is None:
        raise Unsupported(f"a cast to {wanted}, for which TOSA has no number format")
    x = g.tensor_of(value)
    if given is wanted:
        return value
    if wanted is BOOL:
        return value_of(g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", x, lower.number(g, 0, x))))
    if given is BOOL:
        rank = len(shape_of(x))
        one = g.scalar(1, wanted.carrier, rank)
        return value_of(lower.chosen(g, x, one, g.scalar(0, wanted.carrier, rank)), wanted)
    if given.is_float and wanted.is_integer:
        whole = call.cast(truncated(g, call.cast(x, types.fp32)), types.i32)
        return call.wrapped(whole, wanted)
    if given.is_integer and wanted.is_integer:
        return call.wrapped(call.cast(x, types.i32), wanted)
    if given.is_integer:
        x = call.cast(x, types.i32) if x.dtype is not types.i8 and x.dtype is not types.i16 else x
        return value_of(call.cast(call.cast(x, types.fp32), wanted.carrier), wanted)
    narrow = {types.fp8e4m3: 448.0, types.fp8e5m2: 57344.0}
    x = call.cast(x, types.fp32) if x.dtype in narrow and wanted.carrier in narrow else x
    if wanted.carrier in narrow and call.attribute("saturate", 1):
        x = g.clamp(x, -narrow[wanted.carrier], narrow[wanted.carrier])
    return value_of(call.cast(x, wanted.carrier), wanted)


def same(call: Call) -> Sequence[Any]:
    """The input as it is. Dropout in inference, or of nothing: the mask is all true."""
    training = call.version >= 12 and call.has(2) and bool(call.scalar(2, "training_mode"))
    if training and (not call.has(1) or call.scalar(1, "the ratio")):
        raise Unsupported("dropping values in training takes random numbers")
    mask = Value(BOOL, call.shape(0), np.ones(call.shape(0), bool)) if len(call.outputs) > 1 else None
    return [call.value(0), mask] if mask is not None else [call.value(0)]


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "Abs": absolute,
    "Acos": by(lower.acos),
    "Acosh": by(lower.acosh),
    "Add": arithmetic("ADD"),
    "And": logic("LOGICAL_AND"),
    "Asin": by(lower.asin),
    "Asinh": by(lower.asinh),
    "Atan": by(lower.atan),
    "Atanh": by(lower.atanh),
    "Cast": cast,
    "CastLike": cast,
    "Ceil": one_by_one("CEIL"),
    "Clip": clip,
    "Cos": one_by_one("COS"),
    "Cosh": by(lower.cosh),
    "Div": divide,
    "Dropout": same,
    "Equal": compare("EQUAL"),
    "Erf": one_by_one("ERF"),
    "Exp": one_by_one("EXP"),
    "Floor": one_by_one("FLOOR"),
    "Greater": compare("GREATER"),
    "GreaterOrEqual": compare("GREATER_EQUAL"),
    "Identity": same,
    "IsInf": is_infinite,
    "IsNaN": is_nan,
    "Less": compare("GREATER", swapped=True),
    "LessOrEqual": compare("GREATER_EQUAL", swapped=True),
    "Log": one_by_one("LOG"),
    "Max": fold_left("MAXIMUM"),
    "Mean": average,
    "Min": fold_left("MINIMUM"),
    "Mod": remainder,
    "Mul": arithmetic("MUL"),
    "Neg": negate,
    "Not": one_by_one("LOGICAL_NOT"),
    "Or": logic("LOGICAL_OR"),
    "Reciprocal": one_by_one("RECIPROCAL"),
    "Round": rounded,
    "Sign": sign,
    "Sin": one_by_one("SIN"),
    "Sinh": by(lower.sinh),
    "Sqrt": by(lower.root),
    "Sub": arithmetic("SUB"),
    "Sum": fold_left("ADD"),
    "Tan": by(lower.tan),
    "Where": where,
    "Xor": logic("LOGICAL_XOR"),
}
