"""The graph of a model under construction: tensors get the model's names, and regions are written within blocks.

What a region reads from outside are its inputs. Where data decide between two branches in which no operator can fail,
both are computed, so that the graph needs no control flow and can become integers.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..graph import Block, Composite, Location, Operator, Region, Tensor, new_graph
from ..spec import TABLE
from .composites import compose
from .elementary import chosen
from .problems import Unlowered
from .views import shape_of
from .writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_EXTENT: Final = (1 << 31) - 1


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


class ModelWriter(Writer):
    """`begin` and `called` enclose the operators of one value of the model."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.graph = new_graph(file)
        super().__init__(self.graph.main)
        self.named: set[str] = set()
        self.started = 0  # the number of operators in the block when the value was begun
        self._regions: list[Opened] = []
        self._read: set[str] = set()  # by the operators of the value that is being written, up to `_seen`
        self._seen = 0

    def begin(self, stem: str) -> None:
        """What is written from here on belongs to the value `stem`."""
        self.stem = stem
        self.started = self._seen = len(self.block.operators)
        self._read = set()
        self.location = Location(self.file, 0, stem)

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
        kept = self.block, self._constants, self.producers, self.started, self.stem, self.location
        read = self._read, self._seen
        self.block, self._constants, self.producers, self.started = opened.block, {}, {}, 0
        self._read, self._seen = set(), 0
        self._regions.append(opened)
        try:
            yield opened
        finally:
            self._regions.pop()
            self.block, self._constants, self.producers, self.started, self.stem, self.location = kept
            self._read, self._seen = read

    @property
    def in_region(self) -> bool:
        return bool(self._regions)

    @property
    def in_loop(self) -> bool:
        return any(one.loops for one in self._regions)

    def called(self, name: str, tensor: Tensor) -> Tensor:
        """The tensor of the value `name`: it takes the name and the place, unless it has a name already.

        Raises Unlowered for extents that TOSA hasn't.
        """
        for extent in shape_of(tensor):
            if not 1 <= extent <= MAX_EXTENT:
                raise Unlowered(f"'{name}' would have shape {list(shape_of(tensor))}")
        if tensor.data is not None:
            tensor = self.const(tensor.data, tensor.dtype, quant=tensor.quant)
        elif tensor.name in self.named:
            return tensor  # another name of a value that has one
        elif self._is_read(tensor.name):
            tensor = self.unary("IDENTITY", tensor)
        self._named(tensor, self.fresh(name))
        tensor.source = Location(self.file, 0, name)
        self.named.add(tensor.name)
        self.carry_back(tensor, self.named)
        return tensor

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


def give(g: ModelWriter, opened: Opened, tensors: Sequence[Tensor]) -> None:
    """Outputs of a region, each a tensor of its own."""
    for x in tensors:
        own = x.name not in opened.block.inputs and x.name not in opened.block.outputs
        opened.block.outputs.append((x if own else g.unary("IDENTITY", x)).name)


def branch_taken(g: ModelWriter, test: Tensor, regions: Sequence[Opened]) -> list[Tensor]:
    """The results of the first region where `test` (a bool of shape []) holds, else of the second one."""
    if any(_may_fail(one.block) for one in regions):
        return _cond_if(g, test, regions)
    return [_selected(g, test, *pair) for pair in zip(*(_inlined(g, one) for one in regions), strict=True)]


def _may_fail(block: Block) -> bool:
    """Whether an operator has a REQUIRE on integers that are data, or runs regions."""
    for op in block.operators:
        entry = TABLE.get(op.op)
        tensors = [block.tensors[name] for name in (*op.inputs, *op.outputs)]
        integers = any(t.data is None and t.dtype.is_int for t in tensors)
        if entry is not None and (not entry.pure or (entry.requires and integers)):
            return True
    return False


def _inlined(g: ModelWriter, opened: Opened) -> list[Tensor]:
    """The operators of a region, in the block around it."""
    block = opened.block
    g.graph.regions[:] = [region for region in g.graph.regions if region.blocks != [block]]
    names = {inner: g.local(outer).name for inner, outer in zip(block.inputs, opened.outer, strict=True)}
    for op in block.operators:
        for name in op.outputs:
            tensor = block.tensors[name]
            tensor.name = names[name] = g.fresh(name)
            g.block.add(tensor)
        op.inputs, op.outputs = ([names[name] for name in side] for side in (op.inputs, op.outputs))
        g.append(op)
    g.named.update(names.values())
    return [g.block.tensors[names[name]] for name in block.outputs]


def _selected(g: ModelWriter, test: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return chosen(g, g.reshape(test, (1,) * len(shape_of(yes))), yes, no)


def _cond_if(g: ModelWriter, test: Tensor, regions: Sequence[Opened]) -> list[Tensor]:
    outer: list[Tensor] = []
    for one in regions:
        outer += [x for x in one.outer if not any(x is other for other in outer)]
    for one in regions:
        one.block.inputs = [one.given(x).name for x in outer]
        one.outer = outer
    names = dict(zip(("then_graph", "else_graph"), (one.block.name for one in regions), strict=True))
    return run(g, "COND_IF", [test, *(g.local(x) for x in outer)], _ends(regions[0].block), names)


def _ends(block: Block) -> list[Tensor]:
    return [block.tensors[name] for name in block.outputs]


def run(
    g: ModelWriter, op: str, inputs: Sequence[Tensor], like: Sequence[Tensor], regions: dict[str, str]
) -> list[Tensor]:
    """An operator that runs regions."""
    found = [g.output(op.lower(), t.dtype, shape_of(t)) for t in like]
    g.append(Operator(op, [t.name for t in inputs], [t.name for t in found], {**regions}, g.location))
    return found
