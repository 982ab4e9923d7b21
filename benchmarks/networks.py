"""The graphs of operators.py: single operators with what is fused into them, by the shapes of known networks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import types
from tosa_engine.builder import Builder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.types import DType

ACCUMULATOR = {types.i8: types.i32, types.i16: types.i48}


@dataclass
class Small:
    """A graph of one operator in the making."""

    b: Builder
    rng: np.random.Generator

    def rescale(self, x: Tensor, wanted: DType, channels: int = 1, shift: int = 38) -> Tensor:
        """Per channel where there are several; int48 takes multipliers of 16 bits."""
        wide = x.dtype is not types.i48
        multiplier = self.rng.integers(1 << 29, 1 << 31, channels, dtype=np.int64) >> (0 if wide else 16)
        shifts = np.full(channels, shift if wide else shift - 14, np.int8)
        settings: dict[str, Any] = {"input_unsigned": False, "output_unsigned": False, "per_channel": channels > 1}
        found: Tensor = self.b.op(
            "RESCALE", x, multiplier.astype(np.int32 if wide else np.int16), shifts, 0, self.b.const([0], wanted),
            dtype=wanted, scale32=wide, rounding_mode="SINGLE_ROUND", **settings,
        )  # fmt: skip
        return found


def graph(write: Callable[[Small], Tensor]) -> Graph:
    small = Small(Builder(), np.random.default_rng(0))
    small.b.output(write(small))
    return small.b.graph()


def conv(size: int, depth: int, kernel: int, channels: int, stride: int = 1, format: DType = types.i8) -> Graph:
    """CONV2D [1, size, size, depth], the same size out but for the stride, and RESCALE per channel."""

    def write(s: Small) -> Tensor:
        weight = s.rng.integers(-127, 128, (channels, kernel, kernel, depth)).astype(np.int8)
        return _window(s, "CONV2D", weight, size, depth, kernel, channels, stride, format)

    return graph(write)


def gated(size: int, depth: int, channels: int, format: DType = types.i8) -> Graph:
    """CONV2D 1x1, then x * sigmoid(x) as converters write it: a table, and a product between scales."""

    def write(s: Small) -> Tensor:
        weight = s.rng.integers(-127, 128, (channels, 1, 1, depth)).astype(np.int8)
        x = _window(s, "CONV2D", weight, size, depth, 1, channels, 1, format)
        sides = [s.rescale(side, types.i32, shift=31) for side in (x, looked_up(s, x))]
        return s.rescale(s.b.op("MUL", *sides, 0), format)

    return graph(write)


def looked_up(s: Small, x: Tensor) -> Tensor:
    """TABLE; of int16 with the RESCALE to int16 behind it."""
    if x.dtype is types.i8:
        found: Tensor = s.b.op("TABLE", x, s.b.const(s.rng.integers(-128, 128, 256).astype(np.int8)))
        return found
    return s.rescale(s.b.op("TABLE", x, s.b.const(np.arange(-256, 257).astype(np.int16))), types.i16)


def depthwise(size: int, depth: int, kernel: int = 3, stride: int = 1, format: DType = types.i8) -> Graph:
    def write(s: Small) -> Tensor:
        weight = s.rng.integers(-127, 128, (kernel, kernel, depth, 1)).astype(np.int8)
        return _window(s, "DEPTHWISE_CONV2D", weight, size, depth, kernel, depth, stride, format)

    return graph(write)


def _window(
    s: Small, op: str, weight: Any, size: int, depth: int, kernel: int, channels: int, stride: int, format: DType
) -> Tensor:
    x = s.b.input(format, (1, size, size, depth), "x")
    bias = s.b.const(s.rng.integers(-1000, 1000, channels), ACCUMULATOR[format])
    before = kernel // 2
    after = (-(-size // stride) - 1) * stride + kernel - size - before
    settings: dict[str, Any] = {"pad": (before, after) * 2, "stride": (stride, stride), "dilation": (1, 1)}
    return s.rescale(s.b.op(op, x, s.b.const(weight), bias, 0, 0, local_bound=False, **settings), format, channels)


def transposed(size: int, depth: int, channels: int) -> Graph:
    """TRANSPOSE_CONV2D 2x2 with stride 2, which doubles the size."""

    def write(s: Small) -> Tensor:
        weight = s.b.const(s.rng.integers(-127, 128, (channels, 2, 2, depth)).astype(np.int8))
        x, bias = s.b.input(types.i8, (1, size, size, depth), "x"), s.b.const(np.zeros(channels, np.int32))
        settings: dict[str, Any] = {"out_pad": (0, 0, 0, 0), "stride": (2, 2), "local_bound": False}
        return s.rescale(s.b.op("TRANSPOSE_CONV2D", x, weight, bias, 0, 0, **settings), types.i8, channels)

    return graph(write)


def enlarged(size: int, depth: int, mode: str) -> Graph:
    """RESIZE to twice the size; BILINEAR gives sums of 32 bits."""
    wanted = types.i8 if mode == "NEAREST" else types.i32
    source = (1, size, size, depth)
    return graph(lambda s: s.b.op("RESIZE", s.b.input(types.i8, source), *TWICE, mode=mode, dtype=wanted))


TWICE = ([4, 2, 4, 2], [-1, -1], [1, 1])  # scale, offset, border


def matmul(batch: int, rows: int, depth: int, columns: int, format: DType = types.i8) -> Graph:
    def write(s: Small) -> Tensor:
        left, right = s.b.input(format, (batch, rows, depth)), s.b.input(format, (batch, depth, columns))
        return s.rescale(s.b.op("MATMUL", left, right, 0, 0), format)

    return graph(write)


def residual(size: int, depth: int, format: DType = types.i8) -> Graph:
    def write(s: Small) -> Tensor:
        sides = [s.rescale(s.b.input(format, (1, size, size, depth)), types.i32, shift=20) for _ in range(2)]
        return s.rescale(s.b.op("ADD", *sides), format, shift=50)

    return graph(write)


def residual_of_litert(size: int, depth: int) -> Graph:
    """ADD as TensorFlow converts LiteRT's: inputs times 2^20, then times a half at most; all is rounded twice."""

    def write(s: Small) -> Tensor:
        def scaled(x: Tensor, wanted: DType, multiplier: int, shift: int) -> Tensor:
            settings: dict[str, Any] = {"input_unsigned": False, "output_unsigned": False, "per_channel": False}
            found: Tensor = s.b.op(
                "RESCALE", x, np.array([multiplier], np.int32), np.array([shift], np.int8), 0, s.b.const([0], wanted),
                dtype=wanted, scale32=True, rounding_mode="DOUBLE_ROUND", **settings,
            )  # fmt: skip
            return found

        inputs = [s.b.input(types.i8, (1, size, size, depth)) for _ in range(2)]
        sides = [
            scaled(scaled(x, types.i32, 1 << 30, 10), types.i32, (3 << 29) + 99 * i, 32) for i, x in enumerate(inputs)
        ]
        return scaled(s.b.op("ADD", *sides), types.i8, (1 << 30) + 4242, 49)

    return graph(write)


