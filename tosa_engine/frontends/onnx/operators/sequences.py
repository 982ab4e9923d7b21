"""Sequences and optional values, which are decided when the model is read: what is in them may be data, how many may
not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....errors import GraphError, Unsupported
from ....lower.layout import split, stacked
from ..elements import FLOAT, Element
from ..values import Value, known
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..call import Call


def _sequence(items: Sequence[Value], element: Element) -> Value:
    return Value(element, (), items=tuple(items))


def _items(call: Call, index: int = 0) -> list[Value]:
    value = call.value(index)
    if value.items is None:
        raise GraphError(f"input {index} is no sequence")
    return list(value.items)


def _place(call: Call, index: int, count: int) -> int:
    """A place that may count from the end; `count` of them there are. Raises GraphError."""
    place = call.integers(index, "the place")[0]
    if not -count <= place < count:
        raise GraphError(f"place {place} of {count}")
    return place % count


def construct(call: Call) -> Value:
    return _sequence(call.values(), call.element())


def empty(call: Call) -> Value:
    code = call.attribute("dtype")
    return _sequence((), call.element_of(code) if code else FLOAT)


def at(call: Call) -> Value:
    items = _items(call)
    return items[_place(call, 1, len(items))]


def insert(call: Call) -> Value:
    items = _items(call)
    place = call.integers(2, "the place")[0] if call.has(2) else len(items)
    if not -len(items) <= place <= len(items):
        raise GraphError(f"place {place} of {len(items)}")
    place = place + len(items) if place < 0 else place
    return _sequence([*items[:place], call.value(1), *items[place:]], call.element(1))


def erase(call: Call) -> Value:
    items = _items(call)
    del items[_place(call, 1, len(items)) if call.has(1) else len(items) - 1]
    return _sequence(items, call.element())


def concat(call: Call) -> Any:
    items, new = _items(call), bool(call.attribute("new_axis", 0))
    if not items:
        raise Unsupported("the concatenation of nothing")
    rank = len(items[0].shape) + new
    axis = call.axis(call.attributes["axis"], rank)
    if all(item.is_known for item in items):
        return (np.stack if new else np.concatenate)([item.data for item in items if item.data is not None], axis)
    tensors = [call.g.tensor_of(item) for item in items]
    found = stacked(call.g, tensors, axis) if new else call.g.concat(tensors, axis)
    return value_of(found, items[0].element)


def split_to(call: Call) -> Value:
    """Parts of the sizes that are given, or all of one size but perhaps the last; without one, elements."""
    x, shape = call.value(0), call.shape(0)
    axis = call.axis(call.attribute("axis", 0), len(shape))
    extent = shape[axis]
    given = call.integers(1, "the sizes") if call.has(1) else [1]
    if call.has(1) and call.shape(1):
        sizes = given
    else:
        sizes = [min(given[0], extent - start) for start in range(0, extent, given[0])]
    if sum(sizes) != extent or min(sizes, default=0) < 1:
        raise Unsupported(f"parts of {sizes} of an axis of {extent}")
    away = not call.has(1) and not call.attribute("keepdims", 1)
    inner = shape[:axis] + shape[axis + 1 :]
    if x.data is not None:
        parts = np.split(x.data, np.cumsum(sizes)[:-1], axis)
        return _sequence([known(one.reshape(inner) if away else one) for one in parts], x.element)
    tensors = split(call.g, call.tensor(0), axis, sizes)
    return _sequence([value_of(call.g.reshape(t, inner) if away else t, x.element) for t in tensors], x.element)


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "ConcatFromSequence": concat,
    "Optional": lambda call: call.value(0),
    "OptionalGetElement": lambda call: call.value(0),
    "OptionalHasElement": lambda call: np.array(call.has(0)),
    "SequenceAt": at,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": lambda call: np.array(len(_items(call)), np.int64),
    "SplitToSequence": split_to,
}
