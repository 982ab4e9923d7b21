"""Which inputs move a value, and how far: slopes of an integer graph at what it computed, from one element backward.

Operators without a function here end the way. Where a result is clipped its slope is small, not zero, so that a search
finds out of saturation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..oracle.spatial import taps
from ..spec import bind_operator
from ..types import i8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph
    from ..spec.table import Call
    from ..types import Array

    Values = Mapping[str, Any]
    Slope = Callable[["Reads", Array], Mapping[str, Any]]

CLIPPED: Final = 0.05  # of the slope, where a result is clipped


class Reads:
    """An operator that ran: `reads["input"]` are the values of an argument, `result` is what it gave."""

    def __init__(self, call: Call, values: Mapping[str, Array]) -> None:
        self.call, self._values = call, values
        self.result = values[call.operator.outputs[0]].astype(np.float64)

    def __getitem__(self, argument: str) -> Array:
        found = self._values[self.call.tensor(argument).name]
        return found.astype(np.int64)

    def less_zero(self, argument: str) -> Array:
        found: Array = (self[argument] - self[f"{argument}_zp"][0]).astype(np.float64)
        return found


def convolution(reads: Reads, slope: Array) -> Values:
    weight, found = reads.less_zero("weight"), np.zeros(reads.call.shape_of("input"))
    for place, to, read in taps(reads.call, weight.shape[1:-1], reads.call.dilation):
        of_place: Any = (slice(None), *place)
        found[read] += slope[to] @ weight[of_place]
    return {"input": found}


def depthwise(reads: Reads, slope: Array) -> Values:
    weight, found = reads.less_zero("weight"), np.zeros(reads.call.shape_of("input"))
    parts = slope.reshape(*slope.shape[:3], *weight.shape[2:])
    for place, to, read in taps(reads.call, weight.shape[:2], reads.call.dilation):
        found[read] += (parts[to] * weight[place]).sum(-1)
    return {"input": found}


def matmul(reads: Reads, slope: Array) -> Values:
    a, b = reads.less_zero("A"), reads.less_zero("B")
    return {"A": slope @ b.swapaxes(1, 2), "B": a.swapaxes(1, 2) @ slope}


def rescale(reads: Reads, slope: Array) -> Values:
    inside = (reads.result > reads.call.out_t.minimum) & (reads.result < reads.call.out_t.maximum)
    scale = reads["multiplier"] * 2.0 ** -reads["shift"].astype(float)
    return {"input": slope * scale * np.where(inside, 1.0, CLIPPED)}


def clamp(reads: Reads, slope: Array) -> Values:
    value = reads["input"]
    inside = (value > reads.call.min_val) & (value < reads.call.max_val)
    return {"input": slope * np.where(inside, 1.0, CLIPPED)}


def add(reads: Reads, slope: Array) -> Values:
    return {"input1": slope, "input2": slope}


def sub(reads: Reads, slope: Array) -> Values:
    return {"input1": slope, "input2": -slope}


def mul(reads: Reads, slope: Array) -> Values:
    by = slope * 2.0 ** -float(reads["shift"].reshape(-1)[0])
    return {"input1": by * reads["input2"], "input2": by * reads["input1"]}


def table(reads: Reads, slope: Array) -> Values:
    entries, value = reads["table"].astype(float), reads["input1"]
    if reads.call.in_t is i8:
        return {"input1": slope * np.gradient(entries)[value + 128]}
    return {"input1": slope * np.diff(entries)[(value + 32768) >> 7]}


def average(reads: Reads, slope: Array) -> Values:
    found = np.zeros(reads.call.shape_of("input"))
    count = float(np.prod(reads.call.kernel))
    for _, to, read in taps(reads.call, reads.call.kernel, (1, 1)):
        found[read] += slope[to] / count
    return {"input": found}


def greatest(reads: Reads, slope: Array) -> Values:
    value, found = reads["input"], np.zeros(reads.call.shape_of("input"))
    for _, to, read in taps(reads.call, reads.call.kernel, (1, 1)):
        found[read] += slope[to] * (value[read] == reads.result[to])
    return {"input": found}


def chosen(reads: Reads, slope: Array) -> Values:
    """MAXIMUM and MINIMUM."""
    return {name: slope * (reads[name] == reads.result) for name in ("input1", "input2")}


def reduced(reads: Reads, slope: Array) -> Values:
    value = reads["input"]
    return {"input": slope * (np.ones(value.shape) if reads.call.spec.name == "REDUCE_SUM" else value == reads.result)}


def same(reads: Reads, slope: Array) -> Values:
    return {reads.call.spec.inputs[0].name: slope.reshape(reads.call.shape_of(reads.call.spec.inputs[0].name))}


def negate(reads: Reads, slope: Array) -> Values:
    return {"input1": -slope}


def transpose(reads: Reads, slope: Array) -> Values:
    return {"input1": slope.transpose(np.argsort(reads.call.perms))}


def reverse(reads: Reads, slope: Array) -> Values:
    return {"input1": np.flip(slope, reads.call.axis)}


def pad(reads: Reads, slope: Array) -> Values:
    before, shape = reads["padding"][::2], reads.call.shape_of("input1")
    return {"input1": slope[tuple(slice(b, b + n) for b, n in zip(before, shape, strict=True))]}


def slice_(reads: Reads, slope: Array) -> Values:
    found = np.zeros(reads.call.shape_of("input1"))
    found[tuple(slice(b, b + n) for b, n in zip(reads["start"], slope.shape, strict=True))] = slope
    return {"input1": found}


def concat(reads: Reads, slope: Array) -> Values:
    sizes = [(t.shape or ())[reads.call.axis] for t in reads.call.tensors["input1"]]
    return {"input1": np.split(slope, np.cumsum(sizes)[:-1], reads.call.axis)}


SLOPES: Final[Mapping[str, Slope]] = {
    "CONV2D": convolution, "CONV3D": convolution, "DEPTHWISE_CONV2D": depthwise, "MATMUL": matmul, "RESCALE": rescale,
    "CLAMP": clamp, "ADD": add, "SUB": sub, "MUL": mul, "TABLE": table, "AVG_POOL2D": average, "MAX_POOL2D": greatest,
    "MAXIMUM": chosen, "MINIMUM": chosen, "REDUCE_SUM": reduced, "REDUCE_MAX": reduced, "REDUCE_MIN": reduced,
    "RESHAPE": same, "IDENTITY": same, "CAST": same, "NEGATE": negate, "TRANSPOSE": transpose, "REVERSE": reverse,
    "PAD": pad, "SLICE": slice_, "CONCAT": concat,
}  # fmt: skip


def slopes(graph: Graph, values: Mapping[str, Array], tensor: str, element: int) -> dict[str, Array]:
    """By how much an element of a tensor grows with each element of each input, about. Inputs that don't move it are
    missing.
    """
    found = {tensor: np.zeros(values[tensor].shape)}
    found[tensor].reshape(-1)[element] = 1.0
    for op in reversed(graph.main.operators):
        name = op.outputs[0] if op.outputs else ""
        if name not in found or op.op not in SLOPES:
            continue
        call = bind_operator(op, graph.main, graph)
        for argument, slope in SLOPES[op.op](Reads(call, values), found[name]).items():
            tensors = call.tensors[argument]
            pairs = zip(tensors, slope, strict=True) if isinstance(tensors, list) else [(tensors, slope)]
            for one, part in pairs:
                if one.data is None:
                    found[one.name] = found.get(one.name, 0.0) + _unbroadcast(part, one.shape or ())
    return {name: found[name] for name in graph.main.inputs if name in found and found[name].any()}


def _unbroadcast(slope: Array, shape: tuple[int, ...]) -> Array:
    axes = tuple(i for i, (n, own) in enumerate(zip(slope.shape, shape, strict=True)) if own == 1 and n > 1)
    found: Array = slope.sum(axes, keepdims=True) if axes else slope
    return found
