"""One layer at a time, over samples: its input in the integer network beside its input or output in the float one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine import Session
from tosa_engine.errors import UsageError
from tosa_engine.passes import dead_code
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

from ..legalize.quantize import Report, quantize
from ..legalize.sharing import moves_values

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
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


def float_and_integer(
    reference: Graph, ready: Graph, tensor: str, samples: Iterable[Sample], floats: frozenset[str] = frozenset()
) -> Iterator[tuple[Array, Array]]:
    """A tensor in the float network and in the integer network, of every sample."""
    real, stored = Session(subgraph_for(reference, tensor)), IntegerNetwork(subgraph_for(ready, tensor), floats)
    for sample in samples:
        yield real.run(None, sample)[0].astype(np.float64), stored.run(sample)[0]


def distance(reference: Session, integers: IntegerNetwork, samples: Iterable[Sample]) -> float:
    """The mean square of the difference of all outputs, in parts of the float outputs' own mean square."""
    error, power = 0.0, 0.0
    for sample in samples:
        for real, found in zip(reference.run(None, sample), integers.run(sample), strict=True):
            error += float(np.square(found - real.astype(np.float64)).sum())
            power += float(np.square(real.astype(np.float64)).sum())
    return error / max(power, 1e-300)


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
