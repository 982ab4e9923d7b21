"""Building the TOSA graph of a module: constants for known values, and the interval of every integer tensor."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np

from ... import types
from ...errors import Unsupported
from ...graph import Composite
from ...lower.layout import tiled
from ...lower.nested import ModelWriter
from ...lower.views import shape_of
from ...ranges import Analysis
from ...spec import TABLE, bind_operator
from .elements import F64, U32, Element, is_wide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...graph import Operator, Tensor
    from ...lower.nested import Opened
    from ...types import Array, Shape
    from .values import Value

    Reach = tuple[int, int]

MOST_MADE: Final = 1 << 27  # elements of a constant, or of an array that is computed here


class HloWriter(ModelWriter):
    """The graph under construction. `analysis` follows the operators of the block as they are written."""

    def __init__(self, file: str, *, for_integers: bool = False) -> None:
        super().__init__(file)
        self.for_integers = for_integers
        self.analysis = Analysis()
        self.doubles: list[str] = []
        self.of_floats: list[str] = []  # 64-bit integers that floats became

    def append(self, operator: Operator) -> None:
        super().append(operator)
        if isinstance(operator, Composite) or operator.op not in TABLE:
            return
        outputs = [self.block.tensors[name] for name in operator.outputs]
        if any(t.dtype.is_int for t in outputs):
            self.analysis.step(bind_operator(operator, self.block, self.graph))

    def rename(self, tensor: Tensor, name: str) -> None:
        interval = self.analysis.intervals.pop(tensor.name, None)
        super().rename(tensor, name)
        if interval is not None:
            self.analysis.intervals[name] = interval

    @contextmanager
    def region(self, stem: str) -> Iterator[Opened]:
        kept, self.analysis = self.analysis, Analysis()
        try:
            with super().region(stem) as opened:
                yield opened
        finally:
            self.analysis = kept

    def reach(self, x: Tensor) -> Reach:
        """The least and the greatest value that a tensor of integers can have."""
        if x.data is not None and x.data.size:
            return int(x.data.min()), int(x.data.max())
        interval = self.analysis.intervals.get(x.name)
        if interval is None:
            return (0, 1) if x.dtype is types.bool_ else (x.dtype.stored_minimum, x.dtype.maximum)
        return int(interval.low.min()), int(interval.high.max())

    def bound(self, x: Tensor, low: int, high: int) -> None:
        """Every run has x in low .. high, or ends in a verdict."""
        self.analysis.start(x)
        self.analysis.intervals[x.name] = self.analysis.intervals[x.name].clip(low, high)

    def lean(self, value: Value) -> Tensor:
        """The tensor of a value, with an extent of 1 where it repeats. Raises Unsupported where TOSA can't hold it."""
        if value.tensor is not None and (self.holds(value.tensor) or value.data is None):
            return self.local(value.tensor)
        if value.parts is not None:
            raise Unsupported("a tuple where TOSA has tensors only")
        assert value.data is not None
        data, quant = value.data, value.quantized.hint if value.quantized is not None else None
        if quant is None:
            data = data[tuple(slice(0, 1) if s == 0 else slice(None) for s in data.strides)]
        check_size(data.shape)
        value.tensor = self.const(carried(data, value.element), value.element.carrier, quant=quant)
        return value.tensor

    def full(self, value: Value) -> Tensor:
        """The tensor of a value with all its elements."""
        return self.spread(self.lean(value), value.shape)

    def spread(self, x: Tensor, shape: Shape) -> Tensor:
        """`x` repeated along the axes in which it has one element and `shape` more."""
        if shape_of(x) == shape:
            return x
        check_size(shape)
        if x.data is not None:
            return self.const(np.broadcast_to(x.data, shape), x.dtype, "spread")
        return tiled(self, x, tuple(n // m for n, m in zip(shape, shape_of(x), strict=True)))

    def finish(self, name: str, value: Value) -> None:
        """`value` is called `name` in the model."""
        if value.tensor is None or value.is_known:
            return
        if value.element is F64:
            self.doubles.append(name)
        value.tensor = self.called(name, value.tensor)

    def warnings(self) -> list[str]:
        found = []
        if self.doubles:
            more = f" and {len(self.doubles) - 1} more" if len(self.doubles) > 1 else ""
            found.append(f"{self.file}: '{self.doubles[0]}'{more} are f64 in the model and computed as f32")
        found += [
            f"{self.file}: '{name}' is a 64-bit integer made of floats: beyond int32 it is the end of int32"
            for name in self.of_floats
        ]
        return found


def check_size(shape: Shape) -> None:
    """Raises Unsupported for arrays that nobody should make."""
    elements = types.count(shape)
    if elements > MOST_MADE:
        raise Unsupported(f"an array of shape {list(shape)}; at most {MOST_MADE} elements are computed ahead of a run")
    if not elements:
        raise Unsupported(f"a tensor of shape {list(shape)} has no elements, TOSA needs one at least")


def carried(data: Array, element: Element) -> Array:
    """Known values as their carrier holds them. Raises Unsupported for integers beyond int32."""
    if element is U32:
        return data.astype(np.uint32).view(np.int32) if data.flags.c_contiguous else data.copy().view(np.int32)
    if is_wide(element):
        low, high = int(data.min()), int(data.max())
        if low < types.i32.minimum or high > types.i32.maximum:
            raise Unsupported(f"{element} constants from {low} to {high} don't fit int32")
    return data.astype(element.carrier.storage)
