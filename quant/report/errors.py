"""How far is each layer of an integer graph from the float graph, in steps (LSB) of the integer tensor?

Errors are cumulative: each graph runs on its own from the same input. A value beyond the range of the integer tensor
counts with the full distance, so saturation shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tosa_engine.compare.agreement import Agreement
from tosa_engine.compare.pairs import pairs
from tosa_engine.errors import DataError
from tosa_engine.qparams.arrays import quantize_array
from tosa_engine.watch import KeptTensors

from ..calibration.given import Given

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.compare.pairs import Pair
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
    samples: Iterable[Any],
    qparams: Mapping[str, QParams] | None = None,
) -> list[LayerError]:
    """One entry per tensor that both graphs have, in the integer graph's order.

    `samples` are those of `calibrate`. A tensor of the integer graph stands for the float tensor that its
    source names, else for the one with its own name. Its scale and zero point are those it carries, else the entry
    of its name in `qparams`.

    Raises DataError when the graphs have no tensor in common.
    """
    found = common_pairs(float_graph, integer_graph, qparams)
    floats = KeptTensors(float_graph, [p.real for p in found])
    integers = KeptTensors(integer_graph, [p.stored for p in found])
    totals = {p.stored: Agreement() for p in found}
    for sample in Given(float_graph, samples):
        real = floats.run(sample)
        stored = integers.run(quantized_inputs(integer_graph, found, sample))
        for pair in found:
            totals[pair.stored].add(stored[pair.stored], real[pair.real], pair.quant)
    return [LayerError(p.real, (t := totals[p.stored]).largest, t.mean, t.elements) for p in found]


def common_pairs(float_graph: Graph, integer_graph: Graph, qparams: Mapping[str, QParams] | None) -> list[Pair]:
    """The pairs of both graphs. Raises DataError when there is none."""
    found = pairs(float_graph, integer_graph, qparams)
    if not found:
        missing = "the integer graph has no tensor of the float graph with known scale and zero point"
        raise DataError(f"{missing}: quantize the model again, or give a graph.quant with --quant")
    return found


def quantized_inputs(integer_graph: Graph, found: Iterable[Pair], sample: Mapping[str, Array]) -> dict[str, Array]:
    """The integer graph's inputs: those of a float sample, quantized; as they are where layers behind stay in float.

    Raises DataError where an integer input has no scale.
    """
    scales = {pair.stored: pair for pair in found}
    lacking = [t.name for t in integer_graph.inputs if t.name not in scales and not t.dtype.is_float]
    if lacking:
        known = "quantize the model again, or give a graph.quant with --quant"
        raise DataError(f"scale and zero point of input {', '.join(lacking)} are unknown: {known}")
    return {
        name: quantize_array(sample[scales[name].real], scales[name].quant) if name in scales else sample[name]
        for name in integer_graph.main.inputs
    }
