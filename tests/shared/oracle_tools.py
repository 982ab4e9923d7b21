"""What the oracle's tests share: cases with shapes from the arrays, running them, and what loops compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import oracle
from tosa_engine.errors import RequireViolation
from tosa_engine.spec import TABLE
from tosa_engine.spec.case import Case
from tosa_engine.types import i8, i16, i32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

LOW, HIGH = -(1 << 31), (1 << 31) - 1
LOW48, HIGH48 = -(1 << 47), (1 << 47) - 1
NAN, INF = float("nan"), float("inf")


def run(case: Case, **feeds: Any) -> list[Any]:
    """The output as nested lists; shapes are those of the feeds, and the output's is inferred."""
    arrays = {}
    for name, value in feeds.items():
        tensor = next(t for entry in case.inputs.values() for t in np.ravel([entry]) if t.name == name)
        arrays[name] = np.asarray(value, tensor.dtype.storage)
        tensor.shape = arrays[name].shape
    outputs = oracle.run(case.graph(), arrays)
    return next(iter(outputs.values())).tolist()


def use(op: str, types: Sequence[DType], out: DType, **attributes: Any) -> Case:
    """A case with inputs by position and an output of unknown shape."""
    case = Case(op).set(**attributes).output("output", out, None)
    for argument, dtype in zip(TABLE[op].inputs, types, strict=False):
        case.input(argument.name, dtype, None)
    return case


def violation(case: Case, **feeds: Any) -> tuple[str, tuple[int, ...] | None]:
    """Label and index; the index is into what the operator goes through, for SCATTER its input."""
    with pytest.raises(RequireViolation) as caught:
        run(case, **feeds)
    assert (caught.value.node, caught.value.tensor) == ("output", "input" if case.op == "SCATTER" else "output")
    return caught.value.label, caught.value.index


def rescale(
    in_t: DType,
    out_t: DType,
    multiplier: list[int],
    shift: list[int],
    zero_points: tuple[int, int] = (0, 0),
    **more: Any,
) -> Case:
    attributes = {
        "scale32": True, "rounding_mode": "SINGLE_ROUND", "per_channel": False, "input_unsigned": False,
        "output_unsigned": False, **more,
    }  # fmt: skip
    case = use("RESCALE", [in_t], out_t, **attributes).const(
        "multiplier", i32 if attributes["scale32"] else i16, multiplier
    )
    case.const("shift", i8, shift).const("input_zp", in_t, [zero_points[0]])
    return case.const("output_zp", out_t, [zero_points[1]])


def conv(op: str, in_t: DType, weight_t: DType, out_t: DType, zero_points: tuple[int, int] = (0, 0)) -> Case:
    """A convolution without padding, steps of 1."""
    axes = 3 if op == "CONV3D" else 2
    attributes = {"pad": (0, 0) * axes, "stride": (1,) * axes, "dilation": (1,) * axes}
    if op == "TRANSPOSE_CONV2D":
        attributes = {"out_pad": (0, 0, 0, 0), "stride": (1, 1)}
    case = use(op, [in_t, weight_t, out_t], out_t, acc_type=out_t, **attributes)
    return case.const("input_zp", in_t, [zero_points[0]]).const("weight_zp", weight_t, [zero_points[1]])


def values_of(graph: Graph, feeds: dict[str, Array], name: str) -> Any:
    data = graph.main.tensors[name].data
    return (feeds[name] if data is None else data).tolist()


def outcome(graph: Graph, feeds: dict[str, Array]) -> Any:
    try:
        return oracle.run(graph, feeds)[graph.main.outputs[0]].tolist()
    except RequireViolation as error:
        return error.label, error.index


class Accumulator:
    """A Python integer that remembers the first time it leaves its format."""

    def __init__(self, op: str, dtype: DType) -> None:
        self.op, self.dtype, self.total, self.label = op, dtype, 0, ""

    def add(self, value: int, rule: str = "R1") -> None:
        self.total += value
        if not self.label and not self.dtype.minimum <= self.total <= self.dtype.maximum:
            self.label = f"{self.op}.{rule}"


def expected(graph: Graph, element: Any) -> Any:
    """`element(index)` gives an Accumulator or an int for each output element; the first violation wins."""
    shape = graph.main.tensors["output"].shape or ()
    result = np.empty(shape, object)
    for index in np.ndindex(shape):
        acc = element(index)
        if isinstance(acc, Accumulator) and acc.label:
            return acc.label, index
        result[index] = acc.total if isinstance(acc, Accumulator) else acc
    return result.tolist()
