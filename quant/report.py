"""How far is each layer of an integer graph from the float graph, in steps (LSB) of the integer tensor?

Errors are cumulative: each graph runs on its own from the same input. A value beyond the range of the integer tensor
counts with the full distance, so saturation shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.errors import DataError

from .ranges import quantize_array
from .watch import Watched

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Graph, QParams
    from tosa_engine.types import Array


@dataclass(frozen=True)
class LayerError:
    """The difference of a tensor over all samples, in LSB: the largest and the mean of the absolute values."""

    tensor: str
    largest: float
    mean: float
    elements: int


def layer_errors(
    float_graph: Graph,
    integer_graph: Graph,
    samples: Iterable[Mapping[str, Array]],
    qparams: Mapping[str, QParams] | None = None,
) -> list[LayerError]:
    """One entry per tensor that both graphs have, in the integer graph's order.

    `samples` are float arrays by input name. A tensor of the integer graph stands for the float tensor that its
    source names, else for the one with its own name. Its scale and zero point are those it carries, else the entry
    of its name in `qparams` (a `.tosa` file doesn't keep them).

    Raises DataError when the graphs have no tensor in common.
    """
    pairs = _pairs(float_graph, integer_graph, qparams or {})
    if not pairs:
        raise DataError("the integer graph has no tensor of the float graph with known scale and zero point")
    seen, found = _Keep(), _Keep()
    watched_float = Watched(float_graph, [p.real for p in pairs], seen)
    watched_int = Watched(integer_graph, [p.stored for p in pairs], found)
    borders = [p for p in pairs if p.stored in integer_graph.main.inputs]
    totals = {p.stored: _Total() for p in pairs}
    for sample in samples:
        watched_float.run(sample)
        watched_int.run({p.stored: quantize_array(sample[p.real], p.quant) for p in borders})
        for pair in pairs:
            totals[pair.stored].add(_distance(found.arrays[pair.stored], seen.arrays[pair.real], pair.quant))
    return [LayerError(p.real, totals[p.stored].largest, totals[p.stored].mean, totals[p.stored].count) for p in pairs]


@dataclass(frozen=True)
class _Pair:
    stored: str
    real: str
    quant: QParams


@dataclass
class _Total:
    largest: float = 0.0
    total: float = 0.0
    count: int = 0

    def add(self, distance: Array) -> None:
        self.largest = max(self.largest, float(distance.max(initial=0.0)))
        self.total += float(distance.sum())
        self.count += distance.size

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)


class _Keep:
    """Keeps the last array of each tensor it sees."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def __call__(self, node: str, tensor: str, array: Array) -> None:
        del node
        self.arrays[tensor] = array


def _pairs(float_graph: Graph, integer_graph: Graph, qparams: Mapping[str, QParams]) -> list[_Pair]:
    real = float_graph.main.tensors
    by_source = {t.source.name: name for name, t in reversed(real.items()) if t.source is not None and t.source.name}
    pairs = []
    for name in _in_order(integer_graph):
        tensor = integer_graph.main.tensors[name]
        quant = tensor.quant or qparams.get(name)
        source = tensor.source.name if tensor.source is not None else ""
        match = name if name in real else by_source.get(source or name)
        if quant is None or match is None or tensor.data is not None or not tensor.dtype.is_int:
            continue
        if real[match].shape == tensor.shape and real[match].dtype.is_float and real[match].data is None:
            pairs.append(_Pair(name, match, quant))
    return pairs


def _in_order(graph: Graph) -> list[str]:
    block = graph.main
    return [*block.inputs, *(name for op in block.operators for name in op.outputs)]


def _distance(stored: Array, real: Array, quant: QParams) -> Array:
    exact = np.asarray(real, np.float64) / quant.scale[0] + quant.zero_point[0]
    distance: Array = np.abs(np.asarray(stored, np.float64) - exact)
    return distance
