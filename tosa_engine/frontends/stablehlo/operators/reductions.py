"""reduce with any body, and map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.reductions import place_of_extreme, reduced
from ....lower.views import shape_of
from ....lower.wrapping import in_order, wrapped_total
from ....types import count
from ..elements import U32, Element
from ..values import Value
from .bodies import applied, is_identity, simple
from .floats import in_fp32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..call import Call
    from ..module import Body

REDUCTIONS: Final = {
    "add": "REDUCE_SUM",
    "multiply": "REDUCE_PRODUCT",
    "maximum": "REDUCE_MAX",
    "minimum": "REDUCE_MIN",
}
OF_BOOL: Final = {
    "add": "REDUCE_ANY", "or": "REDUCE_ANY", "maximum": "REDUCE_ANY", "multiply": "REDUCE_ALL", "and": "REDUCE_ALL",
    "minimum": "REDUCE_ALL",
}  # fmt: skip
LONGEST: Final = 1 << 15  # elements of a sum that is made of halves
DECIDING: Final = frozenset(("compare", "select", "and", "or", "not", "return"))


def reduce(call: Call) -> list[Value]:
    """The operands' elements along `dimensions`, brought together by the body, and with the initial values."""
    body, axes = call.operation.regions[0], call.integers("dimensions")
    half = len(call.inputs) // 2
    operands, initial = call.inputs[:half], call.inputs[half:]
    if any(0 in value.shape for value in operands):
        return [
            Value(i.element, k.shape, _repeated(i, k.shape), None) for i, k in zip(initial, call.kinds, strict=True)
        ]
    found = _whole(call, body, operands, initial, axes)
    if found is not None:
        return found
    name = simple(body)
    kept = [_by_operator(call, name, operands[0], axes)] if name is not None and half == 1 else None
    if kept is None or kept[0] is None:
        kept = list(along(call, body, operands, axes))
    results = [value for value in kept if value is not None]
    if not (name is not None and half == 1 and is_identity(name, initial[0])):
        results = applied(call, body, [*initial, *results])
    return [_without(call, value, kind.shape) for value, kind in zip(results, call.kinds, strict=True)]


def _repeated(initial: Value, shape: tuple[int, ...]) -> np.ndarray:
    if initial.data is None:
        raise Unsupported("nothing is reduced to a value that depends on data")
    return np.broadcast_to(initial.data, shape)


def _without(call: Call, value: Value, shape: tuple[int, ...]) -> Value:
    """The axes that were reduced go."""
    return Value(value.element, shape, None, call.g.reshape(call.g.full(value), shape))


def _by_operator(call: Call, name: str, value: Value, axes: Sequence[int]) -> Value | None:
    """One of TOSA's reductions; None where it has none."""
    element, g = value.element, call.g
    x = g.full(value)
    if element.is_bool:
        if name not in OF_BOOL:
            return None
        found = reduced(g, OF_BOOL[name], x, axes)
    elif element.is_float:
        if name not in REDUCTIONS:
            return None
        exact = name in ("maximum", "minimum")
        found = in_fp32(call, lambda t: reduced(g, REDUCTIONS[name], t, axes), x, small=exact)
    elif name == "add":
        found = call.wrapped(total(call, call.wide(x), axes, element), element)
    elif name in ("maximum", "minimum"):
        found = _extreme(call, name, x, axes, element)
    else:
        return None
    return Value(element, shape_of(found), None, found)


def total(call: Call, x: Tensor, axes: Sequence[int], element: Element) -> Tensor:
    """A sum in i32: modulo 2^32 where it isn't proved to fit."""
    g = call.g
    for axis in axes:
        size = shape_of(x)[axis]
        low, high = (end * size for end in g.reach(x))
        call.narrow(low, high, element)
        if types.i32.minimum <= low and high <= types.i32.maximum:
            x = g.reduce("REDUCE_SUM", x, axis)
        elif size <= LONGEST:
            x = wrapped_total(g, x, axis)
        else:
            raise Unsupported(f"a sum of {size} integers that may leave int32; at most {LONGEST} are done in halves")
    return x


def _extreme(call: Call, name: str, x: Tensor, axes: Sequence[int], element: Element) -> Tensor:
    g = call.g
    if element is U32 and g.reach(x)[0] < 0:
        return in_order(g, reduced(g, REDUCTIONS[name], in_order(g, x), axes))
    return reduced(g, REDUCTIONS[name], x, axes)


