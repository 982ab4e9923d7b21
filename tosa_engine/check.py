"""Is this graph legal for a target? All problems at once, each with its label (specification 1.3, 1.4, 2.1, 2.2).

Labels: `OP.E1` ... are the ERROR_IFs of an operator; `OP.L1` ... its level checks; `OP.ctc.ARG` a compile-time
constant that isn't; `OP.profile` types or attributes that the target lacks; `OP.version` those that came with a
later version than the target's; `GRAPH.*` the rules of graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import types
from .errors import ErrorIf, GraphError, LevelError, ProfileError, TosaEngineError, VersionError, raise_all
from .graph import Composite, without_collector
from .infer import callees_first, infer_block, levels, regions_of, violations
from .spec import TABLE
from .target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Block, Graph, Operator, Tensor
    from .spec.table import Call
    from .target import Level

ATTRIBUTE_NEEDS = {"DOUBLE_ROUND": "EXT-DOUBLEROUND", "INEXACT_ROUND": "EXT-INEXACTROUND"}
GRAPH_RULES = {
    "GRAPH.E1": "a tensor is written by one operator only, and graph inputs by none",
    "GRAPH.E2": "every tensor that is read is written before, without circles",
    "GRAPH.E3": "the inputs and outputs of a block are tensors of the block, and outputs are written",
    "GRAPH.E4": "graph inputs and outputs are not of type shape_t",
    "GRAPH.E5": "every dimension of a tensor is at least 1",
    "GRAPH.E6": "a graph has a region with a block",
    "GRAPH.E7": "the values of a constant are values of its type",
    "GRAPH.E8": "a region doesn't run itself, directly or through others",
    "GRAPH.L1": "a tensor takes at most (1 << (MAX_LOG2_SIZE + 1)) - 1 bytes",
    "GRAPH.L2": "a dimension is at most (1 << MAX_LOG2_SIZE) - 1",
}


def check(graph: Graph, target: Target | None = None) -> list[TosaEngineError]:
    """Everything that makes the graph illegal (or unsupported) on the target; the graph isn't changed."""
    with without_collector():
        return _problems(graph.copy(), target or Target())


def _problems(graph: Graph, target: Target) -> list[TosaEngineError]:
    if not graph.regions or not graph.regions[0].blocks:
        return [GraphError("the graph has no region with a block", label="GRAPH.E6")]
    problems = _circles(graph)
    depths = {} if problems else _depths(graph)
    for region, block in callees_first(graph):
        problems += _block(block, target, graph, depths.get(region.name, 0))
    return problems


def validate(graph: Graph, target: Target | None = None) -> None:
    """Raise what `check` finds: one problem as itself, several as `Problems`."""
    raise_all(check(graph, target))


def _circles(graph: Graph) -> list[TosaEngineError]:
    """Regions that run themselves."""
    runs = _runs(graph)
    problems: list[TosaEngineError] = []
    for name in runs:
        reached: set[str] = set()
        pending = list(runs[name])
        while pending:
            found = pending.pop()
            if found not in reached:
                reached.add(found)
                pending += runs.get(found, ())
        if name in reached:
            problems.append(GraphError(f"region '{name}' runs itself", label="GRAPH.E8"))
    return problems


def nesting(graph: Graph) -> int:
    """How many control flow operators stand in each other, at most, in a graph without circles."""
    return max(_depths(graph).values(), default=0)


def _runs(graph: Graph) -> dict[str, list[str]]:
    """By the name of a region those that its operators run."""
    return {
        region.name: [name for block in region.blocks for op in block.operators for name in regions_of(op)]
        for region in graph.regions
    }


def _depths(graph: Graph) -> dict[str, int]:
    """How many control flow operators a region is nested in, at most."""
    runs = _runs(graph)
    depths = dict.fromkeys(runs, 0)
    for region in dict.fromkeys(region.name for region, _ in reversed(callees_first(graph))):
        for callee in runs[region]:
            depths[callee] = max(depths.get(callee, 0), depths[region] + 1)
    return depths