def conv_looked_up(op: str, size: int, depth: int, kernel: int, channels: int) -> Graph:
    """A convolution with RESCALE per channel, and a table."""

    def write(s: Small) -> Tensor:
        shape = (channels, kernel, kernel, depth) if op == "CONV2D" else (kernel, kernel, depth, 1)
        weight = s.rng.integers(-127, 128, shape).astype(np.int8)
        return looked_up(s, _window(s, op, weight, size, depth, kernel, channels, 1, types.i8))

    return graph(write)


def residual_looked_up(size: int, depth: int, format: DType = types.i8) -> Graph:
    """ADD of two tensors, and a table."""

    def write(s: Small) -> Tensor:
        sides = [s.rescale(s.b.input(format, (1, size, size, depth)), types.i32, shift=20) for _ in range(2)]
        return looked_up(s, s.rescale(s.b.op("ADD", *sides), format, shift=50))

    return graph(write)


def softmax(rows: int, columns: int, format: DType = types.i8) -> Graph:
    """As lowered for TOSA: maximum, difference, powers by a table, sum, its inverse by a table, product."""

    def write(s: Small) -> Tensor:
        x = s.b.input(format, (1, rows, columns), "x")
        sides = (x, s.b.op("REDUCE_MAX", x, axis=2, nan_mode="PROPAGATE"))
        difference = s.b.op("SUB", *(s.rescale(side, types.i32, shift=24) for side in sides))
        powers = s.rescale(looked_up(s, s.rescale(difference, format)), types.i32, shift=30)
        inverse = looked_up(s, s.rescale(s.b.op("REDUCE_SUM", powers, axis=2), format))
        return s.rescale(s.b.op("MUL", powers, s.rescale(inverse, types.i32, shift=30), 0), format)

    return graph(write)


