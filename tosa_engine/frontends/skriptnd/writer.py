"""The TOSA graph of a composed SkriptND graph under construction."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ... import types
from ...errors import Unsupported
from ...graph import Block, Composite, Location, Region, Tensor, new_graph
from ...lower.composites import compose
from ...lower.views import shape_of
from ...lower.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from ...graph import QParams
    from ...types import Array, Shape
    from .tensors import Instance, TensorRef

FORMATS: Final = {"int": types.i32, "real": types.fp32, "bool": types.bool_}
MAX_EXTENT: Final = (1 << 31) - 1


@dataclass
class Opened:
    """A region that is being written, with the tensors around it that it reads."""

    block: Block
    values: dict[TensorRef, Tensor] = field(default_factory=dict)
    outer: list[TensorRef] = field(default_factory=list)


def stored(data: Array, dtype: str, what: str) -> Array:
    """Known values as TOSA holds them. Raises Unsupported for integers beyond int32, and for what is beyond fp32."""
    if dtype == "int" and data.size and (data.min() < types.i32.minimum or data.max() > types.i32.maximum):
        raise Unsupported(f"'{what}' has integers beyond int32")
    with np.errstate(over="ignore"):
        found = data.astype(FORMATS[dtype].storage)
    if dtype == "real" and data.size and (np.isinf(found) & np.isfinite(data)).any():
        raise Unsupported(f"'{what}' has numbers beyond fp32")
    return found


class SkndWriter(Writer):
    """`begin` and `finish` enclose the operators of one instance. `values` has the tensors of what is composed."""

    def __init__(self, file: str, quant: Mapping[str, QParams], names: Container[str] = ()) -> None:
        """`names`: those of the graph's own tensors."""
        self.file, self.quant, self._own_names = file, quant, names
        self.graph = new_graph(file)
        super().__init__(self.graph.main)
        self.values: dict[TensorRef, Tensor] = {}
        self.bound: set[str] = set()
        self._regions: list[Opened] = []

    def begin(self, stem: str, line: int) -> None:
        self.stem = stem
        self.location = Location(self.file, line, stem)

    def value(self, ref: TensorRef) -> Tensor:
        """The tensor in the block that is written."""
        if self._regions:
            opened = self._regions[-1]
            if ref in opened.values:
                return opened.values[ref]
            if ref.data is None:
                return self._given(opened, ref)
        if ref not in self.values or self._regions:
            if ref.data is None:
                raise Unsupported(f"'{ref.name}' isn't computed before it is read")
            return self._constant(ref)
        return self.values[ref]

    def has(self, ref: TensorRef) -> bool:
        """Whether a tensor has its value in the block that is written."""
        return ref in (self._regions[-1].values if self._regions else self.values)

    def _constant(self, ref: TensorRef) -> Tensor:
        assert ref.data is not None
        dtype = FORMATS[ref.dtype]
        if ref.data.ndim == 0 and all(n == 1 for n in ref.shape) and ref.dtype != "bool":
            return self.scalar(stored(ref.data, ref.dtype, ref.name).item(), dtype, len(ref.shape))
        return self.const(stored(np.broadcast_to(ref.data, ref.shape), ref.dtype, ref.name), dtype)

    # results

    def finish(self, ref: TensorRef, result: Tensor) -> None:
        """`result` is the value of `ref`: it takes its name and its hint, unless it has a name of the model."""
        for extent in shape_of(result):
            if not 1 <= extent <= MAX_EXTENT:
                raise Unsupported(f"'{ref.name}' would have shape {list(shape_of(result))}; TOSA has no empty tensors")
        if self._regions:
            self._regions[-1].values[ref] = result
            return
        if result.data is not None:
            result = self.const(result.data, result.dtype)
        elif result.name in self.bound:
            if not ref.named:
                self.values[ref] = result
                return
            result = self.unary("IDENTITY", result)
        self._named(result, self.fresh(ref.name))
        self.bound.add(result.name)
        self.values[ref] = result
        result.source = Location(self.file, self.location.line if self.location else 0, ref.name)
        result.quant = self.hint(ref)
        self.carry_back(result, self.bound)

    def hint(self, ref: TensorRef) -> QParams | None:
        return self._hint(ref.name, ref.shape)

    def _hint(self, name: str, shape: Shape) -> QParams | None:
        """By the name; what is inside of operators has another one in files of NNEF 1."""
        from ..nnef.build import with_axis

        plain = name.replace(".", "_")
        found = self.quant.get(name) or (self.quant.get(plain) if plain not in self._own_names else None)
        return with_axis(found, name, shape)

    def part(self, name: str, tensor: Tensor) -> Tensor:
        """A tensor inside of an operator: it takes this name, and its hint."""
        if self._regions or tensor.data is not None or tensor.name in self.bound:
            return tensor
        self._named(tensor, self.fresh(name))
        self.bound.add(tensor.name)
        tensor.source = Location(self.file, self.location.line if self.location else 0, name)
        tensor.quant = self._hint(name, shape_of(tensor))
        self.carry_back(tensor, self.bound)
        return tensor

    def _named(self, tensor: Tensor, name: str) -> None:
        producer = self.producers.get(tensor.name)
        if isinstance(producer, Composite):
            x, renamed = self.block.tensors[producer.inputs[0]], replace(tensor, name=name)
            producer.body = compose(producer.op, x, renamed, producer.attributes, producer.location).body
        self.rename(tensor, name)

    # regions

    def _given(self, opened: Opened, ref: TensorRef) -> Tensor:
        """A tensor from around the region becomes an input of it."""
        like = self._around(ref)
        opened.outer.append(ref)
        opened.values[ref] = self.carry(opened, ref, like.dtype)
        return opened.values[ref]

    def _around(self, ref: TensorRef) -> Tensor:
        inner = self._regions.pop()
        try:
            with self._at(self._regions[-1].block if self._regions else self.graph.main):
                return self.value(ref)
        finally:
            self._regions.append(inner)

    @contextmanager
    def _at(self, block: Block) -> Iterator[None]:
        kept, self.block = self.block, block
        try:
            yield
        finally:
            self.block = kept

    def carry(self, opened: Opened, ref: TensorRef, dtype: types.DType | None = None) -> Tensor:
        """An input of a region."""
        name = opened.block.fresh(ref.name)
        found = opened.block.add(Tensor(name, dtype or FORMATS[ref.dtype], ref.shape))
        opened.block.inputs.append(name)
        opened.values[ref] = found
        return found

    @contextmanager
    def region(self, stem: str) -> Iterator[Opened]:
        """What is written meanwhile is a region of its own."""
        names, number = {region.name for region in self.graph.regions}, 0
        while f"{stem}_{number}" in names:
            number += 1
        opened = Opened(Block(f"{stem}_{number}"))
        self.graph.regions.append(Region(opened.block.name, [opened.block]))
        kept = self.block, self._constants, self.producers, self.stem, self.location
        self.block, self._constants, self.producers = opened.block, {}, {}
        self._regions.append(opened)
        try:
            yield opened
        finally:
            self._regions.pop()
            self.block, self._constants, self.producers, self.stem, self.location = kept

    @property
    def inside(self) -> bool:
        return bool(self._regions)


class Call:
    """One instance that is being mapped: its tensors and its symbols."""

    def __init__(self, b: SkndWriter, instance: Instance) -> None:
        self.b, self.instance = b, instance

    def x(self, at: int = 0) -> Tensor:
        return self.b.value(self.instance.inputs[at])

    def optional(self, at: int) -> Tensor | None:
        ref = self.instance.inputs[at]
        return None if ref is None else self.b.value(ref)

    def pack(self, at: int = 0) -> list[Tensor]:
        return [self.b.value(ref) for ref in self.instance.inputs[at]]

    def __getitem__(self, name: str) -> Any:
        return self.instance.symbols[name]

    def part(self, label: str, tensor: Tensor) -> Tensor:
        """A tensor inside of the operator, under the label that it has in the compound of NNEF 1."""
        return self.b.part(f"{self.instance.outputs[0].name}.{label}", tensor)

    def axes(self, name: str = "axes", rank: int | None = None) -> list[int]:
        """Axes from 0 on."""
        value = self[name]
        rank = len(shape_of(self.x())) if rank is None else rank
        return [a + rank if a < 0 else a for a in (value if isinstance(value, list) else [value])]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the first output."""
        return self.instance.outputs[0].shape  # type: ignore[no-any-return]
