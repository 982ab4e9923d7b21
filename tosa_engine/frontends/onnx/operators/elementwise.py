"""Arithmetic, comparisons, logic and selection, element by element.

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
from ....lower.views import shape_of
from ....lower.writer import FLOAT_MAX
from ..elements import BOOL
from ..values import Value, known
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


def result(call: Call, x: Tensor, *, fits: bool = False) -> Value:
    """A result of the first input's type; integers come as i32, which holds every result where it `fits`."""
    element = call.element()
    return call.wrapped(x, element, fits=fits) if element.is_integer else value_of(x, element)


def arithmetic(op: str) -> Callable[[Call], Value]:
    return lambda call: result(call, call.g.binary(op, *numbers(call, 0, 1)))


def difference(call: Call) -> Value:
    if call.element().is_integer and call.value(0) is call.value(1):
        return known(np.zeros(call.shape(0), call.element().storage))
    return arithmetic("SUB")(call)


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


def less(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    return lower.compared(g, "GREATER", y, x)


def sign(call: Call) -> Value:
    """NaN stays NaN."""
    g = call.g
    x = call.wide(0) if call.element().is_integer else call.tensor(0)
    zero, one, minus = (lower.number(g, n, x) for n in (0, 1, -1))
    below = lower.chosen(g, less(g, x, zero), minus, x)
    return result(call, lower.chosen(g, lower.compared(g, "GREATER", x, zero), one, below))


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
    "Mul": arithmetic("MUL"),
    "Neg": negate,
    "Not": one_by_one("LOGICAL_NOT"),
    "Or": logic("LOGICAL_OR"),
    "Reciprocal": one_by_one("RECIPROCAL"),
    "Sign": sign,
    "Sin": one_by_one("SIN"),
    "Sinh": by(lower.sinh),
    "Sqrt": by(lower.root),
    "Sub": difference,
    "Sum": fold_left("ADD"),
    "Tan": by(lower.tan),
    "Where": where,
    "Xor": logic("LOGICAL_XOR"),
}