def unary(op: str, shape: tuple[int, ...], format: DType = types.i8, **attributes: Any) -> Graph:
    return graph(lambda s: s.b.op(op, s.b.input(format, shape, "x"), **attributes))


def table(shape: tuple[int, ...], format: DType = types.i8) -> Graph:
    def write(s: Small) -> Tensor:
        entries = np.arange(-128, 128).astype(np.int8) if format is types.i8 else np.arange(-256, 257).astype(np.int16)
        found: Tensor = s.b.op("TABLE", s.b.input(format, shape, "x"), s.b.const(entries))
        return found

    return graph(write)


def rescaled(shape: tuple[int, ...], source: DType, wanted: DType) -> Graph:
    return graph(lambda s: s.rescale(s.b.input(source, shape, "x"), wanted, shift=38))


def pad(size: int, depth: int) -> Graph:
    return graph(lambda s: s.b.op("PAD", s.b.input(types.i8, (1, size, size, depth)), [0, 0, 1, 1, 1, 1, 0, 0], 0))


def concat(size: int, depth: int) -> Graph:
    return graph(lambda s: s.b.op("CONCAT", [s.b.input(types.i8, (1, size, size, depth)) for _ in range(2)], axis=3))


def average(size: int, depth: int) -> Graph:
    settings: dict[str, Any] = {"kernel": (size, size), "stride": (1, 1), "pad": (0, 0, 0, 0)}
    return graph(lambda s: s.b.op("AVG_POOL2D", s.b.input(types.i8, (1, size, size, depth)), 0, 0, **settings))


def largest(size: int, depth: int) -> Graph:
    settings: dict[str, Any] = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 0, 1, 0), "nan_mode": "PROPAGATE"}
    return unary("MAX_POOL2D", (1, size, size, depth), **settings)


