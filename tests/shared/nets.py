"""Small quantized networks for the tests of plans and runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tosa_engine import graph as g
from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.infer import infer
from tosa_engine.lower.writer import Writer


class Net:
    """Builds a graph operator by operator; every method returns the name of what it wrote."""

    def __init__(self, seed: int = 0) -> None:
        self.graph = g.new_graph()
        self.block = self.graph.main
        self.writer = Writer(self.block)
        self.rng = np.random.default_rng(seed)

    def input(self, name: str, dtype: types.DType, *shape: int) -> str:
        self.block.add(g.Tensor(name, dtype, shape))
        self.block.inputs.append(name)
        return name

    def const(self, dtype: types.DType, values: Any) -> str:
        return self.writer.constant("const", dtype, np.asarray(values, dtype.storage)).name

    def op(self, op: str, name: str, dtype: types.DType, *inputs: str, **attributes: Any) -> str:
        self.block.add(g.Tensor(name, dtype, None))
        self.writer.append(g.Operator(op, list(inputs), [name], attributes))
        return name

    def done(self, *outputs: str) -> g.Graph:
        self.block.outputs.extend(outputs)
        infer(self.graph)
        return self.graph

    def weights(self, *shape: int, low: int = -127, high: int = 127) -> str:
        return self.const(types.i8, self.rng.integers(low, high, shape, endpoint=True))

    def conv(self, name: str, x: str, weight: str, channels: int, *, op: str = "CONV2D", **attributes: Any) -> str:
        bias = self.const(types.i32, self.rng.integers(-3000, 3000, channels))
        settings: dict[str, Any] = {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)} | attributes
        zero_points = self.const(types.i8, [-5]), self.const(types.i8, [0])
        return self.op(
            op, name, types.i32, x, weight, bias, *zero_points, acc_type=types.i32, local_bound=False, **settings
        )

    def rescale(
        self,
        name: str,
        x: str,
        source: types.DType,
        target: types.DType,
        shift: Any,
        *,
        zero: tuple[int, int] = (0, 0),
        multiplier: Any = None,
        rounding_mode: str = "SINGLE_ROUND",
    ) -> str:
        shifts = np.atleast_1d(np.asarray(shift))
        multipliers = np.full(shifts.shape, 1518500250) if multiplier is None else multiplier
        return self.op(
            "RESCALE", name, target, x, self.const(types.i32, multipliers), self.const(types.i8, shifts),
            self.const(source, [zero[0]]), self.const(target, [zero[1]]), scale32=True, rounding_mode=rounding_mode,
            per_channel=shifts.size > 1, input_unsigned=False, output_unsigned=False,
        )  # fmt: skip


def residual_net(size: int = 12, channels: int = 24) -> g.Graph:
    """Everything that fuses: conv, depthwise, a residual ADD, CLAMP, and TABLE, MAX_POOL2D, RESHAPE, MATMUL behind."""
    i8, i32 = types.i8, types.i32
    net = Net()
    x = net.input("x", i8, 2, size, size, 3)
    net.conv("stem", x, net.weights(channels, 3, 3, 3), channels)
    net.rescale("stem_i8", "stem", i32, i8, net.rng.integers(37, 40, channels), zero=(0, -5))
    net.op("CLAMP", "stem_relu", i8, "stem_i8", min_val=-5, max_val=120, nan_mode="PROPAGATE")
    net.conv("dw", "stem_relu", net.weights(3, 3, channels, 1), channels, op="DEPTHWISE_CONV2D")
    net.rescale("dw_i8", "dw", i32, i8, 38, zero=(0, -5), rounding_mode="DOUBLE_ROUND")
    net.conv("pw", "dw_i8", net.weights(channels, 1, 1, channels), channels, pad=(0, 0, 0, 0))
    net.rescale("pw_i8", "pw", i32, i8, 38, zero=(0, -5))
    left = net.rescale("left", "stem_relu", i8, i32, 12, zero=(-5, 0))
    right = net.rescale("right", "pw_i8", i8, i32, 11, zero=(-5, 0))
    net.op("ADD", "sum", i32, left, right)
    net.rescale("sum_i8", "sum", i32, i8, 52, zero=(0, -5))
    table = net.const(i8, net.rng.integers(-128, 128, 256))
    net.op("TABLE", "activated", i8, "sum_i8", table)
    net.op(
        "MAX_POOL2D", "pooled", i8, "activated", kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode="PROPAGATE"
    )
    half = size // 2
    shape = net.const(types.shape, [2, half * half, channels])
    net.op("RESHAPE", "rows", i8, "pooled", shape)
    net.op("TRANSPOSE", "columns", i8, "rows", perms=(0, 2, 1))
    zeros = net.const(i8, [-5]), net.const(i8, [-5])
    net.op("MATMUL", "gram", i32, "rows", "columns", *zeros)
    net.rescale("gram_i8", "gram", i32, i8, 42)
    net.op("IDENTITY", "out", i8, "gram_i8")
    return net.done("out", "pooled", "rows")


def words_net(size: int = 5, channels: int = 20) -> g.Graph:
    """int16 and int48: sums that two RESCALEs read, TABLE and RESCALE, ADD of what both made."""
    i8, i16, i32, i48 = types.i8, types.i16, types.i32, types.i48
    net = Net()
    x = net.input("x", i16, 1, size, size, 6)
    bias = net.const(i48, net.rng.integers(-(1 << 20), 1 << 20, channels))
    net.op(
        "CONV2D", "acc", i48, x, net.weights(channels, 3, 3, 6), bias, net.const(i16, [0]), net.const(i8, [0]),
        acc_type=i48, local_bound=False, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1),
    )  # fmt: skip
    for name, to, shift in (("y", i16, 40), ("z", i32, 26)):
        numbers = net.const(i16, [20_000]), net.const(i8, [shift]), net.const(i48, [0]), net.const(to, [0])
        net.op(
            "RESCALE", name, to, "acc", *numbers, scale32=False, rounding_mode="SINGLE_ROUND", per_channel=False,
            input_unsigned=False, output_unsigned=False,
        )  # fmt: skip
    net.op("TABLE", "entry", i32, "y", net.const(i16, net.rng.integers(-16_000, 16_000, 513)))
    net.rescale("activated", "entry", i32, i16, 38)
    net.op("ADD", "sum", i32, net.rescale("wide", "activated", i16, i32, 31), "z")
    return net.done("sum", "activated")


def halves_net(dtype: types.DType = types.bf16, size: int = 6, channels: int = 20) -> g.Graph:
    """Floats of 16 bits: PAD in front of windows, CLAMP behind them and behind an ADD."""
    b, rng = Builder(), np.random.default_rng(0)

    def const(*shape: int) -> str:
        return b.const(rng.standard_normal(shape).astype(np.float32).astype(dtype.storage))

    settings: dict[str, Any] = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "local_bound": False}
    zero, limits = np.zeros(1, dtype.storage), {"min_val": 0.0, "max_val": 6.0, "nan_mode": "PROPAGATE"}
    x = b.input(dtype, (2, size, size, channels), "x")
    y = b.op("PAD", x, [0, 0, 1, 1, 1, 1, 0, 0], zero)
    y = b.op("DEPTHWISE_CONV2D", y, const(3, 3, channels, 1), const(channels), 0, 0, acc_type=types.fp32, **settings)
    y = b.op("CLAMP", y, **limits)
    y = b.op("CONV2D", y, const(channels, 1, 1, channels), const(channels), 0, 0, acc_type=types.fp32, **settings)
    b.output(b.op("CLAMP", b.op("ADD", x, y), **limits))
    return b.graph()


def feeds_of(graph: g.Graph, seed: int = 1) -> dict[str, Any]:
    """Random integers, or floats about 1, for every graph input."""
    rng = np.random.default_rng(seed)
    found = {}
    for tensor in graph.inputs:
        assert tensor.shape is not None
        if tensor.dtype.is_float:
            found[tensor.name] = rng.standard_normal(tensor.shape).astype(tensor.dtype.storage)
        else:
            low, high = tensor.dtype.minimum, tensor.dtype.maximum
            found[tensor.name] = rng.integers(low, high, tensor.shape, endpoint=True).astype(tensor.dtype.storage)
    return found
