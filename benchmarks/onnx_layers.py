"""Each layer of a quantized ONNX model beside ONNX Runtime, given the same integers.

    python benchmarks/onnx_layers.py MODEL.onnx BUNDLE.npz [--data SAMPLES.npz] [--layer SELECTOR=PRECISION]

The model has QuantizeLinear and DequantizeLinear; BUNDLE has its inputs, as `NAME` or `cN.in.NAME` for case N. ONNX
Runtime, with all its optimizations off, tells what every QuantizeLinear gives. What lies between such tensors is a
layer of our integer graph: it gets ONNX Runtime's integers, and its result is compared with ONNX Runtime's. The graph
may have channels last; which axis is which is found by comparing whole runs. `--data` gives ranges to tensors that the
model has no scale for; without it they stay floats.

Exit code 1: a layer has more than 0.1 % of elements that are more than 1 away.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from layers import Row, compared, markdown

from tosa_engine import Session, cli
from tosa_engine.load import load
from tosa_engine.runtime.real import stored
from tosa_engine.watch import KeptTensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.graph import Graph

Array = np.ndarray[Any, np.dtype[Any]]
ENOUGH = 0.999


def runtime_values(model: Path, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """What ONNX Runtime has in the tensors that are dequantized, by the names of what DequantizeLinear gives."""
    proto = onnx.load(model)
    constants = {one.name for one in proto.graph.initializer}
    nodes = [n for n in proto.graph.node if n.op_type == "DequantizeLinear" and n.input[0] not in constants]
    stored = {node.output[0]: node.input[0] for node in nodes}
    there = {output.name for output in proto.graph.output} | set(feeds)
    for name in dict.fromkeys(stored.values()):
        if name not in there:
            proto.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    arrays = {**feeds, **dict(zip(names, session.run(names, dict(feeds)), strict=True))}
    return {real: arrays[name] for real, name in stored.items()} | {
        output.name: arrays[output.name] for output in onnx.load(model).graph.output
    }


def compare(graph: Graph, arrays: Mapping[str, Array], feeds: Mapping[str, Array]) -> list[Row]:
    """A row for each tensor of the integer graph that ONNX Runtime has, too."""
    known = {**_lined_up(graph, arrays, feeds), **feeds}
    return [compared(graph, known, name)[0] for name in known if name not in feeds]


def _lined_up(graph: Graph, arrays: Mapping[str, Array], feeds: Mapping[str, Array]) -> dict[str, Array]:
    """ONNX Runtime's integers as tensors of the graph hold them: signed, and with its order of axes."""
    tensors = graph.main.tensors
    names = [n for n, a in arrays.items() if n in tensors and tensors[n].quant is not None and a.dtype.kind in "iu"]
    kept = KeptTensors(graph, names, threads=1)
    whole, found = kept.run(feeds), {}
    for name in names:
        theirs, ours = arrays[name], whole[name]
        if theirs.dtype == np.uint8:
            theirs = theirs.astype(np.int16) - 128
        orders = [theirs, np.moveaxis(theirs, 1, -1)] if theirs.ndim > 2 else [theirs]
        fitting = [order for order in orders if order.shape == ours.shape]
        if fitting:
            nearest = min(fitting, key=lambda order: float(np.abs(order.astype(np.float64) - ours).sum()))
            found[name] = np.ascontiguousarray(nearest.astype(tensors[name].dtype.storage))
    return found


def inputs_of(bundle: Path, names: Sequence[str]) -> list[dict[str, Array]]:
    with np.load(bundle) as arrays:
        cases = sorted({key.split(".")[0] for key in arrays.files if ".in." in key})
        if not cases:
            return [{name: arrays[name if name in arrays.files else arrays.files[0]] for name in names}]
        return [{name: arrays[f"{case}.in.{name}"] for name in names} for case in cases]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, metavar="MODEL.onnx")
    parser.add_argument("bundle", type=Path, metavar="BUNDLE.npz")
    parser.add_argument("--data", metavar="SAMPLES.npz", help="of `tosa-engine quantize`")
    parser.add_argument("--layer", action="append", default=[], metavar="SELECTOR=PRECISION", help="the same")
    parser.add_argument("--made", type=Path, default=Path("out/onnx_layers.tosa"), help="where the integers go")
    args = parser.parse_args(words)
    args.made.parent.mkdir(parents=True, exist_ok=True)
    data = ["--data", args.data] if args.data else []
    data += [word for rule in args.layer for word in ("--layer", rule)]
    if code := cli.main(["quantize", str(args.model), *data, "-o", str(args.made), "-q"]):
        return code
    graph = load(args.made)
    worst: dict[str, Row] = {}
    for feeds in inputs_of(args.bundle, graph.main.inputs):
        for row in compare(graph, runtime_values(args.model, feeds), _fed(graph, feeds)):
            if row.name not in worst or row.within < worst[row.name].within:
                worst[row.name] = row
    print(markdown(list(worst.values())))
    return int(any(row.within < ENOUGH for row in worst.values()))


def _fed(graph: Graph, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs of the graph, as integers where they are quantized."""
    return stored(Session(graph, threads=1).inputs, feeds)


if __name__ == "__main__":
    sys.exit(main())
