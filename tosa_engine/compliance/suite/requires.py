"""Every REQUIRE of the op table that inputs can violate: inputs at its bound, which are valid, and one step beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...infer import infer
from ...spec import TABLE
from ...spec.case import Case
from ...types import fp32, i4, i8, i16, i32, i48

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph import Graph
    from ...types import Array, DType

    Made = tuple[Case, dict[str, Any]]

LOW, HIGH, LOW48 = -(1 << 31), (1 << 31) - 1, -(1 << 47)
NAN, INF = float("nan"), float("inf")
MANY: Final = 33026  # products 255 * 255 whose sum is beyond int32


def use(op: str, types: Sequence[DType], out: DType, **attributes: Any) -> Case:
    """A case with inputs by position; their shapes come with the values."""
    case = Case(op).set(**attributes).output("output", out, None)
    for argument, dtype in zip(TABLE[op].inputs, types, strict=False):
        case.input(argument.name, dtype, None)  # type: ignore[arg-type]
    return case


def rescale(in_t: DType, out_t: DType, multiplier: int, shift: int, zero_point: int = 0, *, wide: bool = True) -> Case:
    case = use("RESCALE", [in_t], out_t, scale32=wide, rounding_mode="SINGLE_ROUND", per_channel=False)
    case.set(input_unsigned=False, output_unsigned=False).const("multiplier", i32 if wide else i16, [multiplier])
    return case.const("shift", i8, [shift]).const("input_zp", in_t, [0]).const("output_zp", out_t, [zero_point])


def convolution(op: str, in_t: DType, weight_t: DType, out_t: DType, zero_point: int = 0) -> Case:
    """Without padding, steps of 1."""
    axes = 3 if op == "CONV3D" else 2
    case = use(op, [in_t, weight_t, out_t], out_t, acc_type=out_t, stride=(1,) * axes)
    if op == "TRANSPOSE_CONV2D":
        case.set(out_pad=(0, 0, 0, 0))
    else:
        case.set(pad=(0, 0) * axes, dilation=(1,) * axes)
    return case.const("input_zp", in_t, [zero_point]).const("weight_zp", weight_t, [zero_point])


def _many(op: str) -> Callable[[bool], Made]:
    """A sum of products that leaves int32 while it is added up; at the bound it is the greatest that fits."""

    def make(beyond: bool) -> Made:
        count = MANY if beyond else MANY - 1
        case = convolution(op, i8, i8, i32, 127)
        shape = (1,) * (4 if op == "CONV3D" else 3) + (count,)
        if op == "DEPTHWISE_CONV2D":
            side = 182 if beyond else 181
            full, weight = np.full((1, side, side, 1), -128), np.full((side, side, 1, 1), -128)
            return case, {"input": full, "weight": weight, "bias": [-HIGH if beyond else 0]}
        return case, {
            "input": np.full(shape, -128), "weight": np.full(shape, -128), "bias": [-HIGH if beyond else 0],
        }  # fmt: skip

    return make


def _bias(op: str) -> Callable[[bool], Made]:
    """A product sum and a bias that meet the end of the output's format, or pass it."""
    axes = 4 if op == "CONV3D" else 3

    def make(beyond: bool) -> Made:
        ones = (1,) * (axes + 1)
        step = 1 if beyond else 0
        if op.startswith("CONV"):
            case = convolution(op, i8, i4, i32)
            return case, {"input": np.full(ones, -128), "weight": np.full(ones, 7), "bias": [LOW + 896 - step]}
        case = convolution(op, i16, i8, i48)
        return case, {"input": np.full(ones, 32767), "weight": np.full(ones, -128), "bias": [LOW48 + 4194176 - step]}

    return make


def _pairs(
    op: str, dtype: DType, at: tuple[Any, Any], beyond: tuple[Any, Any], **attributes: Any
) -> Callable[[bool], Made]:
    """An operator of two inputs of one format, with one element each."""

    def make(far: bool) -> Made:
        first, second = beyond if far else at
        out = i32 if op == "MUL" and dtype.is_int else dtype
        case = use(op, [dtype, dtype], out, **attributes)
        return case, {"input1": [first], "input2": [second]}

    return make


