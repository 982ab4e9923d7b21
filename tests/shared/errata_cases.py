"""The graphs that pin the differences listed in docs/errata.md.

`python tests/shared/errata_cases.py` writes them to `tests/cases/`.

One graph for each label (or reason) with which `differential` explains a difference, as small as it goes: large tensors
come from TILE. Each is written as the fuzzer writes what it finds, with what our engine and the reference model say.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from differential import compare, save
from nets import Net

from tosa_engine import types
from tosa_engine.spec.case import Case
from tosa_engine.types import bool_, fp32, i8, i16, i32, i48

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

    Pinned = tuple[str, Graph, dict[str, Array]]

KEPT = Path(__file__).parents[1] / "cases"
SUMS = (1 << 31) // (255 * 255) + 1  # products of 255 * 255 that are more than int32 holds
TOP = (1 << 31) - 1


def one(case: Case, **feeds: Any) -> tuple[Graph, dict[str, Array]]:
    """A graph of one operator with arrays for its inputs."""
    graph = case.graph()
    return graph, {t.name: np.asarray(feeds[t.name], t.dtype.storage).reshape(t.shape or ()) for t in graph.inputs}


def tiled(net: Net, dtype: DType, value: int, *shape: int) -> str:
    """A tensor full of one value."""
    single = net.const(dtype, np.full((1,) * len(shape), value))
    return net.op("TILE", net.block.fresh("tiled"), dtype, single, net.const(types.shape, shape))


def fed(net: Net, output: str, dtype: DType) -> tuple[Graph, dict[str, Array]]:
    """The graph with an input, which it passes on: without one the reference model takes no files."""
    x = net.input("x", dtype, 1)
    net.op("IDENTITY", "same", dtype, x)
    return net.done(output, "same"), {"x": np.zeros(1, dtype.storage)}


def products() -> Iterator[Pinned]:
    """MUL: a shift out of range, and one for factors that take none."""
    for label, dtype, shift in (("MUL.R1", i32, -1), ("MUL.R2", i16, 1)):
        case = Case("MUL").input("input1", dtype, (2,)).input("input2", dtype, (2,)).const("shift", i8, [shift])
        yield (label, *one(case.output("output", i32, (2,)), input1=[3, -5], input2=[7, 9]))


def sums() -> Iterator[Pinned]:
    """Partial sums of products, and of pooled values, beyond the accumulator."""
    zeros = {"stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0), "acc_type": i32, "local_bound": False}
    for op, source, weight in (
        ("CONV2D", (1, 1, 1, SUMS), (1, 1, 1, SUMS)),
        ("DEPTHWISE_CONV2D", (1, 182, 182, 1), (182, 182, 1, 1)),
    ):
        net = Net()
        operands = tiled(net, i8, 127, *source), tiled(net, i8, 127, *weight), net.const(i32, [0])
        net.op(op, "y", i32, *operands, net.const(i8, [-128]), net.const(i8, [-128]), **zeros)
        yield (f"{op}.R1", *fed(net, "y", i8))
    net = Net()
    operands = tiled(net, i8, 127, 1, 1, SUMS), tiled(net, i8, 127, 1, SUMS, 1)
    net.op("MATMUL", "y", i32, *operands, net.const(i8, [-128]), net.const(i8, [-128]))
    yield ("MATMUL.R1", *fed(net, "y", i8))
    net = Net()
    kernel = (257, 256)
    source, zero = tiled(net, i16, 32767, 1, *kernel, 1), net.const(i16, [0])
    net.op("AVG_POOL2D", "y", i16, source, zero, zero, kernel=kernel, stride=(1, 1), pad=(0, 0, 0, 0), acc_type=i32)
    yield ("AVG_POOL2D.R1", *fed(net, "y", i8))


def biases() -> Iterator[Pinned]:
    """A result beyond the output's format, though every sum of products fits."""
    for op, rank, in_t, out_t in (
        ("CONV2D", 4, i8, i32), ("CONV3D", 5, i8, i32), ("DEPTHWISE_CONV2D", 4, i16, i48),
        ("TRANSPOSE_CONV2D", 4, i8, i32),
    ):  # fmt: skip
        ones = (1,) * (rank - 2)
        case = Case(op).input("input", in_t, (1,) * rank).const("weight", i8, np.ones((1,) * rank))
        case.const("bias", out_t, [out_t.maximum]).const("input_zp", in_t, [0]).const("weight_zp", i8, [0])
        case.set(stride=ones, acc_type=out_t, local_bound=False)
        if op == "TRANSPOSE_CONV2D":
            case.set(out_pad=(0, 0, 0, 0))
        else:
            case.set(dilation=ones, pad=(0, 0) * (rank - 2))
        yield (f"{op}.R2", *one(case.output("output", out_t, (1,) * rank), input=[1]))


