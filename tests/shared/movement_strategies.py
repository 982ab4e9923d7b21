"""Hypothesis strategies of graphs that mostly move bytes: PAD, TRANSPOSE, SLICE, CONCAT, ... and what reads them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from nets import Net

from tosa_engine import check, types

if TYPE_CHECKING:
    from tosa_engine.compliance.cases.values import Draw
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, Shape

MOST = 14
KINDS = (
    "TRANSPOSE", "TRANSPOSE", "RESHAPE", "SLICE", "SLICE", "CONCAT", "CONCAT", "PAD", "CLAMP", "TABLE", "ADD", "CONV2D",
    "DEPTHWISE_CONV2D", "MAX_POOL2D", "IDENTITY", "REVERSE",
)  # fmt: skip
LARGEST = 4000


@st.composite
def movements(draw: Draw) -> tuple[Graph, dict[str, Array]]:
    """A legal graph of int8 tensors with an array for its input."""
    mover = Mover(draw)
    for _ in range(draw(st.integers(3, MOST))):
        getattr(mover, draw(st.sampled_from(KINDS)).lower())()
    return mover.finish()


class Mover:
    """A graph that grows by one operator at a time."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.net, self.count = draw, Net(), 0
        self.shapes: dict[str, Shape] = {}
        for i in range(draw(st.integers(1, 2))):
            shape = (1, *(draw(st.integers(1, 5)) for _ in range(2)), draw(st.sampled_from([1, 2, 4, 16])))
            self.shapes[self.net.input(f"in{i}", types.i8, *shape)] = shape

    def choose(self, rank: int | None = None) -> tuple[str, Shape] | None:
        there = [n for n, shape in self.shapes.items() if rank in (None, len(shape))]
        if not there:
            return None
        name = there[-1] if self.draw(st.booleans()) else self.draw(st.sampled_from(there))
        return name, self.shapes[name]

    def op(self, op: str, shape: Shape, *inputs: str, dtype: types.DType = types.i8, **attributes: Any) -> str:
        self.count += 1
        name = self.net.op(op, f"t{self.count}", dtype, *inputs, **attributes)
        if dtype is types.i8 and math.prod(shape) <= LARGEST:
            self.shapes[name] = tuple(shape)
        return name

    def numbers(self, values: Any) -> str:
        return self.net.const(types.shape, np.asarray(values, np.int64))

    def transpose(self) -> None:
        name, shape = self.choose() or ("", ())
        perms = tuple(self.draw(st.permutations(range(len(shape)))))
        self.op("TRANSPOSE", tuple(shape[p] for p in perms), name, perms=perms)

    def reshape(self) -> None:
        name, shape = self.choose() or ("", ())
        count, sides = math.prod(shape), []
        for _ in range(self.draw(st.integers(0, 3))):
            side = self.draw(st.sampled_from([n for n in range(1, count + 1) if count % n == 0]))
            sides.append(side)
            count //= side
        target = (*sides, count)
        self.op("RESHAPE", target, name, self.numbers(target))

    def slice(self) -> None:
        name, shape = self.choose() or ("", ())
        start = [self.draw(st.sampled_from([0, 0, n // 2])) for n in shape]
        size = [self.draw(st.sampled_from([n - a, n - a, 1])) for a, n in zip(start, shape, strict=True)]
        self.op("SLICE", tuple(size), name, self.numbers(start), self.numbers(size))

    def concat(self) -> None:
        name, shape = self.choose() or ("", ())
        axis = self.draw(st.sampled_from([next((i for i, n in enumerate(shape) if n > 1), 0), len(shape) - 1]))
        fits = [n for n, s in self.shapes.items() if len(s) == len(shape) and fit(s, shape, axis)]
        names = [name, *(self.draw(st.sampled_from(fits)) for _ in range(self.draw(st.integers(0, 3))))]
        names = self.draw(st.permutations(names))
        length = sum(self.shapes[n][axis] for n in names)
        self.op("CONCAT", (*shape[:axis], length, *shape[axis + 1 :]), *names, axis=axis)

    def pad(self) -> None:
        name, shape = self.choose() or ("", ())
        inside = self.draw(st.booleans()) and len(shape) == 4
        padding = [self.draw(st.sampled_from([0, 0, 1, 2])) for _ in range(2 * len(shape))]
        if inside:
            padding[:2] = padding[-2:] = [0, 0]
        value = self.net.const(types.i8, [self.draw(st.sampled_from([-5, -5, -128, 0]))])
        target = tuple(n + padding[2 * i] + padding[2 * i + 1] for i, n in enumerate(shape))
        self.op("PAD", target, name, self.numbers(padding), value)

    def clamp(self) -> None:
        name, shape = self.choose() or ("", ())
        self.op("CLAMP", shape, name, min_val=-90, max_val=77, nan_mode="PROPAGATE")

    def table(self) -> None:
        name, shape = self.choose() or ("", ())
        self.op("TABLE", shape, name, self.net.const(types.i8, self.net.rng.integers(-128, 128, 256)))

    def identity(self) -> None:
        name, shape = self.choose() or ("", ())
        self.op("IDENTITY", shape, name)

    def reverse(self) -> None:
        name, shape = self.choose() or ("", ())
        self.op("REVERSE", shape, name, axis=self.draw(st.integers(0, len(shape) - 1)))

    def add(self) -> None:
        """Between RESCALEs, as quantizers write it."""
        name, shape = self.choose() or ("", ())
        other = self.draw(st.sampled_from([n for n, s in self.shapes.items() if s == shape]))
        self.count += 1
        stem = f"s{self.count}"
        sides = [self.net.rescale(f"{stem}_{i}", n, types.i8, types.i32, 12) for i, n in enumerate((name, other))]
        self.net.op("ADD", f"{stem}_sum", types.i32, *sides)
        self.shapes[self.net.rescale(stem, f"{stem}_sum", types.i32, types.i8, 50)] = shape

    def conv2d(self) -> None:
        self.window("CONV2D")

    def depthwise_conv2d(self) -> None:
        self.window("DEPTHWISE_CONV2D")

    def window(self, op: str) -> None:
        found = self.choose(4)
        if found is None:
            return
        name, (batch, height, width, channels) = found
        kernel = min(self.draw(st.integers(1, 3)), height, width)
        pad = tuple(self.draw(st.integers(0, 1)) for _ in range(4))
        out = channels if op.startswith("DEPTH") else 5
        sizes = (kernel, kernel, channels, 1) if op.startswith("DEPTH") else (5, kernel, kernel, channels)
        weight = self.net.weights(*sizes)
        self.count += 1
        stem = f"c{self.count}"
        self.net.conv(stem, name, weight, out, op=op, pad=pad)
        size = height + pad[0] + pad[1] - kernel + 1, width + pad[2] + pad[3] - kernel + 1
        self.shapes[self.net.rescale(f"{stem}_i8", stem, types.i32, types.i8, 39)] = (batch, *size, out)

    def max_pool2d(self) -> None:
        found = self.choose(4)
        if found is None:
            return
        name, (batch, height, width, channels) = found
        kernel = min(self.draw(st.integers(1, 3)), height, width)
        pad = tuple(self.draw(st.integers(0, min(1, kernel - 1))) for _ in range(4))
        size = height + pad[0] + pad[1] - kernel + 1, width + pad[2] + pad[3] - kernel + 1
        self.op(
            "MAX_POOL2D", (batch, *size, channels), name, kernel=(kernel, kernel), stride=(1, 1), pad=pad,
            nan_mode="PROPAGATE",
        )  # fmt: skip

    def finish(self) -> tuple[Graph, dict[str, Array]]:
        """What nobody reads is an output, and sometimes what somebody reads."""
        read = {name for op in self.net.block.operators for name in op.inputs}
        there = [n for n in self.shapes if n not in self.net.block.inputs]
        outputs = [n for n in there if n not in read or self.draw(st.integers(0, 5)) == 3]
        graph = self.net.done(*(outputs or there[-1:] or [self.net.op("IDENTITY", "y", types.i8, "in0")]))
        problems = check.check(graph)
        assert problems == [], problems
        feeds = {t.name: self.net.rng.integers(-128, 128, t.shape).astype(np.int8) for t in graph.inputs}
        return graph, feeds


def fit(shape: Shape, other: Shape, axis: int) -> bool:
    return all(a == b for i, (a, b) in enumerate(zip(shape, other, strict=True)) if i != axis)
