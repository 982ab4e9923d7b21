"""What the error of each layer alone does to the outputs of the network.

The float network runs with the error of one layer added to what that layer writes: the difference between its integers,
given quantized floats, and its floats. Nothing else is quantized. One plan serves all layers: other errors are zero.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import Session, types
from tosa_engine.compare.agreement import Agreement
from tosa_engine.graph import Operator, Tensor
from tosa_engine.qparams.arrays import dequantize_array
from tosa_engine.watch import KeptTensors

from .errors import common_pairs, quantized_inputs
from .local import given_feeds, isolated_layers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Graph, QParams
    from tosa_engine.types import Array

    from .measured import Measured

MOST_SAMPLES = 2


def measure_effects(
    float_graph: Graph,
    integer_graph: Graph,
    layers: Iterable[Measured],
    samples: Iterable[Mapping[str, Array]],
    seconds: float,
    qparams: Mapping[str, QParams] | None = None,
) -> None:
    """Fill in `effect` of the layers for as long as there is time, those with the largest errors of their own first."""
    end = time.monotonic() + seconds
    found = {pair.stored: pair for pair in common_pairs(float_graph, integer_graph, qparams)}
    alone, given = isolated_layers(integer_graph, found)
    floats = KeptTensors(float_graph, [pair.real for pair in found.values()])
    locals_ = KeptTensors(alone, alone.main.outputs)
    shifted, errors = with_errors(float_graph, [pair.real for pair in found.values()])
    session = Session(shifted)
    zeros = {t.name: np.zeros(t.shape or (), np.float32) for t in shifted.inputs if t.name in errors.values()}
    ordered = sorted((x for x in layers if x.operator and not x.moves), key=lambda layer: layer.local.sqnr)
    for sample in islice(samples, MOST_SAMPLES):
        real = floats.run(sample)
        border = quantized_inputs(integer_graph, found.values(), sample)
        own = locals_.run(given_feeds(alone, given, found, real, border))
        feeds = {**zeros, **sample}
        wanted = session.run(None, feeds)
        for layer in ordered:
            pair = found[layer.stored]
            if time.monotonic() > end:
                return
            if pair.real not in errors or layer.stored not in own:
                continue
            error = dequantize_array(own[layer.stored], pair.quant) - real[pair.real]
            outputs = session.run(None, feeds | {errors[pair.real]: error.astype(np.float32)})
            if layer.effect is None:
                layer.effect = Agreement()
            for output, exact in zip(outputs, wanted, strict=True):
                layer.effect.add_floats(output, exact)


def with_errors(graph: Graph, names: Iterable[str]) -> tuple[Graph, dict[str, str]]:
    """A copy in which a new input is added to each of the fp32 tensors that an operator writes; its name by theirs."""
    copied = graph.copy()
    block = copied.main
    written = block.producers()
    errors: dict[str, str] = {}
    for name in dict.fromkeys(names):
        tensor = block.tensors[name]
        if name not in written or tensor.dtype is not types.fp32:
            continue
        error = block.add(Tensor(block.fresh(f"{name}/error"), tensor.dtype, tensor.shape)).name
        total = block.add(Tensor(block.fresh(f"{name}/with error"), tensor.dtype, tensor.shape)).name
        for op in block.operators:
            op.inputs = [total if read == name else read for read in op.inputs]
        block.outputs = [total if output == name else output for output in block.outputs]
        at = next(i for i, op in enumerate(block.operators) if name in op.outputs)
        block.operators.insert(at + 1, Operator("ADD", [name, error], [total]))
        block.inputs.append(error)
        errors[name] = error
    return copied, errors
