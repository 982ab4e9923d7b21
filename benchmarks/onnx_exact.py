"""How far a quantized ONNX network is from what its file says: python benchmarks/onnx_exact.py MODELS

MODELS has `perf/NAME/` with `int8_qdq.onnx` and `float_io.npz`. What the file says is computed node by node in float64
by PyTorch: DequantizeLinear multiplies, QuantizeLinear divides and takes the even one of two integers that are equally
near. Of the output's elements: the shares that are equal to that, and within 1 unit of it, for our integer graph and
for ONNX Runtime with and without its optimizations. *Layers*: of the elements of all layers of our graph that get the
file's own integers, how many are another integer than the file says, for the first input. One of them changes most of
what follows it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
from onnx_layers import compare
from onnx_qdq import inputs_of, quantized, runtime
from torch.nn import functional

from tosa_engine import Session
from tosa_engine.load import load
from tosa_engine.runtime.real import stored

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, np.dtype[Any]]
FINE = 2.0**30  # parts of a step
SIMPLE = {
    "Relu": torch.relu, "Sigmoid": torch.sigmoid, "Erf": torch.erf, "Add": torch.add, "Mul": torch.mul,
    "Div": torch.div, "MatMul": torch.matmul,
}  # fmt: skip


def axes(values: Any, rank: int, axis: int) -> Any:
    return values.reshape([-1 if i == axis else 1 for i in range(rank)]) if values.numel() > 1 else values


def window(attributes: dict[str, Any]) -> dict[str, Any]:
    pads = attributes.get("pads", [0, 0, 0, 0])
    assert pads[:2] == pads[2:], "one padding for both sides"
    return {"stride": attributes.get("strides", 1), "padding": pads[:2]}


def compute(op: str, x: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """A node of floats."""
    first, more = x[0], x[1:]
    if op == "Conv":
        return functional.conv2d(first, *more, **window(attributes), groups=attributes.get("group", 1))
    if op == "ConvTranspose":
        return functional.conv_transpose2d(first, *more, **window(attributes))
    if op == "MaxPool":
        return functional.max_pool2d(first, attributes["kernel_shape"], **window(attributes))
    if op == "Gemm":
        weight = more[0].T if attributes.get("transB") else more[0]
        return first @ weight + more[1]
    if op == "Resize":
        mode = attributes["mode"].decode()
        smooth = {"align_corners": False} if mode == "linear" else {}
        size = [round(n * float(factor)) for n, factor in zip(first.shape[2:], more[-1][2:], strict=True)]
        return functional.interpolate(first, size, mode="bilinear" if smooth else "nearest", **smooth)
    if op == "Clip":
        return torch.clamp(first, more[0], more[1])
    if op == "Concat":
        return torch.cat(list(x), attributes["axis"])
    if op in ("GlobalAveragePool", "ReduceMean"):
        return first.mean((2, 3), keepdim=op == "GlobalAveragePool" or bool(attributes.get("keepdims", 1)))
    if op == "LayerNormalization":
        return functional.layer_norm(first, first.shape[-1:], *more, eps=attributes["epsilon"])
    if op == "Softmax":
        return torch.softmax(first, attributes["axis"])
    if op == "Transpose":
        return first.permute(attributes["perm"])
    if op == "Flatten":
        return first.flatten(1)
    if op == "Reshape":
        return first.reshape([int(n) for n in more[0]])
    return SIMPLE[op](*x)


def exact(model: Path, x: Array) -> tuple[Array, dict[str, Array]]:
    """The output in float64, and the integers that are dequantized, by the names of what DequantizeLinear gives."""
    graph = onnx.load(model).graph
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    values = {name: torch.from_numpy(np.array(array, np.float64)) for name, array in arrays.items()}
    values[graph.input[0].name] = torch.from_numpy(x.astype(np.float64))
    for node in graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        given = [values[name] for name in node.input if name]
        if node.op_type == "Constant":
            array = np.array(onnx.numpy_helper.to_array(attributes["value"]), np.float64)
            found = torch.from_numpy(array)
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            found = quantize(node, given, attributes, arrays)
        else:
            found = compute(node.op_type, given, attributes)
        values[node.output[0]] = found
    integers = {
        node.output[0]: values[node.input[0]].numpy().astype(arrays[node.input[2]].dtype)
        for node in graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] not in arrays
    }
    return values[graph.output[0].name].numpy(), integers


def quantize(node: Any, given: Sequence[Any], attributes: dict[str, Any], arrays: dict[str, Array]) -> Any:
    x = given[0]
    scale, zero = (axes(one, x.dim(), attributes.get("axis", 1)) for one in given[1:])
    if node.op_type == "DequantizeLinear":
        return (x - zero) * scale
    ends = np.iinfo(arrays[node.input[2]].dtype)
    steps = torch.round(x / scale * FINE) / FINE  # without the noise of float64, which would hide a half
    return torch.clamp(torch.round(steps) + zero, ends.min, ends.max)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("--networks", nargs="*", default=[], metavar="NAME", help="these only")
    args = parser.parse_args(words)
    print("| network | ours: equal, within 1 | layers | ONNX Runtime | with its optimizations |\n|---|---|---|---|---|")
    for folder in sorted((args.models / "perf").iterdir()):
        if args.networks and folder.name not in args.networks:
            continue
        model = folder / "int8_qdq.onnx"
        with tempfile.TemporaryDirectory() as name:
            graph = load(quantized([model], Path(name) / "qdq.tosa"))
        session = Session(graph, threads=1)
        (port,) = session.outputs
        assert port.quant is not None, "the output has no scale"
        engines = [session.run_real, runtime(model).run, runtime(model, optimized=True).run]
        far: list[list[Array]] = [[], [], []]
        layers = ""
        for x in inputs_of(folder):
            wanted, integers = exact(model, x)
            if not layers:
                rows = compare(graph, integers, stored(session.inputs, {"in0": x}))
                layers = f"{sum(row.differing for row in rows)} of {sum(row.size for row in rows):,} in {len(rows)}"
            for units, run in zip(far, engines, strict=True):
                units.append(np.abs(run(None, {"in0": x})[0] - wanted).ravel() / port.quant.scale[0])
        shares = [[100 * np.mean(np.concatenate(units) < most) for most in (0.5, 1.5)] for units in far]
        cells = [f"{equal:.3f} %, {near:.3f} %" for equal, near in shares]
        print(f"| {' | '.join([folder.name, cells[0], layers, *cells[1:]])} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