def _block(block: Block, target: Target, graph: Graph | None, depth: int) -> list[TosaEngineError]:
    """Everything wrong in a block of a graph, or without a graph in the body of a composite."""
    problems = _names(block, is_graph=graph is not None)
    bound, wrong = infer_block(block, graph)
    problems += wrong
    for _, call in bound:
        call.names.update(nesting_depth=depth, max_nesting=target.level.max_nesting)
        problems += violations(call)
        for seen in filter(None, (call, call.inner)):
            problems += levels(seen, target.level)
            problems += _constants(seen, target)
            problems += _profile(seen, target)
    problems += _versions(block, [call for _, call in bound], target)
    for tensor in block.tensors.values():
        problems += _size(tensor, target.level)
    for op in block.operators:
        problems += _rank_level(block, op, target.level)
        if isinstance(op, Composite):
            problems += _block(op.body, target, None, depth)
    return problems


def _names(block: Block, *, is_graph: bool) -> list[TosaEngineError]:
    problems: list[TosaEngineError] = []

    def problem(rule: str, message: str, tensor: str, node: str = "") -> None:
        problems.append(GraphError(message, label=f"GRAPH.{rule}", tensor=tensor, node=node))

    written: set[str] = set(block.inputs)
    for op in block.operators:
        for name in op.outputs:
            if name in written:
                problem("E1", "the tensor is written more than once", name, op.name)
            written.add(name)
    for op in block.operators:
        for name in dict.fromkeys(op.inputs):
            if name not in written and name in block.tensors:
                problem("E2", "the tensor is read but never written", name, op.name)
    for side, names in (("input", block.inputs), ("output", block.outputs)):
        for name in names:
            if name not in block.tensors:
                problem("E3", f"the graph {side} is not a tensor of the block", name)
            elif side == "output" and name not in written:
                problem("E3", "the graph output is never written", name)
            elif is_graph and block.tensors[name].dtype is types.shape:
                problem("E4", f"a graph {side} can't be of type shape_t", name)
    return problems


def _size(tensor: Tensor, level: Level) -> list[TosaEngineError]:
    if tensor.shape is None or tensor.dtype is types.shape:
        return []
    shown = list(tensor.shape)
    if any(d < 1 for d in tensor.shape):
        return [GraphError(f"dimensions must be at least 1, got {shown}", label="GRAPH.E5", tensor=tensor.name)]
    problems: list[TosaEngineError] = []
    size = types.count(tensor.shape) * tensor.dtype.itemsize
    if size > level.max_tensor_bytes:
        message = f"{size} bytes are more than level {level.name} allows ({level.max_tensor_bytes}), shape {shown}"
        problems.append(LevelError(message, label="GRAPH.L1", tensor=tensor.name))
    if any(d > level.max_dimension for d in tensor.shape):
        message = f"a dimension of {shown} is more than level {level.name} allows ({level.max_dimension})"
        problems.append(LevelError(message, label="GRAPH.L2", tensor=tensor.name))
    return problems + _range(tensor)


def _range(tensor: Tensor) -> list[TosaEngineError]:
    """Formats that are narrower than their storage (int4, int48) must hold values of their own."""
    data, dtype = tensor.data, tensor.dtype
    if data is None or data.size == 0 or not dtype.is_narrow:
        return []
    low, high = int(data.min()), int(data.max())
    if dtype.stored_minimum <= low and high <= dtype.maximum:
        return []
    message = f"values {low} .. {high} are not all values of {dtype}"
    return [GraphError(message, label="GRAPH.E7", tensor=tensor.name)]


