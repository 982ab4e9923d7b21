"""Filling the statistics of a float model's activations: one run per sample, one pass, in constant memory."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.errors import DataError
from tosa_engine.watch import WatchedGraph

from ..legalize.quantize import float_tensors, prepared, unbounded
from .records import Statistics
from .statistics import TensorStatistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    Sample = Mapping[str, Array]


class Collector:
    """Runs a TOSA-FP graph on samples and counts what its activations hold, those that quantization asks for.

    `statistics` are updated after each sample. A sample that fails (NaN, infinity, a wrong shape) leaves nothing in
    them but the tensors that it reached: throw them away then.
    """

    def __init__(self, graph: Graph, statistics: Statistics | None = None, threads: int | None = None) -> None:
        self.statistics = statistics if statistics is not None else Statistics(digest(graph))
        self._number = 0
        self._unbounded = unbounded(graph)
        self._watched = WatchedGraph(prepared(graph), [t.name for t in float_tensors(graph)], self._see, threads)

    def add(self, number: int, sample: Sample) -> None:
        """Count one sample; `number` says which of the data's samples it is.

        Raises DataError when a tensor has NaN or infinity, and what `Session.run` raises for samples that don't fit.
        """
        self._number = number
        self.statistics.mark(number, number + 1)
        self._watched.run(sample)

    def _see(self, node: str, tensor: str, array: Array) -> None:
        if tensor in self._unbounded:
            array = finite(array)
        if not np.isfinite(array).all():
            raise DataError(f"calibration sample {self._number} gives NaN or infinity", node=node, tensor=tensor)
        if array.size:
            self.statistics.tensors.setdefault(tensor, TensorStatistics()).see(array)


def finite(array: Array) -> Array:
    """The array with infinities moved to its largest and least finite values (0 when it has none); NaN is 0."""
    there = array[np.isfinite(array)]
    low, high = (there.min(), there.max()) if there.size else (0, 0)
    found: Array = np.nan_to_num(array, nan=0.0, posinf=high, neginf=low).astype(array.dtype)
    return found


def collect(graph: Graph, samples: Iterable[tuple[int, Sample]], threads: int | None = None) -> Statistics:
    """The statistics of numbered samples. Raises what `Collector.add` does."""
    collector = Collector(graph, threads=threads)
    for number, sample in samples:
        collector.add(number, sample)
    return collector.statistics


def digest(graph: Graph) -> str:
    """SHA-256 of what a graph computes: its operators, tensors and constants, by their names, in hexadecimal."""
    found = hashlib.sha256()
    for region, block in graph.blocks():
        found.update(repr((region.name, block.name, block.inputs, block.outputs)).encode())
        for op in block.operators:
            attributes = sorted((key, repr(value)) for key, value in op.attributes.items())
            found.update(repr((op.op, op.inputs, op.outputs, attributes)).encode())
        for name, tensor in sorted(block.tensors.items()):
            found.update(repr((name, tensor.dtype.name, tensor.shape)).encode())
            if tensor.data is not None:
                found.update(np.ascontiguousarray(tensor.data).tobytes())
    return found.hexdigest()
