"""One layer at a time, over samples: its input in the integer network beside its input or output in the float one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine import Session, types
from tosa_engine.errors import UsageError
from tosa_engine.passes import dead_code
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

from ..legalize.multiplier import INT32_MAX, INT48_MAX
from ..legalize.quantize import Report, quantize
from ..legalize.rules_conv import integer_bias
from ..legalize.sharing import moves_values
from ..legalize.weights import LEVELS, from_rows, own_constant, rows_of
from ..pieces import Pieces, Plans, Runs

if TYPE_CHECKING:
    from tosa_engine.graph import Graph, Operator
    from tosa_engine.types import Array

Sample = Mapping[str, "Array"]
HELD_BACK: Final = 4
HIDING: Final = frozenset({"softmax", "sigmoid", "SIGMOID", "ARGMAX"})


def subgraph_for(graph: Graph, *tensors: str) -> Graph:
    """What computes some tensors; the inputs stay."""
    cut = graph.copy()
    cut.main.outputs = list(tensors)
    return dead_code.run(cut)


def judged_tensors(graph: Graph) -> list[str]:
    """The tensors to judge a network by: its outputs, or what goes into a softmax, sigmoid or ARGMAX at the end, which
    hides most differences.
    """
    producers = graph.main.producers()
    found = []
    for name in graph.main.outputs:
        at, shown = name, name
        while at in producers and producers[at].inputs and producers[at].inputs[0] in producers:
            hides = producers[at].op in HIDING
            if not (hides or moves_values(producers[at])):
                break
            at = producers[at].inputs[0]
            shown = at if hides else shown
        found.append(shown)
    return list(dict.fromkeys(found))


class IntegerNetwork:
    """An integer network that takes floats and gives floats; layers that write `floats` stay in float."""

    def __init__(self, ready: Graph, floats: frozenset[str] = frozenset()) -> None:
        self.report = Report()
        self.graph = quantize(ready, self.report, floats)
        self.session = Session(self.graph)

    def feeds(self, sample: Sample) -> dict[str, Array]:
        """The stored integers of a float sample."""
        quants = {tensor.name: tensor.quant for tensor in self.graph.inputs}
        return {name: sample[name] if q is None else quantize_array(sample[name], q) for name, q in quants.items()}

    def run(self, sample: Sample) -> list[Array]:
        """The real values of the outputs; of indices and truths they themselves."""
        found = self.session.run(None, self.feeds(sample))
        quants = [tensor.quant for tensor in self.graph.outputs]
        return [a if q is None else dequantize_array(a, q) for a, q in zip(found, quants, strict=True)]


class ChangingNetwork:
    """The integer network of a float one whose weights and biases change, layer by layer, without quantizing it anew.

    Layers are named by what their operators write in the `prepared` float graph.
    """

    def __init__(self, ready: Graph, floats: frozenset[str] = frozenset()) -> None:
        self._floats, self._outputs = floats, ready.main.outputs
        self._quantize(ready)

    def _quantize(self, ready: Graph) -> None:
        self.report = Report()
        self.graph = quantize(ready, self.report, self._floats)
        self._pieces = Pieces(self.graph)

    def operand(self, out: str, runs: Runs) -> Iterator[Array]:
        """Of each sample the real numbers that the integers stand for which a layer multiplies."""
        x = self.report.operands[out]
        return (dequantize_array(found[0], x.quant) for found in runs.values(self._pieces, [x.name], keep=True))

    def sums(self, out: str, runs: Runs) -> Iterator[Array]:
        """Of each sample a layer's accumulator in real units, before saturation and activation function."""
        wide = self.report.accumulators[out]
        scale = np.asarray(wide.scale)
        return (found[0].astype(np.float64) * scale for found in runs.values(self._pieces, [wide.name]))

    def outputs(self, runs: Runs) -> Iterator[list[Array]]:
        """Of each sample the real values of the outputs; of indices and truths they themselves."""
        quants = [tensor.quant for tensor in self.graph.outputs]
        for found in runs.values(self._pieces, self.graph.main.outputs):
            yield [a if q is None else dequantize_array(a, q) for a, q in zip(found, quants, strict=True)]

    def set_weights(self, op: Operator, weight: Array) -> None:
        """Give a layer other weights for the same scales."""
        out = op.outputs[0]
        wide, x = self.report.accumulators[out], self.report.operands[out]
        rows = rows_of(op.op, weight).astype(np.float64)
        scales = np.broadcast_to(np.asarray(wide.scale) / x.scale, (len(rows),))
        stored = own_constant(self.graph.main, self._operator(out), 1)
        most = LEVELS[4] if stored.dtype is types.i4 else LEVELS[8]
        steps = np.clip(np.rint(rows / scales[:, None]), -most, most)
        stored.data = np.ascontiguousarray(from_rows(op.op, steps, weight.shape).astype(stored.dtype.storage))
        self._pieces = Pieces(self.graph, self._pieces)

    def set_bias(self, ready: Graph, op: Operator, old: Array) -> None:
        """Give a layer the bias that it has in `ready` instead of `old`."""
        wide = self.report.accumulators[op.outputs[0]]
        bias = ready.main.tensors[op.inputs[2]].data
        assert bias is not None
        scales = np.asarray(wide.scale)
        stored = self.graph.main.tensors[self._operator(op.outputs[0]).inputs[2]]
        room = (INT32_MAX if stored.dtype is types.i32 else INT48_MAX) / 4
        if (np.maximum(np.abs(old), np.abs(bias)) / scales > room).any():  # such a bias chooses the weights' scales
            self._quantize(subgraph_for(ready, *self._outputs))
            return
        stored = own_constant(self.graph.main, self._operator(op.outputs[0]), 2)
        stored.data = integer_bias(bias, scales).astype(stored.dtype.storage)
        stored.shape = stored.data.shape
        self._pieces = Pieces(self.graph, self._pieces)

    def _operator(self, out: str) -> Operator:
        return self.graph.main.producers()[self.report.accumulators[out].name]


