"""Building the TOSA graph of an ONNX model: constants for known values, names and places for tensors."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from ... import types
from ...errors import Unsupported
from ...graph import Block, Composite, Location, Region, Tensor, new_graph
from ...lower.composites import compose
from ...lower.views import shape_of
from ...lower.writer import Writer
from .elements import BY_CARRIER, DOUBLE, Element
from .values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...graph import Operator
    from ...types import Array

MAX_EXTENT: Final = (1 << 31) - 1
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


@dataclass
class Opened:
    """A region that is being written. Its inputs: what a loop carries on, and the tensors `outer` around it."""

    block: Block
    loops: bool = False
    outer: list[Tensor] = field(default_factory=list)
    _inputs: list[Tensor] = field(default_factory=list)  # those that `outer` are inside

    def given(self, x: Tensor) -> Tensor:
        """The input that a tensor from outside is."""
        for one, inner in zip(self.outer, self._inputs, strict=True):
            if one is x:
                return inner
        self.outer.append(x)
        self._inputs.append(self.carry(x))
        return self._inputs[-1]

    def carry(self, x: Tensor) -> Tensor:
        """An input that begins as x."""
        found = self.block.add(Tensor(self.block.fresh(x.name), x.dtype, x.shape, source=x.source))
        self.block.inputs.append(found.name)
        return found


class OnnxWriter(Writer):
    """The graph under construction. `begin` and `finish` enclose the operators of one node."""

    def __init__(self, file: str, *, for_integers: bool = False) -> None:
        self.file, self.for_integers = file, for_integers
        self.graph = new_graph(file)
        super().__init__(self.graph.main)
        self.named: set[str] = set()
        self.narrowed: list[Narrowed] = []
        self.bounds: list[tuple[Tensor, int, int]] = []  # what is known of integers beside their type
        self.of_floats: list[tuple[str, Element, Tensor]] = []
        self.doubles: list[str] = []
        self._start = 0
        self._regions: list[Opened] = []
        self._read: set[str] = set()  # by the operators of the value that is being written, up to `_seen`
        self._seen = 0

    def begin(self, stem: str) -> None:
        """What is written from here on belongs to the value `stem`."""
        self.stem = stem
        self._start = self._seen = len(self.block.operators)
        self._read = set()
        self.location = Location(self.file, 0, stem)

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

    def holds(self, x: Tensor) -> bool:
        return self.block.tensors.get(x.name) is x

    def local(self, x: Tensor) -> Tensor:
        """A tensor in the block that is written: those of blocks around it are inputs of its region, or constants."""
        if self.holds(x):
            return x
        if x.data is not None:
            return self.const(x.data, x.dtype, quant=x.quant)
        return self._regions[-1].given(x)

    @contextmanager
    def region(self, stem: str) -> Iterator[Opened]:
        """What is written meanwhile is a region of its own."""
        names = {region.name for region in self.graph.regions}
        number = next(n for n in itertools.count() if f"{stem}_{n}" not in names)
        opened = Opened(Block(f"{stem}_{number}"))
        self.graph.regions.append(Region(opened.block.name, [opened.block]))
        kept = self.block, self._constants, self.producers, self._start, self.stem, self.location
        read = self._read, self._seen
        self.block, self._constants, self.producers, self._start = opened.block, {}, {}, 0
        self._read, self._seen = set(), 0
        self._regions.append(opened)
        try:
            yield opened
        finally:
            self._regions.pop()
            self.block, self._constants, self.producers, self._start, self.stem, self.location = kept
            self._read, self._seen = read

    @property
    def in_loop(self) -> bool:
        return any(one.loops for one in self._regions)

    def narrow(self, x: Tensor, element: Element) -> None:
        """A result in int32, which has to be proved to hold it."""
        operators = tuple(self.block.operators[self._start :])
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
        for extent in shape_of(tensor):
            if not 1 <= extent <= MAX_EXTENT:
                raise Unsupported(f"'{name}' would have shape {list(shape_of(tensor))}")
        if tensor.data is not None:
            tensor = self.const(tensor.data, tensor.dtype, quant=tensor.quant)
        elif tensor.name in self.named:
            return  # another name of a value that has one
        elif self._is_read(tensor.name):
            tensor = self.unary("IDENTITY", tensor)
        self._named(tensor, self.fresh(name))
        tensor.source = Location(self.file, 0, name)
        self.named.add(tensor.name)
        self.carry_back(tensor, self.named)
        value.tensor = tensor

    def _is_read(self, name: str) -> bool:
        """Whether an operator that was written since `begin` reads a tensor."""
        fresh = self.block.operators[self._seen :]
        self._read.update(name for operator in fresh for name in operator.inputs)
        self._seen += len(fresh)
        return name in self._read

    def give_up_name(self, tensor: Tensor) -> None:
        """The name of a tensor becomes another's, which holds the same values at the border; its readers follow."""
        before, after = tensor.name, self.fresh(f"{tensor.name}_numbers")
        for operator in self.block.operators:
            operator.inputs = [after if name == before else name for name in operator.inputs]
        self.rename(tensor, after)

    def _named(self, tensor: Tensor, name: str) -> None:
        producer = self.producers.get(tensor.name)
        self.rename(tensor, name)
        if isinstance(producer, Composite):
            x = self.block.tensors[producer.inputs[0]]
            producer.body = compose(producer.op, x, tensor, producer.attributes, producer.location).body


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
