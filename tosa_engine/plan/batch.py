"""Large batches in parts: the plan of some samples runs several times, so that its buffers stay in the cache.

Steps over all samples at once read weights once, and are faster as long as the buffers of a run fit a cache; beyond, a
part of the batch at a time is (docs/kernels.md has the figures), and takes less memory. This needs a graph in which
every sample is computed from the same sample of the inputs alone. Along axis 0 of every tensor that isn't constant,
each sample has as many elements as any other (one as a rule), one sample's after the other's.

Parts also are what workers share where each does parts of its own (`Plan.parts_in_parallel`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from ..graph import Operator, Tensor
from ..infer import infer
from ..spec import TABLE, bind_operator
from ..spec.traits import AlongAxis, EachAxis, Permuted, Reshaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph
    from ..spec.table import Call, OpSpec
    from ..spec.traits import Axes, Entries
    from ..types import Array
    from .steps import Plan

IN_CACHE: Final = 16 << 20  # bytes of buffers that a run should do with
LONG: Final = 4_000_000.0  # nanoseconds of a run, next to which a worker who comes late is no matter
LEAST_BUSY: Final = 0.85  # of the workers' time, where each does whole parts


def _is_split(call: Call) -> bool:
    """Whether an operator computes every sample from the same sample of its inputs alone."""
    traits = call.spec.traits
    if traits.elementwise is not None:  # constants have to be the same for all samples
        read = [call.tensor(name) for name in traits.elementwise.operands]
        return all(tensor.data is None or tensor.shape[:1] == (1,) for tensor in read if tensor.shape is not None)
    return bool(traits.batch) and _only_samples(call) and _leaves_alone(call, traits.axes)


def _only_samples(call: Call) -> bool:
    """Whether the tensors of samples are computed, and all others constant."""
    return all(
        (tensor.data is None) == (argument.name in call.spec.traits.batch)
        for argument in call.spec.inputs
        for found in [call.tensors[argument.name]]
        for tensor in (found if isinstance(found, list) else [found])
    )


def _leaves_alone(call: Call, axes: Axes | None) -> bool:
    """Whether nothing is done along axis 0."""
    if isinstance(axes, AlongAxis):
        return bool(call[axes.attribute] != 0)
    if isinstance(axes, Permuted):
        return bool(call[axes.attribute][0] == 0)
    return not isinstance(axes, EachAxis) or all(_is_neutral(call, entries) for entries in axes.entries)


def _is_neutral(call: Call, entries: Entries) -> bool:
    values = call.constant(entries.argument)
    assert values is not None
    wanted = call.shape_of(call.spec.inputs[0].name)[0] if entries.neutral is None else entries.neutral
    return bool((values.reshape(-1)[: entries.width] == wanted).all())


def _sizes(entry: OpSpec) -> int | None:
    """The input that has the size of the result along axis 0, if there is one."""
    axes = entry.traits.axes
    if isinstance(axes, Reshaped):
        return entry.position(axes.argument)
    named = [e.argument for e in axes.entries if e.neutral is None] if isinstance(axes, EachAxis) else []
    return entry.position(named[0]) if named else None


def batch_of(graph: Graph) -> int:
    """The samples of a graph whose samples don't meet; 1 where they do, or where there is only one."""
    block, ports = graph.main, [*graph.inputs, *graph.outputs]
    if len(graph.regions) != 1 or not graph.inputs or any(t.data is not None for t in ports):
        return 1
    batch = math.gcd(*(_rows(t) for t in block.tensors.values() if t.data is None))
    if batch == 1:
        return 1
    calls = [bind_operator(operator, block, graph) for operator in block.operators]
    alone = all(call.spec.is_constant or _is_split(call) for call in calls)
    return batch if alone else 1


def _rows(tensor: Tensor) -> int:
    """The length of axis 0 where there are others, else 1."""
    shape = tensor.shape or ()
    return shape[0] if len(shape) > 1 else 1


def with_batch(graph: Graph, samples: int) -> Graph:
    """A graph whose samples don't meet for another number of them."""
    part = graph.copy()
    block, batch = part.main, batch_of(graph)
    for operator in block.operators:
        place = _sizes(TABLE[operator.op])
        if place is not None:
            _resize(part, operator, place, lambda rows: rows // batch * samples)
    for tensor in block.tensors.values():
        if tensor.data is None and tensor.shape is not None:
            tensor.shape = (tensor.shape[0] // batch * samples, *tensor.shape[1:])
    infer(part)
    return part


def with_constants(graph: Graph, constants: Mapping[str, Array]) -> Graph:
    """A graph where what planning has computed is constant."""
    found = graph.copy()
    block = found.main
    for i, operator in enumerate(block.operators):
        if operator.outputs and all(name in constants for name in operator.outputs):
            for name in operator.outputs:
                block.tensors[name].data = constants[name]
            dtype = block.tensors[operator.outputs[0]].dtype
            block.operators[i] = Operator("CONST_SHAPE" if dtype is types.shape else "CONST", [], operator.outputs)
    return found


def _resize(graph: Graph, operator: Operator, place: int, changed: Callable[[int], int]) -> None:
    block = graph.main
    old = block.tensors[operator.inputs[place]]
    assert old.data is not None
    values = np.array([changed(int(old.data[0])), *old.data[1:]], old.data.dtype)
    new = block.add(Tensor(block.fresh(f"{old.name}_of_a_part"), old.dtype, values.shape, values))
    block.operators.append(Operator("CONST_SHAPE", [], [new.name]))
    operator.inputs[place] = new.name


def fits_cache(size: int) -> bool:
    """Whether buffers of `size` bytes are few enough."""
    return size <= IN_CACHE


def parts_for(batch: int, size: int) -> int:
    """In how many parts `batch` samples should run whose buffers take `size` bytes, all workers at one of them."""
    return next((n for n in range(1, batch + 1) if batch % n == 0 and fits_cache(size // n)), batch)


def parts_in_parallel(batch: int, size: int, workers: int) -> int:
    """In how many parts they should run, every worker at one of its own; 1 where there are no even shares."""
    even = [n for n in range(workers, batch + 1) if batch % n == 0 and -(-n // workers) * workers * LEAST_BUSY <= n]
    return next((n for n in even if fits_cache(size // n * workers)), even[-1] if even else 1)


def in_part(array: Array, part: int, parts: int) -> Array:
    """The samples of a part of the batch."""
    if parts == 1:
        return array
    count = len(array) // parts
    return array[part * count : (part + 1) * count]


def cost_of(plan: Plan) -> float:
    """Nanoseconds of all steps."""
    return sum(step.work.cost for step in plan.steps if step.work is not None)


def worth_parallel_parts(whole: Plan, workers: int) -> bool:
    """Whether a run of all samples takes so long that workers should have parts of their own."""
    return workers > 1 and cost_of(whole) >= LONG
