"""The networks that `warmup` compiles for when it gets no model: small, and with the kernels that most models need.

For int8 and for int16 activations: a convolutional network (first layer, 1x1, 3x3 and 5x5, depthwise with both strides,
residual additions, activation by clamp and by table, pooling, a mean, classifier), and attention with a softmax of
integers and the end of a normalisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from ..builder import Builder

if TYPE_CHECKING:
    from ..graph import Graph, Tensor
    from ..types import DType

MULTIPLIER = 1 << 30
SIGNS = np.array([1, -1, 1, 1, -1, 1, 1], np.int8)  # weights, over and over, so that sums neither vanish nor saturate


@dataclass(frozen=True)
class Net:
    """A network in the making. `format` is that of activations, `accumulator` that of sums of products."""

    b: Builder
    format: DType
    accumulator: DType

    def rescale(self, x: Tensor, wanted: DType, shift: int, channels: int = 1) -> Tensor:
        """Times 2^(30 - shift); int48 takes a multiplier of 16 bits, so the shift is smaller by 16."""
        wide = x.dtype is not types.i48
        multiplier = np.full(channels, MULTIPLIER, np.int32) if wide else np.full(channels, MULTIPLIER >> 16, np.int16)
        shifts = np.full(channels, shift if wide else shift - 16, np.int8)
        found: Tensor = self.b.op(
            "RESCALE", x, multiplier, shifts, 0, self.b.const([0], wanted), dtype=wanted, scale32=wide,
            rounding_mode="SINGLE_ROUND", per_channel=channels > 1, input_unsigned=False, output_unsigned=False,
        )  # fmt: skip
        return found

    def sums(self, x: Tensor, kernel: int, channels: int, stride: int = 1, op: str = "CONV2D") -> Tensor:
        """A convolution with kernel x kernel weights, in the format of accumulators."""
        depth = (x.shape or ())[3]
        shape = (kernel, kernel, depth, 1) if op == "DEPTHWISE_CONV2D" else (channels, kernel, kernel, depth)
        weight, bias = self.b.const(np.resize(SIGNS, shape)), self.b.const(np.ones(channels), self.accumulator)
        size = (x.shape or ())[1]
        before = kernel // 2
        after = stride * -(-size // stride) - stride + kernel - size - before
        settings: dict[str, Any] = {"stride": (stride, stride), "dilation": (1, 1), "local_bound": False}
        found: Tensor = self.b.op(op, x, weight, bias, 0, 0, pad=(before, after, before, after), **settings)
        return found

    def conv(
        self, x: Tensor, kernel: int, channels: int, stride: int = 1, op: str = "CONV2D", wanted: DType | None = None,
        shift: int = 34,
    ) -> Tensor:  # fmt: skip
        """A convolution, back in the format of activations or in the wanted one."""
        return self.rescale(self.sums(x, kernel, channels, stride, op), wanted or self.format, shift, channels)

    def fork(self, x: Tensor, channels: int) -> tuple[Tensor, Tensor]:
        """A 1x1 convolution for the next layer, and for an addition behind it: int48 is scaled for each on its own."""
        if self.accumulator is not types.i48:
            found = self.conv(x, 1, channels)
            return found, found
        sums = self.sums(x, 1, channels)
        return self.rescale(sums, self.format, 34, channels), self.rescale(sums, types.i32, 34, channels)

    def clamp(self, x: Tensor) -> Tensor:
        found: Tensor = self.b.op("CLAMP", x, min_val=0, max_val=self.format.maximum, nan_mode="PROPAGATE")
        return found

    def table(self, x: Tensor) -> Tensor:
        """A function of 256 entries, or of 513, whose result has 32 bits."""
        if self.format is types.i8:
            found: Tensor = self.b.op("TABLE", x, self.b.const(np.arange(-128, 128).astype(np.int8)))
            return found
        return self.rescale(self.b.op("TABLE", x, self.b.const(np.arange(-256, 257).astype(np.int16))), self.format, 33)

    def add(self, x: Tensor, y: Tensor, op: str = "ADD") -> Tensor:
        sides = (side if side.dtype is types.i32 else self.rescale(side, types.i32, 20) for side in (x, y))
        return self.rescale(self.b.op(op, *sides), self.format, 40)

    def mean(self, x: Tensor) -> Tensor:
        """Of height and width, by sums along one axis after the other."""
        x = self.rescale(x, types.i32, 30)
        for axis in (1, 2):
            x = self.b.op("REDUCE_SUM", x, axis=axis)
        return self.rescale(x, self.format, 34)

    def affine(self, x: Tensor) -> Tensor:
        """Times a constant, plus a constant, whose scales are computed ahead: the end of a normalisation."""
        for op, zero, shift in (("MUL", [0], 34), ("ADD", [], 31)):
            channels = self.b.const(np.arange((x.shape or ())[-1]).reshape(1, 1, 1, -1), self.format)
            sides = (self.rescale(side, types.i32, 30) for side in (x, channels))
            x = self.rescale(self.b.op(op, *sides, *zero), self.format, shift)
        return x


def convolutional(format: DType, accumulator: DType) -> Graph:
    """What mobile and residual networks are made of, at 16 x 16."""
    b = Builder(f"a convolutional network of {format}")
    net = Net(b, format, accumulator)
    image = b.input(format, (1, 3, 32, 32), "image")
    x = net.clamp(net.conv(b.op("TRANSPOSE", image, perms=(0, 2, 3, 1)), 3, 16, stride=2))
    y = net.clamp(net.conv(x, 1, 32))
    y = net.clamp(net.conv(y, 3, 32, op="DEPTHWISE_CONV2D"))
    x = net.add(net.conv(y, 1, 16, wanted=types.i32 if accumulator is types.i48 else None), x)
    y = net.conv(net.conv(x, 1, 64), 3, 64)  # enough channels for the transforms of winograd.py
    y, narrow = net.fork(y, 16)
    x = net.clamp(net.add(net.add(net.conv(y, 3, 16), narrow), x))
    x = net.conv(net.table(x), 5, 32, stride=2)
    x = net.conv(x, 3, 32, stride=2, op="DEPTHWISE_CONV2D")
    x = b.op("PAD", x, [0, 0, 1, 1, 1, 1, 0, 0], 0)
    x = b.op("MAX_POOL2D", x, kernel=(3, 3), stride=(1, 1), pad=(0, 0, 0, 0), nan_mode="PROPAGATE")
    x = b.op("CONCAT", [x, b.op("SLICE", x, [0, 0, 0, 0], [1, 4, 4, 16])], axis=3)
    x = net.add(b.op("AVG_POOL2D", x, 0, 0, kernel=(4, 4), stride=(1, 1), pad=(0, 0, 0, 0)), net.mean(x))
    x = net.conv(x, 1, 10)
    for _ in range(3 if format is types.i16 else 0):  # a chain on a few elements: one step of kernels/small
        x = net.add(x, net.table(x))
    b.output(b.op("RESHAPE", x, [1, 10]))
    return b.graph()


def attention(format: DType, accumulator: DType) -> Graph:
    """The end of a normalisation, queries times keys, a softmax by tables, times values, an addition; 16 tokens of 32
    channels.
    """
    b = Builder(f"attention of {format}")
    net = Net(b, format, accumulator)
    x = net.affine(b.input(format, (1, 1, 16, 32), "tokens"))
    query, key, value = (b.op("RESHAPE", net.conv(x, 1, 32), [1, 16, 32]) for _ in range(3))
    scores = b.op("MATMUL", query, b.op("TRANSPOSE", key, perms=(0, 2, 1)), 0, 0)
    scores = net.rescale(scores, format, 38)
    largest = b.op("REDUCE_MAX", scores, axis=2, nan_mode="PROPAGATE")
    sides = (net.rescale(side, types.i32, 24) for side in (scores, largest))
    powers = net.table(net.rescale(b.op("SUB", *sides), format, 38))
    total = b.op("REDUCE_SUM", net.rescale(powers, types.i32, 30), axis=2)
    inverse = net.table(net.rescale(total, format, 38))
    factors = (net.rescale(side, types.i32, 30) for side in (powers, inverse))
    weights = net.rescale(b.op("MUL", *factors, 0), format, 38)
    mixed = net.rescale(b.op("MATMUL", weights, value, 0, 0), format, 38)
    b.output(net.add(b.op("RESHAPE", mixed, [1, 1, 16, 32]), x))
    return b.graph()


def standard() -> list[Graph]:
    """Every network of the set; their sources name them."""
    formats = ((types.i8, types.i32), (types.i16, types.i48))
    return [make(format, accumulator) for format, accumulator in formats for make in (convolutional, attention)]
