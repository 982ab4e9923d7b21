"""Building the TOSA graph of an ONNX model: constants for known values, names and places for tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ... import types
from ...errors import Unsupported
from ...lower.nested import ModelWriter
from ...lower.views import shape_of
from .elements import BY_CARRIER, DOUBLE, Element
from .values import Value

if TYPE_CHECKING:
    from ...graph import Block, Operator, Tensor
    from ...types import Array

VIEWS: Final = ("IDENTITY", "RESHAPE", "TRANSPOSE")


@dataclass(frozen=True)
class Narrowed:
    """A result of integers that int32 may lack, called `name`: the tensor, and the operators that compute it.

    In a loop nothing bounds what is carried on: there the REQUIREs of operators are enough.
    """

    name: str
    element: Element
    tensor: Tensor
    operators: tuple[Operator, ...]
    block: Block
    in_loop: bool = False


class OnnxWriter(ModelWriter):
    """The graph under construction. `begin` and `finish` enclose the operators of one node."""

    def __init__(self, file: str, *, for_integers: bool = False) -> None:
        self.for_integers = for_integers
        super().__init__(file)
        self.narrowed: list[Narrowed] = []
        self.bounds: list[tuple[Tensor, int, int]] = []  # what is known of integers beside their type
        self.of_floats: list[tuple[str, Element, Tensor]] = []
        self.doubles: list[str] = []

    def tensor_of(self, value: Value) -> Tensor:
        """The tensor of a value; a known one becomes a constant. Raises Unsupported where TOSA can't hold it."""
        if value.tensor is not None and (self.holds(value.tensor) or value.data is None):
            return self.local(value.tensor)
        if value.items is not None:
            raise Unsupported("a sequence where TOSA has tensors only")
        if value.real is not None and value.quant is not None:
            raise Unsupported("an operator without a rule for integers with a scale reads quantized values")
        assert value.data is not None
        carrier = carrier_of(value.element)
        if not value.data.size:
            raise Unsupported(f"a tensor of shape {list(value.shape)} has no elements, TOSA needs one at least")
        value.tensor = self.const(carried(value.data, value.element), carrier)
        return value.tensor

    def narrow(self, x: Tensor, element: Element) -> None:
        """A result in int32, which has to be proved to hold it."""
        operators = tuple(self.block.operators[self.started :])
        self.narrowed.append(Narrowed(self.stem, element, x, operators, self.block, self.in_loop))

    def bound(self, x: Tensor, low: int, high: int) -> None:
        """Every run has x in low .. high, or ends in a verdict. A view has the values of what it shows."""
        self.bounds.append((x, low, high))
        producer = self.producers.get(x.name)
        if producer is not None and producer.op in VIEWS:
            self.bound(self.block.tensors[producer.inputs[0]], low, high)

    def finish(self, name: str, value: Value) -> None:
        """`value` is called `name` in the model: its tensor takes the name and the place, unless it has a name."""
        tensor = value.tensor
        if tensor is None or value.is_known:
            return
        if value.element is DOUBLE:
            self.doubles.append(name)
        value.tensor = self.called(name, tensor)


def carrier_of(element: Element) -> types.DType:
    """The number format that carries an element type. Raises Unsupported where TOSA has none."""
    if element.carrier is None:
        raise Unsupported(f"TOSA has no number format for {element}")
    return element.carrier


def carried(data: Array, element: Element) -> Array:
    """Known values as their carrier holds them. Raises Unsupported for integers beyond int32."""
    carrier = carrier_of(element)
    if element.is_integer and carrier is types.i32 and element.storage.itemsize >= 4:
        low, high = int(data.min()), int(data.max())
        if low < types.i32.minimum or high > types.i32.maximum:
            raise Unsupported(f"{element} constants from {low} to {high} don't fit int32")
    return data.astype(carrier.storage)


def value_of(tensor: Tensor, like: Element | None = None) -> Value:
    """A tensor as a value: of the element type `like`, if that is carried so, or of the carrier's own."""
    same = like is not None and like.carrier is tensor.dtype
    element = like if same and like is not None else BY_CARRIER[tensor.dtype]
    return Value(element, shape_of(tensor), None, tensor)


def scalar_of(value: Value) -> float | None:
    """The one element of a known value."""
    if value.data is None or value.data.size != 1:
        return None
    return float(np.asarray(value.data).reshape(-1)[0])
