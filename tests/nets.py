"""Small quantized networks for the tests of plans and runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tosa_engine import graph as g
from tosa_engine import types
from tosa_engine.infer import infer


class Net:
    """Builds a graph operator by operator; every method returns the name of what it wrote."""

    def __init__(self, seed: int = 0) -> None:
        self.graph = g.new_graph()
        self.block = self.graph.main
        self.rng = np.random.default_rng(seed)

    def input(self, name: str, dtype: types.DType, *shape: int) -> str:
        self.block.add(g.Tensor(name, dtype, shape))
        self.block.inputs.append(name)
        return name

    def const(self, dtype: types.DType, values: Any) -> str:
        data = np.asarray(values, dtype.storage)
        name = self.block.fresh("const")
        self.block.add(g.Tensor(name, dtype, data.shape, data))
        kind = "CONST_SHAPE" if dtype is types.shape else "CONST"
        self.block.operators.append(g.Operator(kind, [], [name]))
        return name

    def op(self, op: str, name: str, dtype: types.DType, *inputs: str, **attributes: Any) -> str:
        self.block.add(g.Tensor(name, dtype, None))
        self.block.operators.append(g.Operator(op, list(inputs), [name], attributes))
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
