"""Float graphs built by hand, and their integer forms compared with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quant import LayerRule, Options, quantize_from_samples
from quant.legalize.quantize import quantize
from quant.ranges import activation_qparams
from tosa_engine import oracle, types
from tosa_engine.graph import Graph, Location, Operator, QParams, Tensor, new_graph
from tosa_engine.infer import infer
from tosa_engine.lower.composites import grouped
from tosa_engine.lower.writer import Writer
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.types import Array, Shape

QUANT = QParams((0.03,), (-5,))


class Floats:
    """A TOSA-FP graph under construction; each method adds one operator and returns the name of its output."""

    def __init__(self) -> None:
        self.graph: Graph = new_graph()
        self.block = self.graph.main
        self.writer = Writer(self.block)

    def input(self, shape: Shape, quant: QParams | None = None, name: str = "x") -> str:
        self.block.add(Tensor(name, types.fp32, shape, quant=quant))
        self.block.inputs.append(name)
        return name

    def const(self, values: Any, quant: QParams | None = None, dtype: types.DType = types.fp32) -> str:
        return self.writer.constant("const", dtype, np.asarray(values, dtype.storage), quant).name

    def op(
        self,
        op: str,
        inputs: Sequence[str],
        quant: QParams | None = None,
        name: str = "",
        dtype: types.DType = types.fp32,
        **attributes: Any,
    ) -> str:
        name = self.writer.tensor(name or op.lower(), dtype, None, quant=quant).name
        if op in ("MAXIMUM", "MINIMUM", "CLAMP", "MAX_POOL2D", "REDUCE_MAX", "ARGMAX"):
            attributes["nan_mode"] = "PROPAGATE"
        if op in ("MATMUL", "NEGATE", "AVG_POOL2D"):
            zero = self.const([0.0])
            inputs = [*inputs, zero, zero]
        if op == "MUL":
            inputs = [*inputs, self.const([0], dtype=types.i8)]
        self.writer.append(Operator(op, list(inputs), [name], attributes))
        infer(self.graph)
        return name

    def composite(self, op: str, x: str, quant: QParams | None = None, **attributes: Any) -> str:
        output = grouped(self.writer, op, self.block.tensors[x], **attributes)
        output.quant = quant
        return output.name

    def conv(self, x: str, weight: Array, bias: Array, quant: QParams | None = None, **spatial: Any) -> str:
        zero = self.const([0.0])
        attributes = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": types.fp32, **spatial}
        op = attributes.pop("op", "CONV2D")
        weight_quant = attributes.pop("weight_quant", None)
        inputs = [x, self.const(weight, weight_quant), self.const(bias), zero, zero]
        return self.op(op, inputs, quant, local_bound=False, **attributes)

    def relu(self, x: str, quant: QParams | None = None, low: float = 0.0, high: float = 3.4e38) -> str:
        return self.op("CLAMP", [x], quant, min_val=low, max_val=high)

    def outputs(self, *names: str) -> Graph:
        self.block.outputs = list(names)
        return self.graph


def calibrated(graph: Graph, feeds: Sequence[Mapping[str, Array]], skip: Sequence[str] = ()) -> None:
    """Give every activation without QParams the range it has for these inputs (`skip`: leave without)."""
    seen: dict[str, list[Array]] = {}
    for feed in feeds:
        oracle.run(graph, feed, lambda _, name, array: seen.setdefault(name, []).append(array))
    for tensor in graph.main.tensors.values():
        if tensor.quant is None and tensor.data is None and tensor.dtype is types.fp32 and tensor.name not in skip:
            arrays = np.stack(seen[tensor.name])
            tensor.quant = activation_qparams(float(arrays.min()), float(arrays.max()))


def errors(graph: Graph, *, seed: int = 0, rounds: int = 4, skip: Sequence[str] = ()) -> tuple[float, Graph]:
    """The largest error in LSB of any output over random inputs, in the range that int8 holds; and the integer graph.

    Missing QParams come from the same inputs. Float inputs are what the stored integers stand for, so that only the
    operators' own errors count.
    """
    rng = np.random.default_rng(seed)
    for tensor in graph.inputs:
        tensor.quant = tensor.quant or activation_qparams(-2.0, 3.0)
    stored = [{t.name: rng.integers(-128, 128, t.shape).astype(np.int8) for t in graph.inputs} for _ in range(rounds)]
    feeds = [{t.name: real(s[t.name], t.quant) for t in graph.inputs} for s in stored]
    calibrated(graph, feeds, skip)
    integer = quantize(graph)
    worst = 0.0
    for ints, floats in zip(stored, feeds, strict=True):
        got, wanted = oracle.run(integer, ints), oracle.run(graph, floats)
        for tensor in integer.outputs:
            exact = wanted[tensor.name].astype(np.float64)
            if tensor.quant is not None:
                exact = np.clip(exact / tensor.quant.scale[0] + tensor.quant.zero_point[0], -128, 127)
            worst = max(worst, float(np.abs(got[tensor.name] - exact).max()))
    return worst, integer


def real(stored: Array, quant: QParams | None) -> Array:
    assert quant is not None
    return dequantize_array(stored, quant).astype(np.float32)


def quality(graph: Graph, samples: Sequence[Mapping[str, Array]], *rules: LayerRule) -> tuple[float, list[str]]:
    """The SQNR in dB of `y` with default options and these rules, and the notes of what was made."""
    made = quantize_from_samples(graph, samples, Options(rules=rules))
    (into,), (out,) = made.graph.inputs, made.graph.outputs
    assert into.quant is not None
    signal = noise = 0.0
    for sample in samples:
        wanted = oracle.run(graph, sample)["y"]
        found = oracle.run(made.graph, {"x": quantize_array(sample["x"], into.quant)})["y"]
        signal, noise = signal + float((wanted**2).sum()), noise + float(((real(found, out.quant) - wanted) ** 2).sum())
    return float(10 * np.log10(signal / noise)), made.notes


def operators(graph: Graph) -> list[str]:
    """The operators of a graph without constants, in order."""
    return [op.op for op in graph.main.operators if op.op not in ("CONST", "CONST_SHAPE")]


def small_network(seed: int = 0) -> Graph:
    """Two convolutions with relu, a residual, pooling, a fully connected layer and softmax, calibrated."""
    rng = np.random.default_rng(seed)

    def w(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))

    f = Floats()
    x = f.input((1, 6, 6, 3), QUANT)
    a = f.relu(f.conv(x, w(8, 3, 3, 3), w(8), pad=(1, 1, 1, 1)))
    b = f.conv(a, w(8, 1, 1, 8), w(8))
    c = f.relu(f.op("ADD", [a, b]))
    d = f.op("MAX_POOL2D", [c], kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0))
    e = f.composite("mean", d, axes=(1, 2))
    g = f.conv(e, w(10, 1, 1, 8) * 4, w(10))
    h = f.op("RESHAPE", [g, f.const((1, 10), dtype=types.shape)])
    y = f.composite("softmax", h, QParams((1 / 256,), (-128,)), axis=1)
    graph = f.outputs(y)
    for line, tensor in enumerate(graph.main.tensors.values(), 1):
        tensor.source = Location("net.nnef", line, f"nnef_{tensor.name}")
    for op in graph.main.operators:
        op.location = Location("net.nnef", 1, op.outputs[0])
    feeds = [{"x": rng.normal(size=(1, 6, 6, 3)).astype(np.float32)} for _ in range(8)]
    calibrated(graph, feeds)
    for op in graph.main.operators:  # as calibration shares them
        if op.op in ("CLAMP", "MAX_POOL2D", "RESHAPE"):
            before, after = graph.main.tensors[op.inputs[0]], graph.main.tensors[op.outputs[0]]
            if op.op == "CLAMP":
                before.quant = after.quant
            else:
                after.quant = before.quant
    return graph