def _mul(shifts: tuple[int, int], dtype: DType, values: tuple[int, int]) -> Callable[[bool], Made]:
    def make(beyond: bool) -> Made:
        case = use("MUL", [dtype, dtype], i32).const("shift", i8, [shifts[beyond]])
        return case, {"input1": [values[beyond]], "input2": [values[beyond]]}

    return make


def _scaled(*pairs: tuple[Case, Any]) -> Callable[[bool], Made]:
    return lambda beyond: (pairs[beyond][0], {"input": [pairs[beyond][1]]})


def _negate(beyond: bool) -> Made:
    case = use("NEGATE", [i32], i32).const("input1_zp", i32, [0]).const("output_zp", i32, [0])
    return case, {"input1": [LOW if beyond else LOW + 1]}


def _table(beyond: bool) -> Made:
    entries = [-1 if beyond else 0, *[32767] * 512]
    return use("TABLE", [i16], i32).const("table", i16, entries), {"input1": [0, -32768]}


def _pool(beyond: bool) -> Made:
    kernel = (256, 257) if beyond else (256, 256)
    case = use("AVG_POOL2D", [i16], i16, kernel=kernel, stride=(1, 1), pad=(0, 0, 0, 0), acc_type=i32)
    case.const("input_zp", i16, [0]).const("output_zp", i16, [0])
    return case, {"input": np.full((1, *kernel, 1), -32768)}


def _matmul(beyond: bool) -> Made:
    count = MANY if beyond else MANY - 1
    case = use("MATMUL", [i8, i8], i32).const("A_zp", i8, [127]).const("B_zp", i8, [127])
    return case, {"A": np.full((1, 1, count), -128), "B": np.full((1, count, 1), -128)}


def _gather(beyond: bool) -> Made:
    indices = [[0, 2], [1, 3 if beyond else 2]]
    return use("GATHER", [i8, i32], i8), {"values": np.arange(12).reshape(2, 3, 2), "indices": indices}


def _scatter(*indices: list[list[int]]) -> Callable[[bool], Made]:
    def make(beyond: bool) -> Made:
        case = use("SCATTER", [i8, i32, i8], i8)
        return case, {
            "values_in": np.arange(12).reshape(2, 3, 2), "indices": indices[beyond], "input": np.ones((2, 2, 2)),
        }  # fmt: skip

    return make


def _variable(op: str, *, again: bool = False, initial: bool = True) -> Case:
    """An operator behind the declaration of its variable, which is of i8 and has 2 x 3 elements."""
    value = np.ones((2, 3), np.int8) if initial else None
    declared = {"name": "v", "var_shape": (2, 3), "type": i8, "initial_value": value}
    case = Case(op).after("VARIABLE", **declared).set(name="v")
    return case.set(**declared) if again else case


def _declared(beyond: bool) -> Made:
    if beyond:
        return _variable("VARIABLE", again=True), {}
    return _variable("VARIABLE_READ").output("output1", i8, (2, 3)), {}


def _written(other: tuple[DType, tuple[int, int]]) -> Callable[[bool], Made]:
    def make(beyond: bool) -> Made:
        dtype, shape = other if beyond else (i8, (2, 3))
        return _variable("VARIABLE_WRITE").input("input1", dtype, shape), {"input1": np.ones(shape)}

    return make


def _read(other: tuple[DType, tuple[int, int]], *, initial: bool = True) -> Callable[[bool], Made]:
    def make(beyond: bool) -> Made:
        dtype, shape = other if beyond else (i8, (2, 3))
        case = _variable("VARIABLE_READ", initial=initial or not beyond)
        return case.output("output1", dtype, shape), {}

    return make


