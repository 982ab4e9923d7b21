"""The bodies of reduce, scatter, sort and their like: known ones by their operator, all others element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ....errors import Unsupported
from ....lower.views import shape_of
from ..values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....types import Array
    from ..call import Call
    from ..elements import Element
    from ..module import Body

SIMPLE: Final = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def simple(body: Body) -> str | None:
    """The name of the one operation that a body applies to its two arguments."""
    if len(body.operations) != 2 or len(body.arguments) != 2:
        return None
    first, last = body.operations
    if sorted(first.operands) != sorted(number for number, _ in body.arguments):
        return None
    name = first.name.partition(".")[2]
    made = [number for number, _ in first.results]
    return name if name in SIMPLE and last.operands == made else None


def takes(body: Body) -> int | None:
    """The argument that a body gives back, if it does nothing else."""
    arguments = [number for number, _ in body.arguments]
    if len(body.operations) != 1 or len(body.results) != 1 or body.results[0] not in arguments:
        return None
    return arguments.index(body.results[0])


def applied(call: Call, body: Body, given: Sequence[Value]) -> list[Value]:
    """A body of scalars, computed for all elements of arrays of one rank at once."""
    found = call.scope.inner(call.name, pointwise=True).run(body, given)
    shape = tuple(int(n) for n in np.broadcast_shapes(*(value.shape for value in given)))
    return [_spread(call, value, shape) for value in found]


def _spread(call: Call, value: Value, shape: tuple[int, ...]) -> Value:
    """What a body gives of constants alone has no axes yet."""
    if value.shape == shape:
        return value
    if value.data is not None:
        return Value(value.element, shape, np.broadcast_to(value.data, shape))
    if value.tensor is None:
        raise Unsupported("a body that gives a tuple")
    tensor = call.g.lean(value)
    if len(shape_of(tensor)) != len(shape):
        tensor = call.g.reshape(tensor, (1,) * len(shape))
    return Value(value.element, shape, None, tensor)


def identity(name: str, element: Element) -> Array | None:
    """What a simple body leaves alone."""
    if element.is_float:
        ends = {"maximum": -np.inf, "minimum": np.inf}
    else:
        ends = {"maximum": element.minimum, "minimum": element.maximum}
    minus = element.maximum if not element.is_signed else -1
    found = {"add": 0, "multiply": 1, "or": 0, "xor": 0, "and": minus, **ends}.get(name)
    return None if found is None else np.asarray(found).astype(element.storage)


def is_identity(name: str, value: Value) -> bool:
    """Whether an initial value changes nothing; of floats -0 is what a sum leaves alone, too."""
    wanted = identity(name, value.element)
    if value.data is None or wanted is None or not value.data.size:
        return False
    return bool((np.asarray(value.data) == wanted).all())