def along(call: Call, body: Body, operands: Sequence[Value], axes: Sequence[int]) -> list[Value]:
    """The body over halves of the axes, until one element is left: axes of extent 1 stay."""
    g, rank = call.g, len(operands[0].shape)
    kept = [i for i in range(rank) if i not in axes]
    shape = operands[0].shape
    size = count(tuple(shape[a] for a in axes))
    rows = tuple(shape[a] for a in kept)
    flat = [
        Value(v.element, (*rows, size), None, g.reshape(g.transpose(g.full(v), [*kept, *sorted(axes)]), (*rows, size)))
        for v in operands
    ]
    while flat[0].shape[-1] > 1:
        flat = _halved(call, body, flat)
    wanted = tuple(1 if i in axes else n for i, n in enumerate(shape))
    return [Value(v.element, wanted, None, g.reshape(g.full(v), wanted)) for v in flat]


def _halved(call: Call, body: Body, values: Sequence[Value]) -> list[Value]:
    g, axis = call.g, len(values[0].shape) - 1
    size = values[0].shape[-1]
    half = size // 2
    parts = [[part(call, v, axis, start, half) for v in values] for start in (0, half)]
    found = applied(call, body, [*parts[0], *parts[1]])
    if size % 2 == 0:
        return found
    rest = [part(call, v, axis, size - 1, 1) for v in values]
    joined = [g.concat([g.full(a), g.full(b)], axis) for a, b in zip(found, rest, strict=True)]
    return [Value(v.element, shape_of(t), None, t) for v, t in zip(values, joined, strict=True)]


def part(call: Call, value: Value, axis: int, start: int, size: int) -> Value:
    x = call.g.section(call.g.full(value), axis, start, size)
    return Value(value.element, shape_of(x), None, x)


def _whole(
    call: Call, body: Body, operands: Sequence[Value], initial: Sequence[Value], axes: Sequence[int]
) -> list[Value] | None:
    """ARGMAX, where the body keeps the larger (or lesser) of two elements with its place, and places are counted."""
    if len(operands) != 2 or len(axes) != 1 or operands[1].data is None or not operands[1].element.is_integer:
        return None
    value, axis = operands[0], axes[0]
    line = np.arange(value.shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(value.shape))])
    exact = value.element.carrier in (types.i8, types.i16, types.fp16, types.fp32)
    if not exact or not (operands[1].data == line).all():
        return None
    name = next(
        (one for one in ("maximum", "minimum") if _keeps(call, body, value.element, operands[1].element, one)), None
    )
    if name is None or not is_identity(name, initial[0]):
        return None
    if value.element.is_integer and name == "minimum":
        return None  # the negative of the least integer is itself
    x = call.g.full(value)
    places = place_of_extreme(call.g, x, axes, least=name == "minimum")
    most = call.g.reduce(REDUCTIONS[name], x, axis)
    found = [Value(value.element, value.shape, None, most), Value(operands[1].element, value.shape, None, places)]
    found[1].tensor = call.cast(places, operands[1].element.carrier)
    return [_reshaped(call, v, kind.shape) for v, kind in zip(found, call.kinds, strict=True)]


def _reshaped(call: Call, value: Value, shape: tuple[int, ...]) -> Value:
    assert value.tensor is not None
    return Value(value.element, shape, None, call.g.reshape(value.tensor, shape))


def _keeps(call: Call, body: Body, element: Element, place: Element, name: str) -> bool:
    """Whether a body keeps the extreme with the lesser place: of operations that only decide, all cases are tried."""
    if any(op.name.partition(".")[2] not in DECIDING for op in body.operations) or len(body.arguments) != 4:
        return False
    cases = [-np.inf, -1.0, 0.0, 1.0, np.inf, np.nan] if element.is_float else [-2, -1, 0, 1, 2]
    grid = np.meshgrid(np.arange(len(cases)), [0, 1, 2], np.arange(len(cases)), [0, 1, 2], indexing="ij")
    x, y = (np.asarray(cases)[grid[i].reshape(-1)].astype(element.storage) for i in (0, 2))
    i, j = (grid[k].reshape(-1).astype(place.storage) for k in (1, 3))
    given = [Value(e, a.shape, a) for e, a in ((element, x), (place, i), (element, y), (place, j))]
    found = applied(call, body, given)
    if any(value.data is None for value in found):
        return False
    first = x > y if name == "maximum" else x < y
    first = (first | np.isnan(x)) if element.is_float else first
    second = (y > x if name == "maximum" else y < x) | (np.isnan(y) if element.is_float else False)
    both = first & second if element.is_float else np.zeros_like(first)
    same = (x == y) | both
    wanted = np.where(same, np.minimum(i, j), np.where(first, i, j))
    tried = (i != j) & ~(both & (i > j))  # of two NaNs the one that comes first is kept, whatever is said of its place
    return bool((np.asarray(found[1].data)[tried] == wanted[tried]).all())


def mapped(call: Call) -> list[Value]:
    """The body for all elements at once."""
    return applied(call, call.operation.regions[0], call.inputs)


OPERATORS: Final[Mapping[str, Callable[[Call], list[Value]]]] = {"map": mapped, "reduce": reduce}
