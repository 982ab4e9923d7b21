"""Measuring a quantization: both graphs run on samples, one sample in memory at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine.errors import DataError
from tosa_engine.watch import KeptTensors

from ..calibration.given import Given
from ..legalize.layers import layers_of
from ..legalize.quantize import prepared
from ..legalize.sharing import moves_values
from ..legalize.weights import has_weights, rows_of
from .errors import common_pairs, quantized_inputs
from .local import given_feeds, isolated_layers
from .measured import Measured
from .outputs import OutputErrors
from .sizes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.compare.pairs import Pair
    from tosa_engine.graph import Block, Graph, Operator, QParams
    from tosa_engine.types import Array

    from ..improve.trial import Kept
    from ..legalize.layers import Layer
    from ..metrics import Metric, Reading, Targets
    from .outputs import SampleError
    from .trials import Suggestions

    Sample = Mapping[str, Array]


@dataclass
class Measurement:
    """Everything that the report shows. `layers` in execution order; `seconds` that measuring took; `each`: the errors
    of every sample; `real` and `reading`: the metric of the float and of the integer model; `notes` are what `quantize`
    said, `margins` the bits that accumulators have to spare, `settings` what was resolved, all plain data; `scales`:
    what channels of the float model were divided by first; `beside`: another integer model of the same float model on
    the same samples; `suggestions`: changes that were tried; `time`: how long the steps of the integer model take, as
    `tosa_engine.profiling.figures` says it; `target`: what keeps it from a processor, or what it costs there, as
    `tosa_engine.commands.inspect_target` says it.
    """

    layers: list[Measured]
    seconds: float = 0.0
    each: list[SampleError] = field(default_factory=list)
    real: Reading | None = None
    reading: Reading | None = None
    notes: list[str] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    scales: Kept = field(default_factory=list)
    beside: Measurement | None = None
    suggestions: Suggestions | None = None
    time: dict[str, Any] | None = None
    target: dict[str, Any] | None = None

    @property
    def samples(self) -> int:
        return len(self.each)

    @property
    def outputs(self) -> list[Measured]:
        return [layer for layer in self.layers if layer.is_output]


def measure(
    float_graph: Graph,
    integer_graph: Graph,
    samples: Iterable[Any],
    qparams: Mapping[str, QParams] | None = None,
    *,
    threads: int | None = None,
    metric: Metric | None = None,
    targets: Targets | None = None,
) -> Measurement:
    """Run a TOSA-FP graph, the integer graph made from it, and each of its layers alone.

    `samples` are those of `calibrate`, read one by one: memory doesn't grow with their number. Scales and zero
    points are those that the integer graph's tensors carry, else those of `qparams` by name. `targets` are those of the
    samples, in their order.

    Raises DataError when the graphs have no tensor in common, an activation isn't finite, or there is no sample.
    """
    start, found = time.perf_counter(), common_pairs(float_graph, integer_graph, qparams)
    result = Measurement(_layers(float_graph, integer_graph, found))
    outputs = OutputErrors(float_graph, integer_graph, found, metric, targets)
    alone, given = isolated_layers(integer_graph, [p.stored for p in found])
    floats = KeptTensors(float_graph, [*(p.real for p in found), *float_graph.main.outputs], threads)
    integers = KeptTensors(integer_graph, [*(p.stored for p in found), *integer_graph.main.outputs], threads)
    locals_ = KeptTensors(alone, alone.main.outputs, threads)
    for number, sample in enumerate(Given(float_graph, samples)):
        real = floats.run(sample)
        bad = [p.real for p in found if not np.isfinite(real[p.real]).all()]
        if bad:
            raise DataError(f"sample {number} gives NaN or infinity", tensor=bad[0])
        border = quantized_inputs(integer_graph, found, sample)
        stored = integers.run(border)
        own = locals_.run(given_feeds(alone, given, {p.stored: p for p in found}, real, border))
        for layer, pair in zip(result.layers, found, strict=True):
            layer.add(real[pair.real], stored[pair.stored], own.get(pair.stored, stored[pair.stored]))
        result.each.append(outputs.add(number, real, stored))
    if not result.samples:
        raise DataError("a report needs at least one sample")
    result.real, result.reading = outputs.readings()
    result.seconds = time.perf_counter() - start
    return result


def _layers(float_graph: Graph, integer_graph: Graph, found: Iterable[Pair]) -> list[Measured]:
    block, stored = prepared(float_graph).main, integer_graph.main.producers()
    producers = block.producers()
    layers = {name: layer for layer in layers_of(block) for name in layer.tensors}
    result, used = list[Measured](), set[str]()
    for pair in found:
        layer, tensor = layers.get(pair.real), integer_graph.main.tensors[pair.stored]
        name = float_graph.main.tensors[pair.real].source_name or pair.real
        name = name if name not in used else pair.stored  # RESHAPE and the like keep their input's source
        used.add(name)
        result.append(
            Measured(
                name,
                pair.stored,
                _operators(producers.get(pair.real), layer),
                layer.name if layer is not None else "",
                tensor.dtype.name,
                pair.quant,
                peaks=_peaks(block, layer.op) if layer is not None and not _moves(producers.get(pair.real)) else (),
                per_channel=_per_channel(integer_graph.main, pair.stored),
                is_output=pair.stored in integer_graph.main.outputs,
                moves=_moves(producers.get(pair.real)),
                sizes=sizes_of(integer_graph.main, stored, pair.stored),
            )
        )
    return result


def _operators(writer: Operator | None, layer: Layer | None) -> str:
    """What writes a tensor; with the operator before it where that is one layer with a CLAMP."""
    if writer is None:
        return ""
    return f"{layer.op.op}, {writer.op}" if layer is not None and writer.op == "CLAMP" != layer.op.op else writer.op


def _per_channel(block: Block, name: str) -> bool:
    """Whether the RESCALE behind the sums that a tensor holds has a scale for each channel."""
    producers = block.producers()
    op = producers.get(name)
    while op is not None and (_moves(op) or op.op == "CLAMP"):
        op = producers.get(op.inputs[0])
    return op is not None and bool(op.attributes.get("per_channel"))


def _moves(op: Operator | None) -> bool:
    return op is not None and moves_values(op)


def _peaks(block: Block, op: Operator) -> tuple[float, ...]:
    """The largest magnitude of each output channel's weights."""
    if not has_weights(op, frozenset(name for name, t in block.tensors.items() if t.data is not None)):
        return ()
    weight = block.tensors[op.inputs[1]].data
    assert weight is not None
    return tuple(float(v) for v in np.abs(rows_of(op.op, weight)).max(axis=1, initial=0.0))
