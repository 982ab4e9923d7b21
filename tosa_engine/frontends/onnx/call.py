"""A node that is being mapped: its arguments, as operators ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ... import types
from ...errors import GraphError, Unsupported
from ...lower.elementary import number
from ...lower.views import shape_of
from .elements import BY_CODE, Element
from .narrowing import is_wide
from .values import Value
from .writer import OnnxWriter, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph import Tensor
    from ...types import Array, Shape


class Enclosing(Protocol):
    """Where a node stands: what knows the values around it."""

    def way_to(self, value: Value) -> str:
        """How a value comes from the model's inputs, in words."""
        ...

    def branch(self, graph: Any, inputs: Sequence[Value], name: str) -> list[Value]:
        """The outputs of a graph that is an attribute."""
        ...


class Call:
    """One node. `version` is that of the operator's schema which the model's operator set selects.

    Inputs are counted from 0; one that isn't given is None. `attributes` has the schema's defaults, too.
    """

    def __init__(
        self,
        g: OnnxWriter,
        op: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Any],
        version: int,
        outputs: Sequence[str],
        scope: Enclosing,
    ) -> None:
        self.g, self.op, self.inputs, self.attributes = g, op, inputs, attributes
        self.version, self.outputs, self.scope = version, outputs, scope

    # arguments

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        found = self.inputs[index] if index < len(self.inputs) else None
        if found is None:
            raise GraphError(f"input {index} is missing")
        return found

    def values(self) -> list[Value]:
        """All inputs, none of which may be missing."""
        return [self.value(index) for index in range(len(self.inputs))]

    def tensor(self, index: int) -> Tensor:
        return self.g.tensor_of(self.value(index))

    def shape(self, index: int) -> Shape:
        return self.value(index).shape

    def element(self, index: int = 0) -> Element:
        return self.value(index).element

    def known(self, index: int, what: str) -> Array:
        """The values of an input that must be known before the graph runs. Raises Unsupported, with their way here."""
        found = self.value(index)
        if found.data is None:
            way = self.scope.way_to(found)
            raise Unsupported(f"{what} must be known before the graph runs, but depends on data: {way}")
        return found.data

    def scalar(self, index: int, what: str) -> float:
        """The value of an input of one element. Raises GraphError, and as `known`."""
        found = self.known(index, what)
        if found.size != 1:
            raise GraphError(f"{what}: a single value, not {found.size}")
        number: float = found.reshape(-1)[0].item()
        return number

    def integers(self, index: int, what: str) -> list[int]:
        return [int(one) for one in self.known(index, what).reshape(-1)]

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def integers_of(self, name: str, index: int) -> list[int] | None:
        """What older versions have as an attribute and newer ones as an input; None where it isn't given."""
        if name in self.attributes:
            found = self.attributes[name]
            return [found] if isinstance(found, int) else list(found)
        return self.integers(index, f"'{name}'") if self.has(index) else None

    def axis(self, axis: int, rank: int) -> int:
        """An axis that may count from the end. Raises GraphError."""
        if not -rank <= axis < max(rank, 1):
            raise GraphError(f"axis {axis} isn't one of the {rank} axes")
        return axis % rank if rank else 0

    def axes(self, axes: Sequence[int], rank: int) -> list[int]:
        found = sorted({self.axis(axis, rank) for axis in axes})
        if len(found) != len(axes):
            raise GraphError(f"axes {list(axes)} aren't unique")
        return found

    # tensors

    def level(self, *given: Tensor) -> list[Tensor]:
        """Tensors of one rank: shapes of a lower rank have leading extents of 1."""
        rank = max(len(shape_of(t)) for t in given)
        return [self.g.reshape(t, (1,) * (rank - len(shape_of(t))) + shape_of(t)) for t in given]

    def operands(self, *given: Tensor) -> list[Tensor]:
        """Tensors of one rank that broadcast. Raises GraphError."""
        shapes = [shape_of(t) for t in given]
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            raise GraphError(f"shapes {' and '.join(str(list(s)) for s in shapes)} don't broadcast") from None
        return self.level(*given)

    def wide(self, index: int) -> Tensor:
        """Integers as i32, which TOSA computes with."""
        return self.cast(self.tensor(index), types.i32)

    def wrapped(self, x: Tensor, element: Element, *, fits: bool = False) -> Value:
        """Results in i32 as values of an integer type, modulo its range as numpy computes.

        Those of wider types have to be proved to be right, unless they are so for all operands (`fits`).
        """
        g = self.g
        if is_wide(element):
            if fits:
                g.bound(x, max(element.minimum, types.i32.minimum), types.i32.maximum)
            else:
                g.narrow(x, element)
        if element.carrier is types.i32 and not element.minimum and element.maximum < types.i32.maximum:
            x = g.operator("BITWISE_AND", [x, number(g, element.maximum, x)], shape_of(x))
        elif element.carrier is types.i8 and element.storage != np.int8:
            x = g.operator("BITWISE_AND", [x, number(g, element.maximum - element.minimum, x)], shape_of(x))
            if element.minimum:  # the highest bit is the sign
                sign = number(g, -element.minimum, x)
                x = g.binary("SUB", g.operator("BITWISE_XOR", [x, sign], shape_of(x)), sign)
        return Value(element, shape_of(x), None, self.cast(x, element.carrier or types.i32))

    def cast(self, x: Tensor, dtype: types.DType) -> Tensor:
        """CAST, unless the tensor has that format."""
        return x if x.dtype is dtype else self.g.operator("CAST", [x], shape_of(x), dtype)

    def result(self, tensor: Tensor, element: Element | None = None) -> Value:
        """A tensor as a value of an element type; by default of the first input's, if that is carried so."""
        first = self.inputs[0] if self.inputs else None
        return value_of(tensor, element or (first.element if first is not None else None))

    def element_of(self, code: int) -> Element:
        """The element type of a number of TensorProto. Raises GraphError."""
        if code not in BY_CODE:
            raise Unsupported(f"the element type {code} isn't known here")
        return BY_CODE[code]