def decibels_gained(before: float, after: float) -> float:
    """What two errors in parts of the signal's power are apart in dB; 0 where either is zero."""
    return float(10 * np.log10(before / after)) if after > 0 < before else 0.0


def distance(reference: Pieces, integers: ChangingNetwork, runs: Runs) -> float:
    """The mean square of the difference of all outputs, in parts of the float outputs' own mean square."""
    error, power = 0.0, 0.0
    wanted = runs.values(reference, reference.graph.main.outputs)
    for real, found in zip(wanted, integers.outputs(runs), strict=True):
        for x, y in zip(real, found, strict=True):
            error += float(np.square(y - x.astype(np.float64)).sum())
            power += float(np.square(x.astype(np.float64)).sum())
    return error / max(power, 1e-300)


def runs_of(samples: Iterable[Sample], plans: Plans | None = None) -> Runs:
    """Runs on samples that can be read several times."""
    count = len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)
    return Runs(lambda: samples, count, plans)


def check_rereadable(samples: Iterable[Sample]) -> None:
    """Raises UsageError for an iterator, whose samples can be read once only."""
    if iter(samples) is samples:
        raise UsageError("the samples are read several times: give a list, not an iterator")


@dataclass(frozen=True)
class SamplePart:
    """Every `every`-th of the samples, or the others; they are read anew each time."""

    samples: Iterable[Sample]
    every: int
    judges: bool

    def __len__(self) -> int:
        count = len(self.samples) if isinstance(self.samples, Sized) else sum(1 for _ in self.samples)
        return count // self.every if self.judges else count - count // self.every

    def __iter__(self) -> Iterator[Sample]:
        for i, sample in enumerate(self.samples):
            if (i % self.every == self.every - 1) == self.judges:
                yield sample


def held_back(samples: Iterable[Sample]) -> tuple[SamplePart, SamplePart]:
    """The samples to fit with, and every fourth one, to judge by. Raises UsageError when there are fewer than two."""
    found = sum(1 for _ in islice(samples, HELD_BACK))
    if found < 2:
        raise UsageError(f"to hold some samples back there must be 2 at least, got {found}")
    return SamplePart(samples, found, judges=False), SamplePart(samples, found, judges=True)