def _rank_level(block: Block, op: Operator, level: Level) -> list[TosaEngineError]:
    """MAX_RANK, where the specification bounds an argument's rank by it."""
    spec = TABLE.get(op.op)
    if spec is None or all(len(block.tensors[n].shape or ()) <= level.max_rank for n in _known(block, op)):
        return []
    problems: list[TosaEngineError] = []
    for arguments, names in ((spec.inputs, op.inputs), (spec.outputs, op.outputs)):
        for i, name in enumerate(names):
            if not arguments or name not in block.tensors:
                continue
            argument, tensor = arguments[min(i, len(arguments) - 1)], block.tensors[name]
            if argument.rank[1] is not None or len(tensor.shape or ()) <= level.max_rank:
                continue
            message = (
                f"rank {len(tensor.shape or ())} is more than level {level.name} allows (MAX_RANK = {level.max_rank})"
            )
            label = f"{op.op}.rank.{argument.name}"
            problems.append(LevelError(message, label=label, node=op.name, tensor=name))
    return problems


def _known(block: Block, op: Operator) -> list[str]:
    return [n for n in (*op.inputs, *op.outputs) if n in block.tensors]


def _constants(call: Call, target: Target) -> list[TosaEngineError]:
    if "EXT-DYNAMIC" in target.extensions:
        return []
    return [
        ErrorIf(
            f"'{argument.name}' must be a compile-time constant without EXT-DYNAMIC",
            label=f"{call.spec.name}.ctc.{argument.name}",
            node=call.operator.name,
            tensor=call.tensor(argument.name).name,
        )
        for argument in call.spec.inputs
        if argument.ctc and call.tensor(argument.name).data is None
    ]


def _profile(call: Call, target: Target) -> list[TosaEngineError]:
    problems: list[TosaEngineError] = []
    row, node = call.row, call.operator.name
    assert row is not None
    if not any(set(needs) <= target.names for needs in row.needs):
        needs = " or ".join(" and ".join(n) for n in row.needs)
        message = f"{call.spec.name} with types {row.key} needs {needs}, which the target lacks"
        problems.append(ProfileError(message, label=f"{call.spec.name}.profile", node=node))
    for attribute in call.spec.attributes:
        value = call[attribute.name]
        extension = ATTRIBUTE_NEEDS.get(value) if attribute.kind == "rounding_mode" else None
        if extension is not None and extension not in target.extensions:
            message = f"{attribute.name} {value} needs {extension}, which the target lacks"
            problems.append(ProfileError(message, label=f"{call.spec.name}.profile.{attribute.name}", node=node))
    return problems


def _versions(block: Block, calls: Sequence[Call], target: Target) -> list[TosaEngineError]:
    """What the target's version of the specification doesn't have: rows, attributes, and formats of other tensors."""
    problems: list[TosaEngineError] = []
    said: set[str] = set()
    for call in calls:
        newer = [p for seen in (call, call.inner) if seen is not None for p in _newer(seen, target)]
        said |= {*call.operator.inputs, *call.operator.outputs} if newer else set()
        problems += newer
    for tensor in block.tensors.values():
        if tensor.dtype.since > target.version and tensor.name not in said:
            message = f"tensors of {tensor.dtype} need TOSA {tensor.dtype.since}, the target has {target.version}"
            problems.append(VersionError(message, label="GRAPH.version", tensor=tensor.name))
    return problems


def _newer(call: Call, target: Target) -> list[TosaEngineError]:
    spec, row, node = call.spec, call.row, call.operator.name
    assert row is not None
    problems: list[TosaEngineError] = []
    if row.since > target.version:
        what = spec.name if spec.since > target.version else f"{spec.name} with types {row.key}"
        message = f"{what} needs TOSA {row.since}, the target has {target.version}"
        problems.append(VersionError(message, label=f"{spec.name}.version", node=node))
    for attribute in spec.attributes:
        value = call[attribute.name]
        if attribute.since > target.version and value != attribute.default:
            message = f"{attribute.name} {value} needs TOSA {attribute.since}, the target has {target.version}"
            problems.append(VersionError(message, label=f"{spec.name}.version.{attribute.name}", node=node))
    return problems
