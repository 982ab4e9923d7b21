"""Order and shapes: puts the operators of a graph in execution order and fills in shapes that aren't known yet."""

from __future__ import annotations

import heapq
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from .errors import ErrorIf, GraphError, LevelError, TosaEngineError, Unsupported, raise_all
from .graph import Block, Composite
from .spec import TABLE, bind_operator
from .spec.bind import bind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .graph import Graph, Operator, Region, Tensor
    from .spec.table import Call, OpSpec
    from .target import Level
    from .types import Array, Shape


class Bound(NamedTuple):
    """An operator that fits its entry."""

    block: Block
    call: Call


def order(block: Block) -> list[Operator]:
    """The operators in a topological order, as close to the order in which they stand as possible.

    Raises:
        GraphError: GRAPH.E2, a tensor is never written, or operators read each other's outputs in a circle.
    """
    writer = {name: i for i, op in enumerate(block.operators) for name in op.outputs}
    known = set(block.inputs)
    pending = [{writer[n] for n in op.inputs if n in writer and n not in known} for op in block.operators]
    readers: dict[int, list[int]] = {}
    for i, needs in enumerate(pending):
        for j in needs:
            readers.setdefault(j, []).append(i)
    ready = [i for i, needs in enumerate(pending) if not needs]
    heapq.heapify(ready)
    done: list[Operator] = []
    while ready:
        i = heapq.heappop(ready)
        done.append(block.operators[i])
        for j in readers.get(i, ()):
            pending[j].discard(i)
            if not pending[j]:
                heapq.heappush(ready, j)
    if len(done) < len(block.operators):
        stuck = next(op for op, needs in zip(block.operators, pending, strict=True) if needs)
        raise GraphError("operators read each other's outputs in a circle", label="GRAPH.E2", node=stuck.name)
    return done


def regions_of(op: Operator) -> list[str]:
    """The names of the regions that an operator runs."""
    found = [op.attributes.get(name) for name in _region_attributes(op.op)]
    return [name for name in found if isinstance(name, str)]


@cache
def _region_attributes(op: str) -> tuple[str, ...]:
    return tuple(a.name for a in TABLE[op].attributes if a.kind == "graph") if op in TABLE else ()


def callees_first(graph: Graph) -> list[tuple[Region, Block]]:
    """All blocks; those of regions that operators run come before the blocks of these operators, without circles."""
    regions = {region.name: region for region in reversed(graph.regions)}
    done: dict[str, Region] = {}
    begun: set[str] = set()
    path = [(region, _callees(region)) for region in reversed(graph.regions)]
    while path:  # no recursion: files can nest regions deeper than Python's stack
        region, callees = path[-1]
        begun.add(region.name)
        callee = next((name for name in callees if name in regions and name not in begun), None)
        if callee is not None:
            path.append((regions[callee], _callees(regions[callee])))
            continue
        path.pop()
        done.setdefault(region.name, region)
    return [(region, block) for region in done.values() for block in region.blocks]


def _callees(region: Region) -> Iterator[str]:
    return (name for block in region.blocks for op in block.operators for name in regions_of(op))


def infer_block(block: Block, graph: Graph | None = None) -> tuple[list[Bound], list[TosaEngineError]]:
    """Order a block in place, fill in its shapes in place; the operators that fit, and everything that is wrong.

    `graph` holds the regions that operators name; their shapes must be known before.
    """
    problems: list[TosaEngineError] = []
    bound: list[Bound] = []
    try:
        block.operators = order(block)
    except GraphError as error:
        return bound, [error]
    for op in block.operators:
        if isinstance(op, Composite):
            problems += _infer_composite(block, op)
        elif op.op not in TABLE:
            line = f" ({op.location})" if op.location is not None and op.location.line else ""
            problems.append(Unsupported(f"operator {op.op} is not implemented{line}", label="GRAPH.op", node=op.name))
        else:
            call, wrong = _infer_operator(block, op, TABLE[op.op], graph)
            problems += wrong
            if call is not None:
                bound.append(Bound(block, call))
    return bound, problems


