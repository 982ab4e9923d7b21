"""Three small networks for planted faults: of convolutions, of attention, and with int48 accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from nets import Net

from tosa_engine import types

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

i8, i16, i32, i48 = types.i8, types.i16, types.i32, types.i48


def convolutions() -> Graph:
    """A padded convolution with a scale per channel, a residual ADD, PAD, CONCAT, MAX_POOL2D, RESIZE and a sum."""
    net = Net(11)
    x = net.input("x", i8, 1, 8, 8, 6)
    net.conv("acc", x, net.weights(8, 3, 3, 6), 8, pad=(1, 1, 1, 1))
    net.rescale("conv", "acc", i32, i8, [38, 37, 38, 39, 38, 37, 36, 38], zero=(0, 4))
    net.conv("deep", "conv", net.weights(3, 3, 8, 1), 8, op="DEPTHWISE_CONV2D", pad=(1, 1, 1, 1))
    net.rescale("depthwise", "deep", i32, i8, [37] * 8, zero=(0, -6))
    net.rescale("left", "conv", i8, i32, 22, zero=(4, 0), multiplier=[1 << 30])
    net.rescale("right", "depthwise", i8, i32, 22, zero=(-6, 0), multiplier=[1518500250])
    net.op("ADD", "both", i32, "left", "right")
    net.rescale("sum", "both", i32, i8, 39, zero=(0, 3), multiplier=[1518500250])
    net.op("PAD", "padded", i8, "sum", net.const(types.shape, [0, 0, 1, 1, 1, 1, 0, 0]), net.const(i8, [3]))
    net.op("MAX_POOL2D", "pooled", i8, "padded", kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0),
           nan_mode="PROPAGATE")  # fmt: skip
    net.op("NEGATE", "negated", i8, "pooled", net.const(i8, [3]), net.const(i8, [3]))
    net.op("CONCAT", "joined", i8, "pooled", "negated", axis=3)
    net.op(
        "RESIZE",
        "large",
        i32,
        "joined",
        net.const(types.shape, [4, 2, 4, 2]),
        net.const(types.shape, [-1, -1]),
        net.const(types.shape, [1, 1]),
        mode="BILINEAR",
    )
    net.rescale("resized", "large", i32, i8, 34, zero=(0, 1), multiplier=[1 << 30])
    net.rescale("wide", "resized", i8, i32, 20, zero=(1, 0), multiplier=[1 << 30])
    net.op("REDUCE_SUM", "rows", i32, "wide", axis=1)
    net.rescale("out", "rows", i32, i8, 44, zero=(0, -2), multiplier=[1300000000])
    return net.done("out")


def attention() -> Graph:
    """Two heads: scores of queries and keys, their maxima, and the values that they weigh."""
    net = Net(12)
    a, b = net.input("query", i8, 2, 6, 6), net.input("key", i8, 2, 6, 6)
    net.op("MATMUL", "products", i32, a, b, net.const(i8, [5]), net.const(i8, [-9]))
    net.rescale("scores", "products", i32, i8, 39, zero=(0, 11), multiplier=[1700000000])
    net.op("REDUCE_MAX", "most", i8, "scores", axis=2, nan_mode="PROPAGATE")
    net.rescale("less", "scores", i8, i32, 20, zero=(11, 0), multiplier=[1 << 20])
    net.rescale("greatest", "most", i8, i32, 20, zero=(11, 0), multiplier=[1 << 20])
    net.op("SUB", "below", i32, "less", "greatest")
    net.rescale("index", "below", i32, i8, 31, zero=(0, 127), multiplier=[1 << 30])
    net.op("TABLE", "weights", i8, "index", net.const(i8, np.minimum(127, np.exp((np.arange(256) - 255) / 40) * 127)))
    net.op("MATMUL", "weighed", i32, "weights", net.input("value", i8, 2, 6, 5), net.const(i8, [0]), net.const(i8, [3]))
    net.rescale("out", "weighed", i32, i8, 38, zero=(0, 7), multiplier=[1700000000])
    return net.done("out")


def int48() -> Graph:
    """int16: a convolution in int48, scaled per channel by 16 bits; a table with its scale."""
    net = Net(13)
    x = net.input("x", i16, 1, 6, 6, 16)
    zeros = net.const(i16, [0]), net.const(i8, [0])
    bias = net.const(i48, net.rng.integers(-(1 << 33), 1 << 33, 8))
    weight = net.const(i8, net.rng.choice([-128, -127, 126, 127], (8, 3, 3, 16)))
    net.op("CONV2D", "acc", i48, x, weight, bias, *zeros, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1),
           acc_type=i48, local_bound=False)  # fmt: skip
    multiplier, shift = net.const(i16, net.rng.integers(16384, 32767, 8)), net.const(i8, [35] * 8)
    net.op("RESCALE", "scaled", i16, "acc", multiplier, shift, net.const(i48, [0]), net.const(i16, [0]), scale32=False,
           rounding_mode="SINGLE_ROUND", per_channel=True, input_unsigned=False, output_unsigned=False)  # fmt: skip
    entries = (30000 * np.tanh(np.arange(-256, 257) / 90)).astype(np.int16)
    net.op("TABLE", "table", i32, "scaled", net.const(i16, entries))
    net.rescale("out", "table", i32, i16, 38)
    return net.done("out")