def places() -> Iterator[Pinned]:
    """What takes the reference model down: a divisor of 0, an index outside."""
    case = Case("INTDIV").input("input1", i32, (2,)).input("input2", i32, (2,)).output("output", i32, (2,))
    yield ("INTDIV.R1", *one(case, input1=[1, 2], input2=[1, 0]))
    case = Case("GATHER").input("values", i8, (1, 2, 1)).input("indices", i32, (1, 1)).output("output", i8, (1, 1, 1))
    yield ("GATHER.R1", *one(case, values=[5, 6], indices=[2]))
    case = Case("SCATTER").input("values_in", i8, (1, 2, 1)).input("indices", i32, (1, 1)).input("input", i8, (1, 1, 1))
    yield ("SCATTER.R1", *one(case.output("values_out", i8, (1, 2, 1)), values_in=[5, 6], indices=[-1], input=[7]))


def conversions() -> Iterator[Pinned]:
    case = Case("CAST").input("input", fp32, (2,)).output("output", i8, (2,))
    yield ("CAST.R1", *one(case, input=[1.5, np.nan]))
    case = Case("RESCALE").input("input", i32, (3,)).const("multiplier", i32, [1431655765]).const("shift", i8, [31])
    case.const("input_zp", i32, [0]).const("output_zp", i32, [0]).output("output", i32, (3,))
    case.set(scale32=True, rounding_mode="INEXACT_ROUND", per_channel=False)
    case.set(input_unsigned=False, output_unsigned=False)
    yield ("INEXACT_ROUND", *one(case, input=[16777217, -123456789, 987654321]))


def errors() -> Iterator[Pinned]:
    """Graphs that are an error, which the reference model runs, dies of, or calls unpredictable."""
    for name, dtype in (("ALL", bool_), ("ANY", bool_), ("MAX", i8), ("MIN", i8), ("PRODUCT", fp32), ("SUM", i32)):
        case = Case(f"REDUCE_{name}").input("input", dtype, (2, 3)).output("output", dtype, (1, 4)).set(axis=0)
        if name in ("MAX", "MIN"):
            case.set(nan_mode="PROPAGATE")
        yield (f"REDUCE_{name}.E2", *one(case, input=np.zeros((2, 3))))
    case = Case("TABLE").input("input1", i8, (1,)).const("table", i8, np.zeros(256)).output("output", i8, (2,))
    yield ("TABLE.shape.output", *one(case, input1=[0]))
    case = Case("IDENTITY").input("input1", i8, (2,)).output("output", i32, (2,))
    yield ("IDENTITY.types", *one(case, input1=[1, 2]))
    case = Case("IDENTITY").const("input1", i8, [1, 2]).output("output", i8, (2,))
    graph, feeds = one(case)
    graph.main.tensors["input1"].data = None
    yield "CONST.E1", graph, feeds
    case = Case("RESHAPE").input("input1", i8, (2,)).const("shape", types.shape, [2, 1]).output("output", i8, (2, 1))
    graph, feeds = one(case, input1=[1, 2])
    graph.main.tensors["shape"].data = None
    yield "CONST_SHAPE.E1", graph, feeds
    case = Case("RESCALE").input("input", i32, (2,)).const("multiplier", i16, [14317]).const("shift", i8, [31])
    case.const("input_zp", i32, [0]).const("output_zp", i32, [0]).output("output", i32, (2,))
    case.set(scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False)
    yield ("RESCALE.E15", *one(case.set(input_unsigned=False, output_unsigned=False), input=[1, 2]))
    case = Case("RESIZE").input("input", i8, (1, 1, 1, 1)).const("scale", types.shape, [2048, 1, 1, 1])
    case.const("offset", types.shape, [0, 0]).const("border", types.shape, [2047, 0]).set(mode="NEAREST")
    yield ("RESIZE.L1", *one(case.output("output", i8, (1, 2048, 1, 1)), input=[1]))


def pinned() -> Iterator[Pinned]:
    """(label, graph, feeds) of all."""
    for family in (products, sums, biases, places, conversions, errors):
        yield from family()


def file_of(label: str) -> Path:
    return KEPT / label.lower().replace(".", "_")


def main() -> int:
    for label, graph, feeds in pinned():
        with tempfile.TemporaryDirectory() as folder:
            result = compare(graph, feeds, Path(folder), with_oracle=True)
        print(
            f"{label}: ours {result.ours}, reference model {result.reference.verdict}: {result.explained or 'nothing'}"
        )
        save(graph, feeds, result, file_of(label))
    return 0


if __name__ == "__main__":
    sys.exit(main())