def _infer_operator(
    block: Block, op: Operator, spec: OpSpec, graph: Graph | None
) -> tuple[Call | None, list[TosaEngineError]]:
    outputs = [block.tensors[n] for n in op.outputs if n in block.tensors]
    unknown = [t for t in outputs if t.shape is None]
    if unknown:
        if spec.is_constant and unknown[0].data is not None:
            unknown[0].shape = unknown[0].data.shape
        else:
            first = bind(spec, op, block.tensors, graph)
            wrong = first.problems or violations(first.call)
            if wrong:
                return None, wrong
            for tensor, shape in zip(outputs, spec.shapes(first.call), strict=False):
                tensor.shape = tuple(int(d) for d in shape) if tensor.shape is None else tensor.shape
    binding = bind(spec, op, block.tensors, graph)
    if binding.problems:
        return None, binding.problems
    return binding.call, []


def violations(call: Call) -> list[TosaEngineError]:
    """The ERROR_IFs that an operator violates."""
    within = violations(call.inner) if call.inner is not None else []
    return within + [
        ErrorIf(
            check.message.format_map(_Shown(call)),
            label=check.label,
            node=call.operator.name,
            tensor=call.tensor_name(check.about),
        )
        for check in call.spec.checks
        if check.violated(call)
    ]


def levels(call: Call, level: Level) -> list[TosaEngineError]:
    """The level checks that an operator violates."""
    problems: list[TosaEngineError] = []
    node = call.operator.name
    for i, limit in enumerate(call.spec.limits, 1):
        value, most = limit.get(call), getattr(level, limit.limit)
        if value > most:
            message = f"{limit.value} = {value} is more than level {level.name} allows ({limit.limit.upper()} = {most})"
            problems.append(LevelError(message, label=f"{call.spec.name}.L{i}", node=node))
    return problems


def waits(call: Call) -> bool:
    """Whether a compile-time constant of the operator is known only when it runs (EXT-DYNAMIC)."""
    return any(a.ctc and call.constant(a.name) is None for a in call.spec.inputs if not a.is_list)


def bind_values(call: Call, values: Mapping[str, Array], level: Level | None = None) -> Call:
    """The operator bound again with values of its inputs, by the tensors' names.

    Raises:
        ErrorIf, LevelError: the values violate an ERROR_IF or a level check (several as `Problems`).
    """
    tensors: dict[str, Tensor] = {}
    for argument in call.spec.arguments:
        found = call.tensors[argument.name]
        for tensor in found if isinstance(found, list) else [found]:
            known = tensor.data is None and tensor.name in values
            tensors[tensor.name] = replace(tensor, data=values[tensor.name]) if known else tensor
    bound = bind_operator(call.operator, Block("values", tensors=tensors), call.graph)
    raise_all(violations(bound) + (levels(bound, level) if level is not None else []))
    return bound


class _Shown(dict[str, object]):
    """The names of a call for messages: shapes and arrays as lists."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call

    def __missing__(self, name: str) -> object:
        value = self.call[name]
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, list):
            return [list(v) if isinstance(v, tuple) else v for v in value]
        return value.tolist() if hasattr(value, "tolist") else value


def _infer_composite(block: Block, op: Composite) -> list[TosaEngineError]:
    body = op.body
    if len(body.inputs) != len(op.inputs) or len(body.outputs) != len(op.outputs):
        message = "the body's inputs and outputs don't fit those of the node"
        return [ErrorIf(message, label=f"{op.op}.body", node=op.name)]
    for outer, inner in zip(op.inputs, body.inputs, strict=True):
        if outer not in block.tensors:
            message = f"refers to a tensor that the block doesn't have: {outer}"
            return [ErrorIf(message, label=f"{op.op}.inputs", node=op.name)]
        body.tensors[inner].shape = block.tensors[outer].shape
        body.tensors[inner].data = block.tensors[outer].data
    bound, problems = infer_block(body)
    problems += [p for b in bound for p in violations(b.call)]
    for outer, inner in zip(op.outputs, body.outputs, strict=True):
        found: Shape | None = body.tensors[inner].shape
        tensor = block.tensors[outer]
        if tensor.shape is None:
            tensor.shape = found
        elif found is not None and found != tensor.shape:
            message = f"the body gives shape {list(found)}, the node has {list(tensor.shape)}"
            problems.append(ErrorIf(message, label=f"{op.op}.outputs", node=op.name, tensor=outer))
    return problems


def infer(graph: Graph) -> None:
    """Order the operators of every block and fill in unknown shapes, in place.

    Raises:
        TosaEngineError: what keeps a shape from being known (all of it, as `Problems`).
    """
    problems: list[TosaEngineError] = []
    for _, block in callees_first(graph):
        problems += infer_block(block, graph)[1]
    raise_all(problems)
