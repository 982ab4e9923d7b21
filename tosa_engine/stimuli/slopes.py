"""Which inputs move values, and how far: slopes of an integer graph at what it computed, from elements backward.

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
    from ..types import Array, Shape

    Values = Mapping[str, Any]
    Slope = Callable[["Reads", Array], Mapping[str, Any]]

ONE: Final = np.float32(1)
CLIPPED: Final = np.float32(0.05)  # of the slope, where a result is clipped


class Reads:
    """An operator and the values of a run: `reads["input"]` are those of an argument, `result` is what it gave.
    Constants are converted once.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self._values: Mapping[str, Array] = {}
        self._held: dict[str, Array] = {}

    def at(self, values: Mapping[str, Array]) -> Reads:
        self._values = values
        return self

    @property
    def result(self) -> Array:
        return self._values[self.call.operator.outputs[0]]

    def __getitem__(self, argument: str) -> Array:
        return self._values[self.call.tensor(argument).name]

    def shape(self, argument: str) -> Shape:
        return self.call.shape_of(argument)

    def less_zero(self, argument: str) -> Array:
        """As floats."""
        if argument in self._held:
            return self._held[argument]
        zero = self[f"{argument}_zp"].reshape(-1)[0]
        found: Array = self[argument].astype(np.float32) - np.float32(zero)
        if self.call.tensor(argument).data is not None:
            self._held[argument] = found
        return found

    def nothing(self, argument: str) -> Array:
        """Slopes of no elements of an argument."""
        return np.zeros(self.shape(argument), np.float32)


def convolution(reads: Reads, slope: Array) -> Values:
    weight, found = reads.less_zero("weight"), reads.nothing("input")
    for place, to, read in taps(reads.call, weight.shape[1:-1], reads.call.dilation):
        of_place: Any = (slice(None), *place)
        found[read] += slope[to] @ weight[of_place]
    return {"input": found}


def depthwise(reads: Reads, slope: Array) -> Values:
    weight, found = reads.less_zero("weight"), reads.nothing("input")
    parts = slope.reshape(*slope.shape[:3], *weight.shape[2:])
    for place, to, read in taps(reads.call, weight.shape[:2], reads.call.dilation):
        found[read] += (parts[to] * weight[place]).sum(-1)
    return {"input": found}


def matmul(reads: Reads, slope: Array) -> Values:
    a, b = reads.less_zero("A"), reads.less_zero("B")
    return {"A": slope @ b.swapaxes(1, 2), "B": a.swapaxes(1, 2) @ slope}


def rescale(reads: Reads, slope: Array) -> Values:
    inside = (reads.result > reads.call.out_t.minimum) & (reads.result < reads.call.out_t.maximum)
    scale = (reads["multiplier"] * 2.0 ** -reads["shift"].astype(float)).astype(np.float32)
    return {"input": slope * (scale * np.where(inside, ONE, CLIPPED))}


def clamp(reads: Reads, slope: Array) -> Values:
    value = reads["input"]
    inside = (value > reads.call.min_val) & (value < reads.call.max_val)
    return {"input": slope * np.where(inside, ONE, CLIPPED)}


def add(reads: Reads, slope: Array) -> Values:
    return {"input1": slope, "input2": slope}


def sub(reads: Reads, slope: Array) -> Values:
    return {"input1": slope, "input2": -slope}


def mul(reads: Reads, slope: Array) -> Values:
    by = slope * np.float32(2.0 ** -float(reads["shift"].reshape(-1)[0]))
    one, other = (reads[name].astype(np.float32) for name in ("input1", "input2"))
    return {"input1": by * other, "input2": by * one}


def table(reads: Reads, slope: Array) -> Values:
    entries, value = reads["table"].astype(np.float32), reads["input1"].astype(np.int64)
    if reads.call.in_t is i8:
        return {"input1": slope * np.gradient(entries)[value + 128]}
    return {"input1": slope * np.diff(entries)[(value + 32768) >> 7]}


def average(reads: Reads, slope: Array) -> Values:
    found = reads.nothing("input")
    count = np.float32(np.prod(reads.call.kernel))
    for _, to, read in taps(reads.call, reads.call.kernel, (1, 1)):
        found[read] += slope[to] / count
    return {"input": found}


def greatest(reads: Reads, slope: Array) -> Values:
    value, found = reads["input"], reads.nothing("input")
    for _, to, read in taps(reads.call, reads.call.kernel, (1, 1)):
        found[read] += slope[to] * (value[read] == reads.result[to])
    return {"input": found}


def chosen(reads: Reads, slope: Array) -> Values:
    """MAXIMUM and MINIMUM."""
    return {name: slope * (reads[name] == reads.result) for name in ("input1", "input2")}


def reduced(reads: Reads, slope: Array) -> Values:
    value = reads["input"]
    return {
        "input": slope
        * (np.ones(value.shape, np.float32) if reads.call.spec.name == "REDUCE_SUM" else value == reads.result)
    }


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
    found = reads.nothing("input1")
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


class Slopes:
    """Of a graph without composites and with all shapes."""

    def __init__(self, graph: Graph) -> None:
        self._inputs = graph.main.inputs
        calls = [bind_operator(op, graph.main, graph) for op in graph.main.operators if op.op in SLOPES]
        self._reads = {call.operator.outputs[0]: Reads(call) for call in reversed(calls)}

    def to_inputs(self, values: Mapping[str, Array], tensor: str, wanted: Mapping[int, float]) -> dict[str, Array]:
        """By how much a sum of elements of a tensor, each so many times, grows with each element of each input, about.
        Inputs that don't move it are missing.
        """
        seed = np.zeros(values[tensor].shape, np.float32)
        seed.reshape(-1)[list(wanted)] = list(wanted.values())
        found: dict[str, Any] = {tensor: seed}
        for name, reads in self._reads.items():
            if name not in found:
                continue
            for argument, its in SLOPES[reads.call.spec.name](reads.at(values), found.pop(name)).items():
                tensors = reads.call.tensors[argument]
                for one, part in zip(tensors, its, strict=True) if isinstance(tensors, list) else [(tensors, its)]:
                    if one.data is None:
                        found[one.name] = found.get(one.name, 0) + _unbroadcast(part, one.shape or ())
        return {name: found[name] for name in self._inputs if name in found and found[name].any()}


def _unbroadcast(slope: Array, shape: tuple[int, ...]) -> Array:
    axes = tuple(i for i, (n, own) in enumerate(zip(slope.shape, shape, strict=True)) if own == 1 and n > 1)
    found: Array = slope.sum(axes, keepdims=True) if axes else slope
    return found
