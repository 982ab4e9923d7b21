"""An operation that is being mapped, with its operands: what the functions of `operators` work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ... import types
from ...errors import Unsupported
from ...lower.elementary import number
from ...lower.views import shape_of
from .elements import BOOL, I8, Element, is_wide
from .module import fields
from .values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph import Tensor
    from ...types import Array, DType, Shape
    from .module import Body, Kind, Operation
    from .writer import HloWriter


class Enclosing(Protocol):
    """The scope of an operation, in which its regions are mapped."""

    def inner(self, name: str, *, pointwise: bool | None = None) -> Enclosing: ...

    def run(self, body: Body, given: Sequence[Value]) -> list[Value]: ...

    def guarded(self, operation: Operation) -> list[int]: ...


@dataclass(slots=True)
class Call:
    """`name` is the operation's without its dialect. `pointwise`: it is part of a body that is computed for all
    elements of an array at once, so that its scalars are arrays.
    """

    g: HloWriter
    name: str
    operation: Operation
    inputs: list[Value]
    scope: Enclosing
    pointwise: bool = False

    @property
    def kinds(self) -> list[Kind]:
        return [kind for _, kind in self.operation.results]

    @property
    def kind(self) -> Kind:
        return self.operation.results[0][1]

    @property
    def shape(self) -> Shape:
        """The shape of the result as the module declares it."""
        return self.kind.shape

    @property
    def element(self) -> Element:
        """The element type of the result. Raises Unsupported where TOSA has no number format for it."""
        return element_of(self.kind)

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.operation.attributes.get(name, default)

    def integers(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """A list of integers: an array or a list."""
        found = self.attribute(name)
        if found is None:
            return list(default)
        return [int(n) for n in np.asarray(found).reshape(-1)]

    def numbers(self, name: str) -> dict[str, Any]:
        return fields(self.attribute(name))

    # tensors

    def lean(self, index: int) -> Tensor:
        return self.g.lean(self.inputs[index])

    def full(self, index: int) -> Tensor:
        return self.g.full(self.inputs[index])

    def level(self, *given: Tensor) -> list[Tensor]:
        """Tensors of one rank: those of rank 0 have extents of 1."""
        rank = max(len(shape_of(t)) for t in given)
        return [t if len(shape_of(t)) == rank else self.g.reshape(t, (1,) * rank) for t in given]

    def operands(self) -> list[Tensor]:
        return self.level(*(self.g.lean(value) for value in self.inputs))

    def spread_shape(self) -> Shape:
        """The shape of an elementwise result."""
        return tuple(int(n) for n in np.broadcast_shapes(*(value.shape for value in self.inputs)))

    def known(self, index: int, what: str) -> Array:
        """The values of an operand. Raises Unsupported unless they are known before the graph runs."""
        found = self.inputs[index]
        if found.data is None:
            raise Unsupported(f"{what} must be known before the graph runs, but depends on data")
        return found.data

    # results

    def result(self, tensor: Tensor, element: Element | None = None) -> Value:
        """A tensor with all elements, or of an elementwise operation, as the result."""
        return Value(element or self.element, self.spread_shape() if self.pointwise else self.shape, None, tensor)

    def elementwise(self, tensor: Tensor, element: Element | None = None) -> Value:
        return Value(element or self.element, self.spread_shape(), None, tensor)

    # integers

    def cast(self, x: Tensor, dtype: DType) -> Tensor:
        """CAST, unless the tensor has that format."""
        if x.dtype is dtype:
            return x
        if x.dtype.is_float and dtype.is_float and types.fp32 not in (x.dtype, dtype):  # no CAST between narrow floats
            x = self.g.operator("CAST", [x], shape_of(x), types.fp32)
        return self.g.operator("CAST", [x], shape_of(x), dtype)

    def wide(self, x: Tensor) -> Tensor:
        """Integers as i32, which TOSA computes with."""
        return self.cast(x, types.i32)

    def wrapped(self, x: Tensor, element: Element) -> Tensor:
        """i32 modulo the range of an element type, as its carrier. Those of 32 bits and more are right already."""
        g = self.g
        low, high = g.reach(x)
        if element is BOOL or (element.minimum <= low and high <= element.maximum) or element.bits >= types.i32.bits:
            return self.cast(x, element.carrier)
        if element is I8 or element.carrier is types.i16:
            return self.cast(x, element.carrier)
        mask = element.maximum - element.minimum
        x = g.operator("BITWISE_AND", [x, number(g, mask, x)], shape_of(x))
        if element.is_signed:  # the highest bit is the sign
            sign = number(g, -element.minimum, x)
            x = g.binary("SUB", g.operator("BITWISE_XOR", [x, sign], shape_of(x)), sign)
        return self.cast(x, element.carrier)

    def narrow(self, low: int, high: int, element: Element) -> None:
        """Raise Unsupported where 64-bit integers may be beyond int32."""
        least = max(element.minimum, types.i32.minimum)
        if is_wide(element) and (low < least or high > types.i32.maximum):
            raise Unsupported(
                f"the result is {element} from {low} to {high}, int32 goes from {least} to {types.i32.maximum}: "
                "--within INPUT=LOW,HIGH tells the range of what it is made of"
            )


def element_of(kind: Kind) -> Element:
    if kind.element is None:
        raise Unsupported(f"TOSA has no number format for {kind.text}")
    return kind.element