i8, i16, i32 = types.i8, types.i16, types.i32
ROWS: list[tuple[str, Callable[[], Graph]]] = [
    ("CONV2D first 3x3 s2 224x224x3 -> 32", partial(conv, 224, 3, 3, 32, 2)),
    ("CONV2D first 7x7 s2 224x224x3 -> 64", partial(conv, 224, 3, 7, 64, 2)),
    ("CONV2D 1x1 112x112x16 -> 96", partial(conv, 112, 16, 1, 96)),
    ("CONV2D 1x1 56x56x144 -> 24", partial(conv, 56, 144, 1, 24)),
    ("CONV2D 1x1 14x14x96 -> 576", partial(conv, 14, 96, 1, 576)),
    ("CONV2D 1x1 14x14x576 -> 96", partial(conv, 14, 576, 1, 96)),
    ("CONV2D 1x1 7x7x320 -> 1280", partial(conv, 7, 320, 1, 1280)),
    ("CONV2D 1x1 1x1x1280 -> 1000", partial(conv, 1, 1280, 1, 1000)),
    ("CONV2D 1x1 64 tokens 128 -> 512", partial(conv, 8, 128, 1, 512)),
    ("CONV2D 3x3 56x56x64 -> 64", partial(conv, 56, 64, 3, 64)),
    ("CONV2D 3x3 28x28x128 -> 128", partial(conv, 28, 128, 3, 128)),
    ("CONV2D 3x3 14x14x256 -> 256", partial(conv, 14, 256, 3, 256)),
    ("CONV2D 3x3 7x7x512 -> 512", partial(conv, 7, 512, 3, 512)),
    ("CONV2D 3x3 s2 56x56x64 -> 128", partial(conv, 56, 64, 3, 128, 2)),
    ("DEPTHWISE_CONV2D 3x3 112x112x32", partial(depthwise, 112, 32)),
    ("DEPTHWISE_CONV2D 3x3 s2 112x112x96", partial(depthwise, 112, 96, 3, 2)),
    ("DEPTHWISE_CONV2D 3x3 56x56x144", partial(depthwise, 56, 144)),
    ("DEPTHWISE_CONV2D 3x3 14x14x576", partial(depthwise, 14, 576)),
    ("DEPTHWISE_CONV2D 5x5 28x28x120", partial(depthwise, 28, 120, 5)),
    ("TRANSPOSE_CONV2D 2x2 s2 32x32x64 -> 32", partial(transposed, 32, 64, 32)),
    ("CONV2D 1x1 28x28x64 -> 192, x sigmoid(x)", partial(gated, 28, 64, 192)),
    ("CONV2D 1x1 56x56x24 -> 144 and TABLE", partial(conv_looked_up, "CONV2D", 56, 24, 1, 144)),
    ("CONV2D 3x3 56x56x64 -> 64 and TABLE", partial(conv_looked_up, "CONV2D", 56, 64, 3, 64)),
    ("DEPTHWISE_CONV2D 3x3 56x56x144 and TABLE", partial(conv_looked_up, "DEPTHWISE_CONV2D", 56, 144, 3, 144)),
    ("MATMUL 4 x 64x32 x 32x64", partial(matmul, 4, 64, 32, 64)),
    ("MATMUL 4 x 64x64 x 64x32", partial(matmul, 4, 64, 64, 32)),
    ("residual ADD 56x56x64", partial(residual, 56, 64)),
    ("residual ADD 14x14x96", partial(residual, 14, 96)),
    ("residual ADD of LiteRT 56x56x64", partial(residual_of_litert, 56, 64)),
    ("residual ADD and TABLE 56x56x64", partial(residual_looked_up, 56, 64)),
    ("softmax 256x64", partial(softmax, 256, 64)),
    ("RESCALE i32 -> i8 56x56x64", partial(rescaled, (1, 56, 56, 64), i32, i8)),
    ("RESCALE i8 -> i32 56x56x64", partial(rescaled, (1, 56, 56, 64), i8, i32)),
    ("TABLE 56x56x64", partial(table, (1, 56, 56, 64))),
    ("CLAMP 56x56x64", partial(unary, "CLAMP", (1, 56, 56, 64), min_val=0, max_val=100, nan_mode="PROPAGATE")),
    ("TRANSPOSE 3x224x224 to the last axis", partial(unary, "TRANSPOSE", (1, 3, 224, 224), perms=(0, 2, 3, 1))),
    ("TRANSPOSE 64x4x32, middle axes", partial(unary, "TRANSPOSE", (1, 64, 4, 32), perms=(0, 2, 1, 3))),
    ("PAD 56x56x64 by 1", partial(pad, 56, 64)),
    ("CONCAT 28x28x64 twice", partial(concat, 28, 64)),
    ("MAX_POOL2D 3x3 s2 112x112x64", partial(largest, 112, 64)),
    ("AVG_POOL2D 7x7x1280", partial(average, 7, 1280)),
    ("RESIZE nearest 32x32x64 twice", partial(enlarged, 32, 64, "NEAREST")),
    ("RESIZE bilinear 32x32x64 twice", partial(enlarged, 32, 64, "BILINEAR")),
    ("REDUCE_SUM i32 256x64", partial(unary, "REDUCE_SUM", (1, 256, 64), i32, axis=2)),
    ("int16 CONV2D 3x3 56x56x64 -> 64", partial(conv, 56, 64, 3, 64, 1, i16)),
    ("int16 CONV2D 1x1 14x14x576 -> 96", partial(conv, 14, 576, 1, 96, 1, i16)),
    ("int16 DEPTHWISE_CONV2D 3x3 56x56x144", partial(depthwise, 56, 144, 3, 1, i16)),
    ("int16 MATMUL 4 x 64x32 x 32x64", partial(matmul, 4, 64, 32, 64, i16)),
    ("int16 CONV2D 1x1 28x28x64 -> 192, x sigmoid(x)", partial(gated, 28, 64, 192, i16)),
    ("int16 residual ADD 56x56x64", partial(residual, 56, 64, i16)),
    ("int16 residual ADD and TABLE 56x56x64", partial(residual_looked_up, 56, 64, i16)),
    ("int16 softmax 256x64", partial(softmax, 256, 64, i16)),
    ("int16 TABLE 56x56x64", partial(table, (1, 56, 56, 64), i16)),
]
LINES = dict(ROWS)
