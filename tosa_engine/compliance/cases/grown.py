"""Small graphs: 2 to 12 operators of any kind that feed each other.

Each step draws an operator and a row from the op table, a plan (`plans`), and gives the plan's inputs tensors
that are already there: elementwise operators take the tensor's shape, the others get it reshaped, cut or tiled to the
plan's. What nobody reads leaves the graph.

`INTEGER_ROWS` are what graphs are made of unless `FLOAT_ROWS` are asked for: all rows with a float in them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import check, types
from ...graph import Operator, Tensor, new_graph
from ...infer import infer
from ...lower.writer import Writer
from ...oracle import ORACLES
from ...spec import TABLE
from . import choices
from .operators import draw_case
from .plans import PLANS, unary
from .values import Plan, draw_values, dtype_of

if TYPE_CHECKING:
    from ...spec import Argument, OpSpec, Row
    from ...types import Array, DType, Shape
    from .values import Draw

MOST_OPERATORS = 12
LARGEST = 1 << 12  # elements of a tensor that is still worth reading
ELEMENTWISE = {"shape", "shape1", "shape2", "shape3"}
INTEGERS = (types.bool_, types.i8, types.i16, types.i32)
FLOATS = (types.fp16, types.bf16, types.fp32, types.fp8e4m3, types.fp8e5m2)
ADAPTABLE = (*INTEGERS, *FLOATS)


def computing_rows(*, floats: bool) -> dict[str, list[Row]]:
    """By operator, the rows that steps are drawn from: those with a float among their formats, or those without."""
    found = {
        spec.name: [row for row in spec.rows if any(t.is_float for t in row.types.values()) == floats]
        for spec in TABLE.values()
        if spec.inputs and spec.outputs and is_plain(spec)
    }
    return {name: rows for name, rows in found.items() if rows}


def is_plain(spec: OpSpec) -> bool:
    """Whether an operator stands by itself, without regions and without a registry."""
    return spec.name in ORACLES and not any(argument.type == "tensor_list_t" for argument in spec.arguments)


def draw_graph(draw: Draw, *, floats: bool = False) -> tuple[Any, dict[str, Array]]:
    """A legal graph of 2 to 12 operators (constants not counted) with arrays for its inputs."""
    rows = FLOAT_ROWS if floats else INTEGER_ROWS
    grown = Grown(draw, draw(choices.integers(2, MOST_OPERATORS)))
    while grown.room():
        name = draw(choices.sampled_from(sorted(rows)))
        grown.step(TABLE[name], draw(choices.sampled_from(rows[name])))
    return grown.finish()


class Grown:
    """A graph that grows by one operator at a time, every tensor's shape known."""

    def __init__(self, draw: Draw, most: int) -> None:
        self.draw, self.most, self.count = draw, most, 0
        self.graph = new_graph()
        self.block = self.graph.main
        self.writer = Writer(self.block)
        self.feeds: dict[str, Array] = {}
        self.pool: list[Tensor] = []

    def room(self, wanted: int = 1) -> bool:
        return self.count + wanted <= self.most

    def step(self, spec: OpSpec, row: Row) -> None:
        """One more operator."""
        plan = PLANS.get(spec.name, unary)(self.draw, spec, row)
        if plan.attributes.get("rounding_mode") == "INEXACT_ROUND":  # leaves the result open, and all that follows
            plan.attributes["rounding_mode"] = "SINGLE_ROUND"
        elementwise = [a for a in spec.inputs if a.name not in plan.constants and a.shape in ELEMENTWISE]
        first = self.choose(dtype_of(spec.inputs[0].type, row))
        if first is not None and not plan.values and "axis" not in plan.attributes and not self.moves(spec):
            self.follow(plan, elementwise, first.shape or ())
        names: list[str] = []
        for argument in spec.inputs:
            names += self.argument(argument, plan, row, first if argument is spec.inputs[0] else None)
        self.add(spec.name, names, dtype_of(spec.outputs[0].type, row), plan.attributes, len(spec.outputs))

    @staticmethod
    def moves(spec: OpSpec) -> bool:
        """Whether the plan's constants say where elements go, so that they belong to the plan's shapes."""
        return any(argument.is_shape for argument in spec.inputs) or any(a.name == "perms" for a in spec.attributes)

    def follow(self, plan: Plan, arguments: list[Argument], shape: Shape) -> None:
        """Give a plan of an elementwise operator the shape of a tensor that is there; a factor per channel fits no
        more.
        """
        for i, argument in enumerate(arguments):
            sides = [n if i == 0 else self.draw(choices.sampled_from([n, n, 1])) for n in shape]
            plan.shapes[argument.name] = tuple(sides)
        if arguments and plan.attributes.get("per_channel"):
            plan.attributes["per_channel"] = False
            for name in ("multiplier", "shift"):
                dtype, values = plan.constants[name]
                plan.constants[name] = (dtype, values[:1])

    def argument(self, argument: Argument, plan: Plan, row: Row, first: Tensor | None) -> list[str]:
        """The tensors of one argument, by name."""
        if argument.name in plan.constants:
            return [self.constant(*plan.constants[argument.name])]
        dtype, shapes = dtype_of(argument.type, row), plan.shapes[argument.name]
        if argument.name in plan.values:
            return [self.source(dtype, shapes, plan.values[argument.name])]
        wanted = shapes if argument.is_list else [shapes]
        return [self.tensor(dtype, shape, first if i == 0 else None) for i, shape in enumerate(wanted)]

    def choose(self, dtype: DType) -> Tensor | None:
        """A tensor of this format, often the latest; sometimes none, where there is one."""
        there = [t for t in self.pool if t.dtype is dtype and t.size <= LARGEST]
        if not there or self.draw(choices.integers(0, 7)) == 5:
            return None
        return there[-1] if self.draw(choices.booleans()) else self.draw(choices.sampled_from(there))

    def tensor(self, dtype: DType, shape: Shape, chosen: Tensor | None) -> str:
        """A tensor of this format and shape: one that is there, made to fit, or a new one."""
        found = chosen or self.choose(dtype)
        if found is None:
            return self.source(dtype, shape, draw_values(self.draw, dtype, shape))
        if found.shape == shape:
            return found.name
        if dtype not in ADAPTABLE or not self.room(5):
            return self.source(dtype, shape, draw_values(self.draw, dtype, shape))
        return self.fit(found, shape).name

    def fit(self, found: Tensor, shape: Shape) -> Tensor:
        """The tensor's first elements, repeated where there are too few, in another shape."""
        wanted = math.prod(shape)
        if found.size != wanted:
            found = self.reshape(found, (found.size,))
            if found.size < wanted:
                multiples = [-(-wanted // found.size)]
                found = self.add("TILE", [found.name, self.constant(types.shape, multiples)], found.dtype)
            if found.size > wanted:
                bounds = [self.constant(types.shape, [value]) for value in (0, wanted)]
                found = self.add("SLICE", [found.name, *bounds], found.dtype)
        return self.reshape(found, shape)

    def reshape(self, found: Tensor, shape: Shape) -> Tensor:
        if found.shape == shape:
            return found
        return self.add("RESHAPE", [found.name, self.constant(types.shape, np.array(shape, np.int64))], found.dtype)

    def constant(self, dtype: DType, values: Any) -> str:
        """A new constant."""
        return self.writer.constant("c", dtype, np.asarray(values, dtype.storage)).name

    def source(self, dtype: DType, shape: Shape, values: Array) -> str:
        """A new tensor with these values, constant or an input of the graph."""
        if self.draw(choices.booleans()):
            return self.constant(dtype, np.asarray(values, dtype.storage).reshape(shape))
        tensor = self.writer.tensor("in", dtype, shape)
        self.block.inputs.append(tensor.name)
        self.feeds[tensor.name] = np.asarray(values, dtype.storage).reshape(shape)
        self.pool.append(tensor)
        return tensor.name

    def add(
        self, op: str, inputs: list[str], dtype: DType, attributes: dict[str, Any] | None = None, outputs: int = 1
    ) -> Tensor:
        """An operator, whose outputs are of one format; they are there for the next. The last one is returned."""
        tensors = [self.writer.tensor("t", dtype, None) for _ in range(outputs)]
        self.writer.append(Operator(op, inputs, [tensor.name for tensor in tensors], attributes or {}))
        infer(self.graph)
        self.pool += tensors
        self.count += 1
        return tensors[-1]

    def finish(self) -> tuple[Any, dict[str, Array]]:
        """The graph, with what nobody reads as outputs."""
        read = {name for op in self.block.operators for name in op.inputs}
        computed = [t.name for t in self.pool if t.name not in self.block.inputs]
        self.block.outputs = [name for name in computed if name not in read]
        problems = check.check(self.graph)
        assert problems == [], problems
        return self.graph, self.feeds


INTEGER_ROWS, FLOAT_ROWS = computing_rows(floats=False), computing_rows(floats=True)


def draw_single(draw: Draw, *, floats: bool = False) -> tuple[Any, dict[str, Array]]:
    """One operator."""
    rows = FLOAT_ROWS if floats else INTEGER_ROWS
    name = draw(choices.sampled_from(sorted(rows)))
    return draw_case(draw, name, draw(choices.sampled_from(rows[name])).key)


def draw_damaged(draw: Draw, *, floats: bool = False) -> tuple[Any, dict[str, Array]]:
    """One operator with one thing changed: mostly an error, sometimes another legal use."""
    graph, feeds = draw_single(draw, floats=floats)
    operator, tensors = graph.main.operators[-1], graph.main.tensors
    output = graph.outputs[0]
    constants = [t for t in map(tensors.__getitem__, operator.inputs) if t.data is not None and t.size]
    attributes = [key for key, value in operator.attributes.items() if is_numeric(value)]
    kinds = ["dtype", *(["shape"] if output.shape else []), *(["constant"] if constants else [])]
    kind = draw(choices.sampled_from([*kinds, *(["attribute"] * 2 if attributes else [])]))
    if kind == "dtype":
        output.dtype = draw(choices.sampled_from([*(FLOATS if floats else INTEGERS), types.i48]))
    elif kind == "shape":
        output.shape = changed(draw, output.shape, least=1)
    elif kind == "constant":
        tensor = draw(choices.sampled_from(constants))
        index = draw(choices.integers(0, tensor.size - 1))
        tensor.data = tensor.data.copy()
        tensor.data.flat[index] = draw(
            choices.sampled_from([0, 1, -1, 2, 7, *([] if tensor.dtype.bits < 8 else [100, -100])])
        )
    else:
        key = draw(choices.sampled_from(attributes))
        value = operator.attributes[key]
        operator.attributes[key] = changed(draw, value) if isinstance(value, tuple) else changed(draw, (value,))[0]
    return graph, feeds


def is_numeric(value: Any) -> bool:
    numbers = value if isinstance(value, tuple) and value else (value,)
    return all(isinstance(n, int) and not isinstance(n, bool) for n in numbers)


def changed(draw: Draw, values: tuple[int, ...], least: int = -2) -> tuple[int, ...]:
    """The numbers, one of them replaced."""
    at = draw(choices.integers(0, len(values) - 1))
    other = draw(choices.sampled_from([values[at] + 1, values[at] - 1, 0, 1, -1, 2, 8193]))
    return (*values[:at], max(other, least), *values[at + 1 :])
