"""Bits, comparisons and selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....lower import integers
from ....lower.elementary import chosen, compared, number
from ....lower.views import shape_of
from ....lower.wrapping import in_order
from ..elements import BOOL, U32, is_wide
from ..module import word
from ..values import known
from .floats import is_small

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..elements import Element
    from ..values import Value

BITS: Final = {"and": "AND", "or": "OR", "xor": "XOR"}
DECIDES: Final = {"and": False, "or": True}  # what the other operand changes nothing of


def bits(call: Call) -> Value:
    element = call.inputs[0].element
    if element is BOOL and call.name in DECIDES and any(_is_all(one, DECIDES[call.name]) for one in call.inputs):
        return _all(call, DECIDES[call.name])
    x, y = call.operands()
    shape = tuple(max(m, n) for m, n in zip(shape_of(x), shape_of(y), strict=True))
    kind = "LOGICAL" if element is BOOL else "BITWISE"
    return call.elementwise(call.g.operator(f"{kind}_{BITS[call.name]}", [x, y], shape))


def _is_all(value: Value, truth: bool) -> bool:
    return value.data is not None and bool((value.data == truth).all())


def _all(call: Call, truth: bool) -> Value:
    return known(BOOL, np.broadcast_to(np.asarray(truth), call.spread_shape()))


def inverted(call: Call) -> Value:
    element, g = call.inputs[0].element, call.g
    x = call.lean(0)
    if element is BOOL:
        return call.elementwise(g.unary("LOGICAL_NOT", x))
    if not element.is_signed and is_wide(element):
        call.narrow(types.i32.minimum, 0, element)
    if not element.is_signed and element is not U32:
        wide = call.wide(x)
        found = g.operator("BITWISE_XOR", [wide, number(g, element.maximum, wide)], shape_of(x))
        return call.elementwise(call.cast(found, element.carrier))
    return call.elementwise(g.unary("BITWISE_NOT", x))


def shift(call: Call) -> Value:
    """By the width of the type and more nothing is left, or the sign."""
    element, g = call.inputs[0].element, call.g
    x, amount = (call.wide(t) for t in call.operands())
    if call.name == "shift_left":
        if is_wide(element):
            low, high = g.reach(x)
            most = min(max(g.reach(amount)[1], 0), 63)
            call.narrow(min(low << most, low), max(high << most, high), element)
        found = integers.shifted_left(g, x, amount)
    elif call.name == "shift_right_logical":
        if element.is_signed and element.bits < types.i32.bits:
            x = g.operator("BITWISE_AND", [x, number(g, element.maximum - element.minimum, x)], shape_of(x))
        elif is_wide(element):
            call.narrow(g.reach(x)[0] if g.reach(x)[0] >= 0 else types.i32.minimum - 1, 0, element)
        found = integers.shifted_right(g, x, amount, signed=False)
    else:
        if not element.is_signed and element.bits < types.i32.bits:
            x = call.wide(_signed(call, x, element))
        found = integers.shifted_right(g, x, amount, signed=True)
    return call.elementwise(call.wrapped(found, element))


def _signed(call: Call, x: Tensor, element: Element) -> Tensor:
    """A number without sign as one whose highest bit is the sign."""
    sign = number(call.g, (element.maximum + 1) // 2, x)
    return call.g.binary("SUB", call.g.operator("BITWISE_XOR", [x, sign], shape_of(x)), sign)


def leading_zeros(call: Call) -> Value:
    element, g = call.inputs[0].element, call.g
    x = _word(call, element)
    found = g.unary("CLZ", x)
    extra = element.bits - types.i32.bits
    if extra:
        more = number(g, extra, found)
        if is_wide(element) and g.reach(x)[0] < 0:  # the upper half of a negative number has ones only
            more = chosen(g, compared(g, "GREATER", number(g, 0, x), x), number(g, 0, x), more)
        found = g.binary("ADD", found, more)
    return call.elementwise(call.cast(found, element.carrier))


def _word(call: Call, element: Element) -> Tensor:
    """The bits of an integer, with zeros above; of 64 bits the lower half."""
    g, x = call.g, call.wide(call.lean(0))
    if element.is_signed and element.bits < types.i32.bits:
        x = g.operator("BITWISE_AND", [x, number(g, element.maximum - element.minimum, x)], shape_of(x))
    return x


def population(call: Call) -> Value:
    """The number of bits that are set: of neighbouring fields of 1, 2, 4, 8 bits and of both halves."""
    element, g = call.inputs[0].element, call.g
    x = _word(call, element)
    low = g.operator("BITWISE_AND", [x, number(g, 0xFFFF, x)], shape_of(x))
    high = g.operator("LOGICAL_RIGHT_SHIFT", [x, number(g, 16, x)], shape_of(x))
    total = g.binary("ADD", _of_half(call, low), _of_half(call, high))
    if is_wide(element) and g.reach(x)[0] < 0:  # the upper half has as many again
        minus = compared(g, "GREATER", number(g, 0, x), x)
        total = g.binary("ADD", total, chosen(g, minus, number(g, types.i32.bits, x), number(g, 0, x)))
    return call.elementwise(call.cast(total, element.carrier))


def _of_half(call: Call, x: Tensor) -> Tensor:
    g = call.g
    for step, mask in ((1, 0x5555), (2, 0x3333), (4, 0x0F0F), (8, 0x00FF)):
        upper = g.operator("LOGICAL_RIGHT_SHIFT", [x, number(g, step, x)], shape_of(x))
        parts = [g.operator("BITWISE_AND", [t, number(g, mask, t)], shape_of(t)) for t in (x, upper)]
        x = g.binary("ADD", *parts)
    return x


def compare(call: Call) -> Value:
    """IEEE for floats, unless a total order is asked for: there -0 is below 0 and NaN above everything.

    The sign of a NaN isn't to be seen in TOSA: all of them are above infinity.
    """
    element = call.inputs[0].element
    direction = word(call.attribute("comparison_direction"))
    decided = _decided(call, direction) if is_wide(element) else None
    if decided is not None:
        return _all(call, decided)
    x, y = call.operands()
    kind = call.attribute("compare_type")
    if element.is_float:
        x, y = ((call.cast(t, types.fp32) if is_small(element) else t) for t in (x, y))
        if kind is not None and word(kind) == "TOTALORDER":
            return call.elementwise(_total(call, direction, x, y), BOOL)
    else:
        x, y = (_ordered(call, t, element, direction) for t in (x, y))
    return call.elementwise(_direction(call, direction, x, y), BOOL)


def _decided(call: Call, direction: str) -> bool | None:
    """A comparison of 64-bit integers, which are within int32, with numbers that are all beyond it on one side."""
    for (one, other), less in ((call.inputs, True), (call.inputs[::-1], False)):
        if other.data is None or one.data is not None:
            continue
        above = bool((other.data > types.i32.maximum).all())
        if above or (other.data < types.i32.minimum).all():
            return direction == "NE" or ((direction in ("LT", "LE")) == (above == less) and direction != "EQ")
    return None


def _ordered(call: Call, x: Tensor, element: Element, direction: str) -> Tensor:
    x = call.wide(x)
    if element is U32 and direction not in ("EQ", "NE"):
        return in_order(call.g, x)
    return x


def _direction(call: Call, direction: str, x: Tensor, y: Tensor) -> Tensor:
    g = call.g
    if direction in ("EQ", "NE"):
        same = compared(g, "EQUAL", x, y)
        return same if direction == "EQ" else g.unary("LOGICAL_NOT", same)
    if direction in ("LT", "LE"):
        x, y = y, x
    return compared(g, "GREATER" if direction in ("LT", "GT") else "GREATER_EQUAL", x, y)


def _total(call: Call, direction: str, x: Tensor, y: Tensor) -> Tensor:
    g = call.g
    if direction in ("GT", "LE"):  # x > y is y < x
        less, flipped = _below(call, y, x), direction == "LE"
    elif direction in ("LT", "GE"):
        less, flipped = _below(call, x, y), direction == "GE"
    else:
        either = compared(g, "LOGICAL_OR", _below(call, x, y), _below(call, y, x))
        less, flipped = either, direction == "EQ"
    return g.unary("LOGICAL_NOT", less) if flipped else less


def _below(call: Call, x: Tensor, y: Tensor) -> Tensor:
    g = call.g
    ours, theirs = compared(g, "EQUAL", x, x), compared(g, "EQUAL", y, y)  # whether they are numbers
    last = compared(g, "LOGICAL_AND", ours, g.unary("LOGICAL_NOT", theirs))
    none = compared(g, "LOGICAL_AND", compared(g, "EQUAL", x, number(g, 0.0, x)), compared(g, "EQUAL", x, y))
    signs = [compared(g, "GREATER", g.unary("RECIPROCAL", t), number(g, 0.0, t)) for t in (x, y)]
    zeros = compared(g, "LOGICAL_AND", none, compared(g, "LOGICAL_AND", g.unary("LOGICAL_NOT", signs[0]), signs[1]))
    below = compared(g, "LOGICAL_OR", compared(g, "GREATER", y, x), zeros)
    return compared(g, "LOGICAL_OR", below, last)


def select(call: Call) -> Value:
    for truth, taken in ((True, 1), (False, 2)):
        if _is_all(call.inputs[0], truth) and not call.inputs[taken].is_known:
            return call.elementwise(call.level(*(call.lean(i) for i in (0, taken)))[1], call.inputs[taken].element)
    test, yes, no = call.operands()
    if yes.dtype.is_float and is_small(call.inputs[1].element):
        wide = [call.cast(t, types.fp32) for t in (yes, no)]
        return call.elementwise(call.cast(chosen(call.g, test, *wide), yes.dtype), call.inputs[1].element)
    return call.elementwise(chosen(call.g, test, yes, no), call.inputs[1].element)


OPERATORS: Final[Mapping[str, Callable[[Call], Value]]] = {
    "and": bits, "compare": compare, "count_leading_zeros": leading_zeros, "not": inverted, "or": bits,
    "popcnt": population, "select": select, "shift_left": shift, "shift_right_arithmetic": shift,
    "shift_right_logical": shift, "xor": bits,
}  # fmt: skip
