"""Numbers of an operator that conditions compare: sizes and attributes by the specification's names, and more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Operator, Tensor
    from ..spec import Call
    from ..types import Shape


@dataclass(frozen=True)
class Place:
    """An operator in its block: who makes its inputs, and who reads its outputs."""

    call: Call
    producers: Mapping[str, Operator]
    consumers: Mapping[str, Sequence[Operator]]

    def tensor(self, argument: str) -> Tensor | None:
        found = self.call.tensors.get(argument)
        return found[0] if isinstance(found, list) and found else None if isinstance(found, list) else found

    def format_of(self, argument: str) -> str | None:
        tensor = self.tensor(argument)
        return None if tensor is None else tensor.dtype.name

    def is_constant(self, argument: str) -> bool | None:
        tensor = self.tensor(argument)
        return None if tensor is None else tensor.data is not None

    def attribute(self, name: str) -> Any:
        return self.call.operator.attributes.get(name)

    @property
    def first(self) -> Shape:
        """The shape of the first argument."""
        tensor = self.tensor(self.call.spec.inputs[0].name) if self.call.spec.inputs else None
        return () if tensor is None or tensor.shape is None else tensor.shape


def number(place: Place, name: str) -> int | None:
    """A number by its name; None where the operator has none of it."""
    if name in DERIVED:
        return DERIVED[name](place)
    value = place.call.names.get(name)
    return int(value) if isinstance(value, (bool, int)) else None


def _padded(place: Place) -> int:
    return int(any(place.attribute("pad") or ()))


def _from_end(place: Place) -> int | None:
    axis = place.attribute("axis")
    return None if axis is None else len(place.first) - axis


def _extent(place: Place) -> int | None:
    axis = place.attribute("axis")
    return None if axis is None or not 0 <= axis < len(place.first) else place.first[axis]


def _rescaled(place: Place) -> int:
    readers = [op for name in place.call.operator.outputs for op in place.consumers.get(name, ())]
    return int(bool(readers) and all(op.op == "RESCALE" for op in readers))


def _sums(place: Place) -> int:
    made = place.producers.get(place.call.operator.inputs[0]) if place.call.operator.inputs else None
    return int(made is not None and made.op in ("CONV2D", "DEPTHWISE_CONV2D"))


def _upscale(place: Place) -> int | None:
    """Of a RESIZE whose outputs are each input, repeated: how often along both axes; 0 for any other one.

    The centres of pixels may lie on each other (n outputs for each input), or those of the corners (n - 1 between two).
    """
    names = place.call.names
    if not {"scale_y_n", "IH", "OH"} <= names.keys():
        return None
    if names["IH"] == names["IW"] == 1:
        return 1
    found = {_along(names, *axis) for axis in (("y", "IH", "OH"), ("x", "IW", "OW"))}
    return found.pop() if len(found) == 1 else 0


def _along(names: Mapping[str, Any], axis: str, inputs: str, outputs: str) -> int:
    n, d, offset = (names[one] for one in (f"scale_{axis}_n", f"scale_{axis}_d", f"offset_{axis}"))
    if n % d:
        return 0
    times = n // d
    corners = offset == 0 and names[outputs] == (names[inputs] - 1) * times + 1
    centres = 2 * offset == -(n - d) and names[outputs] == names[inputs] * times
    return times if corners or centres else 0


DERIVED: Final[Mapping[str, Callable[[Place], int | None]]] = {
    "rank": lambda place: len(place.first),
    "samples": lambda place: math.prod(place.first[:-3]),
    "pixels": lambda place: math.prod(place.first[-3:-1]),
    "largest": lambda place: max(place.first, default=1),
    "padded": _padded,
    "from_end": _from_end,
    "extent": _extent,
    "rescaled": _rescaled,
    "sums": _sums,
    "upscale": _upscale,
}
