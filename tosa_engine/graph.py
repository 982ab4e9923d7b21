"""TOSA graphs in memory: regions, blocks, operators, tensors (specification 2.2, "Operator Graphs").

Values are named: an operator lists the names of its inputs and outputs, and its block maps names to tensors. Shapes
(`shape_t`) are tensors of dtype `types.shape` whose data, when constant, is a one-dimensional int64 array.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from . import types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .types import Array, DType, Shape

Attribute = Any  # int, bool, float, str, bytes, tuple of ints, DType, or (CLAMP) a number in the tensor's own type


@contextmanager
def without_collector() -> Iterator[None]:
    """No search for cycles meanwhile: of the hundred thousands of nodes of a large model none is garbage, and going
    through them again and again takes more time than reading it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Location:
    """Where something comes from: source file, line (from 1; 0 when unknown), and the source's own name for it."""

    file: str = ""
    line: int = 0
    name: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class QParams:
    """Linear quantization of a tensor: real = scale * (stored - zero_point).

    `scale` and `zero_point` have one entry per tensor, or one per index along `axis`. `symmetric` means a zero point
    of 0 and a range without the lowest code. `bits` and `signed` give the range of the stored integers.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    bits: int = 8
    signed: bool = True
    symmetric: bool = False
    axis: int | None = None

    @property
    def low(self) -> int:
        if not self.signed:
            return 0
        return -(1 << (self.bits - 1)) + int(self.symmetric)

    @property
    def high(self) -> int:
        return (1 << (self.bits - int(self.signed))) - 1


@dataclass(slots=True)
class Tensor:
    """A value. `shape` is None while unknown (unranked); `data` is set for compile-time constants (CONST, CONST_SHAPE).

    `source` is the front end's own name and place of the value, `quant` its quantization hint.
    """

    name: str
    dtype: DType
    shape: Shape | None
    data: Array | None = None
    quant: QParams | None = None
    source: Location | None = None
    variable: bool = False
    variable_name: str = ""

    @property
    def size(self) -> int:
        return types.count(self.shape or ())

    @property
    def source_name(self) -> str:
        """The front end's own name, or nothing."""
        return self.source.name if self.source is not None else ""


@dataclass(slots=True)
class Operator:
    """One operator: `op` is the specification's name in upper case, `attributes` are by the specification's names."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Attribute] = field(default_factory=dict)
    location: Location | None = None

    @property
    def name(self) -> str:
        """What errors call the node: its source name, or the name of its first output."""
        if self.location is not None and self.location.name:
            return self.location.name
        return self.outputs[0] if self.outputs else self.op


@dataclass(slots=True)
class Composite(Operator):
    """A named group: `op` is a lower-case name (softmax), `body` TOSA operators with the same inputs and outputs.

    Lives in memory only; writing a file and planning a run expand it (`passes.composites.expand`).
    """

    body: Block = field(default_factory=lambda: Block("body"))


@dataclass(slots=True)
class Block:
    """Operators over tensors, with the names of the block's inputs and outputs. Operators stand in execution order."""

    name: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)

    def producers(self) -> dict[str, Operator]:
        """Tensor name -> the operator that writes it."""
        return {name: op for op in self.operators for name in op.outputs}

    def consumers(self) -> dict[str, list[Operator]]:
        """Tensor name -> the operators that read it (one entry per operator)."""
        readers: dict[str, list[Operator]] = {}
        for op in self.operators:
            for name in dict.fromkeys(op.inputs):
                readers.setdefault(name, []).append(op)
        return readers

    def fresh(self, stem: str) -> str:
        """A tensor name that isn't taken yet."""
        if stem not in self.tensors:
            return stem
        n = 1
        while f"{stem}_{n}" in self.tensors:
            n += 1
        return f"{stem}_{n}"

    def add(self, tensor: Tensor) -> Tensor:
        if tensor.name in self.tensors:
            raise ValueError(f"tensor '{tensor.name}' is already in block '{self.name}'")
        self.tensors[tensor.name] = tensor
        return tensor


@dataclass(slots=True)
class Region:
    """A named list of blocks. The graphs that control flow refers to are regions, by name."""

    name: str
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Record:
    """How an integer graph was made: `notes` for people, per accumulator the bits to spare, the resolved settings."""

    notes: list[str] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Graph:
    """A TOSA graph: its regions (the first is the main one) and the version of the specification it was written for.

    `warnings` is what the reader of its file found odd, each with its place. `record` says how it was made, if known.
    `spare` has quantization hints of tensors that may do without: accumulators.
    `quantized`: the scales of a float graph's tensors are what the model computes with, and what has none is real.
    """

    regions: list[Region] = field(default_factory=list)
    version: tuple[int, int, int] = (1, 0, 0)
    draft: bool = False
    source: str = ""
    warnings: list[str] = field(default_factory=list)
    record: Record | None = None
    spare: dict[str, QParams] = field(default_factory=dict)
    quantized: bool = False

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version)) + ("-draft" if self.draft else "")

    @property
    def main(self) -> Block:
        """The block that runs: the first block of the first region."""
        return self.regions[0].blocks[0]

    @property
    def inputs(self) -> list[Tensor]:
        return [self.main.tensors[name] for name in self.main.inputs]

    @property
    def outputs(self) -> list[Tensor]:
        return [self.main.tensors[name] for name in self.main.outputs]

    def blocks(self) -> Iterator[tuple[Region, Block]]:
        for region in self.regions:
            for block in region.blocks:
                yield region, block

    def region(self, name: str) -> Region | None:
        return next((r for r in self.regions if r.name == name), None)

    def copy(self) -> Graph:
        """A graph that can be changed without changing this one; constant data is shared."""
        regions = [Region(r.name, [copy_block(b) for b in r.blocks]) for r in self.regions]
        return replace(self, regions=regions)


def copy_block(block: Block) -> Block:
    return Block(
        block.name,
        list(block.inputs),
        list(block.outputs),
        {name: copy_tensor(t) for name, t in block.tensors.items()},
        [copy_operator(op) for op in block.operators],
    )


def copy_tensor(t: Tensor) -> Tensor:
    """As `dataclasses.replace(t)`, in a third of its time: a pass copies the tensors of a whole graph."""
    return Tensor(t.name, t.dtype, t.shape, t.data, t.quant, t.source, t.variable, t.variable_name)


def copy_operator(op: Operator) -> Operator:
    own = (op.op, list(op.inputs), list(op.outputs), dict(op.attributes), op.location)
    return Composite(*own, copy_block(op.body)) if isinstance(op, Composite) else Operator(*own)


def new_graph(source: str = "") -> Graph:
    """An empty graph with one region and one block, both called `main`."""
    return Graph([Region("main", [Block("main")])], source=source)