REQUIRES: Final[dict[str, Callable[[bool], Made]]] = {
    "ADD.R1": _pairs("ADD", i32, (HIGH - 1, 1), (HIGH, 1)),
    "SUB.R1": _pairs("SUB", i32, (LOW + 1, 1), (LOW, 1)),
    "MUL.R1": _mul((63, 64), i32, (1, 1)),
    "MUL.R2": _mul((0, 1), i16, (1, 1)),
    "MUL.R3": _mul((31, 31), i32, (HIGH, LOW)),
    "TABLE.R1": _table,
    "ABS.R1": lambda beyond: (use("ABS", [i32], i32), {"input1": [LOW if beyond else LOW + 1]}),
    "NEGATE.R1": _negate,
    "CAST.R1": lambda beyond: (use("CAST", [fp32], i8), {"input": [INF, NAN if beyond else 1.0]}),
    "RESCALE.R1": _scaled((rescale(i8, i8, 0, 30), 1), (rescale(i8, i8, -1, 30), 1)),
    "RESCALE.R2": _scaled((rescale(i8, i8, 1 << 30, 62), 1), (rescale(i8, i8, 1 << 30, 63), 1)),
    "RESCALE.R3": _scaled((rescale(i8, i8, 1, 8), 127), (rescale(i8, i8, 1, 7), 127)),
    "RESCALE.R4": _scaled(
        (rescale(i48, i32, 1 << 14, 14, wide=False), HIGH), (rescale(i48, i32, 1 << 14, 14, wide=False), HIGH + 1)
    ),
    "RESCALE.R5": _scaled(
        (rescale(i48, i8, 1 << 14, 14, 127, wide=False), HIGH - 127),
        (rescale(i48, i8, 1 << 14, 14, 127, wide=False), HIGH - 126),
    ),
    "REDUCE_SUM.R1": lambda beyond: (use("REDUCE_SUM", [i32], i32, axis=0), {"input": [HIGH, 1 if beyond else 0]}),
    **{f"{op}.R1": _many(op) for op in ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D")},
    **{f"{op}.R2": _bias(op) for op in ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")},
    "TRANSPOSE_CONV2D.R1": _many("TRANSPOSE_CONV2D"),
    "MATMUL.R1": _matmul,
    "AVG_POOL2D.R1": _pool,
    "ARITHMETIC_RIGHT_SHIFT.R1": _pairs("ARITHMETIC_RIGHT_SHIFT", i8, (-3, 7), (-3, 8), round=True),
    "LOGICAL_LEFT_SHIFT.R1": _pairs("LOGICAL_LEFT_SHIFT", i16, (3, 15), (3, 16)),
    "LOGICAL_RIGHT_SHIFT.R1": _pairs("LOGICAL_RIGHT_SHIFT", i32, (-3, 31), (-3, 32)),
    "INTDIV.R1": _pairs("INTDIV", i32, (5, 1), (5, 0)),
    "INTDIV.R2": _pairs("INTDIV", i32, (LOW + 1, -1), (LOW, -1)),
    "POW.R1": _pairs("POW", fp32, (0.5, 2.0), (-2.0, 2.0)),
    "POW.R2": _pairs("POW", fp32, (0.0, 0.5), (0.0, -1.0)),
    "POW.R3": _pairs("POW", fp32, (1.0, 2.0), (2.0, NAN)),
    "POW.R4": _pairs("POW", fp32, (2.0, 2.0), (INF, 2.0)),
    "GATHER.R1": _gather,
    "SCATTER.R1": _scatter([[0, 2], [1, 2]], [[0, 2], [-1, 2]]),
    "VARIABLE.R3": _declared,
    "VARIABLE_WRITE.R3": _written((i8, (3, 2))),
    "VARIABLE_WRITE.R4": _written((fp32, (2, 3))),
    "VARIABLE_READ.R2": _read((i8, (2, 3)), initial=False),
    "VARIABLE_READ.R3": _read((i8, (3, 2))),
    "VARIABLE_READ.R4": _read((fp32, (2, 3))),
    "SCATTER.R2": _scatter([[0, 1], [2, 0]], [[1, 1], [2, 0]]),
}
# No input reaches them: |sum| <= 2^16 * count < 2^(29 + k) always holds; an index beyond int32 takes 2^31 steps.
UNREACHABLE: Final = frozenset({"AVG_POOL2D.R2", "ARGMAX.R1"})


def at_require(label: str, *, beyond: bool) -> tuple[Graph, dict[str, Array]]:
    """A graph of one operator with inputs at the bound of a REQUIRE, or beyond it."""
    case, given = REQUIRES[label](beyond)
    feeds = {}
    for name, value in given.items():
        tensor = case.tensor(name)
        feeds[name] = np.asarray(value, tensor.dtype.storage)
        tensor.shape = feeds[name].shape
    graph = case.graph()
    infer(graph)
    return graph, feeds
