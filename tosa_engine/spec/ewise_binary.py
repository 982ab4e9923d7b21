"""Elementwise binary operators (specification 2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import fp32, i8, i16, i32
from .case import Case
from .table import Attribute, Call, Check, OpSpec, Require, Row, row, scalar, tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import DType, Shape


def broadcast_shape(shape1: Shape, shape2: Shape) -> Shape | None:
    """The shape that two shapes of one rank broadcast to, or None where they don't."""
    if len(shape1) != len(shape2) or any(a != b and 1 not in (a, b) for a, b in zip(shape1, shape2, strict=True)):
        return None
    return tuple(b if a == 1 else a for a, b in zip(shape1, shape2, strict=True))


def _rank_mismatch(case: Case) -> None:
    case.reshape("input2", 3)


def _unbroadcastable(case: Case) -> None:
    case.reshape("input2", 2, 2)


def _wrong_output(case: Case) -> None:
    case.reshape("output", 2, 4)


def broadcast_checks(op: str) -> tuple[Check, ...]:
    """The three ways in which `shape != broadcast_shape(shape1, shape2)` can fail."""

    def ranks(c: Call) -> bool:
        return len(c.shape1) != len(c.shape2)

    return (
        Check(
            f"{op}.E1", ranks, "inputs must have one rank, got shapes {shape1} and {shape2}", _rank_mismatch, "input2"
        ),
        Check(
            f"{op}.E2",
            lambda c: not ranks(c) and broadcast_shape(c.shape1, c.shape2) is None,
            "shapes {shape1} and {shape2} don't broadcast: sizes must be equal or 1",
            _unbroadcastable,
            "input2",
        ),
        Check(
            f"{op}.E3",
            lambda c: (
                c.has("shape")
                and broadcast_shape(c.shape1, c.shape2) is not None
                and broadcast_shape(c.shape1, c.shape2) != c["shape"]
            ),
            "output must have the shape that {shape1} and {shape2} broadcast to, got {shape}",
            _wrong_output,
            "output",
        ),
    )


def _example(op: str, *, nan_mode: bool = False) -> Callable[[Row], Case]:
    def example(r: Row) -> Case:
        t: DType = r.types["in_out_t"]
        case = Case(op).input("input1", t, (2, 3)).input("input2", t, (1, 3)).output("output", t, (2, 3))
        return case.set(nan_mode="PROPAGATE") if nan_mode else case

    return example


def _shapes(c: Call) -> list[Shape]:
    shape = broadcast_shape(c.shape1, c.shape2)
    assert shape is not None
    return [shape]


INPUTS = (tensor("input1", "in_out_t", "shape1", (0, None)), tensor("input2", "in_out_t", "shape2", (0, None)))
OUTPUTS = (tensor("output", "in_out_t", "shape", (0, None)),)
NAN_MODE = (Attribute("nan_mode", "nan_mode", 0, optional=True, default="PROPAGATE"),)
ARITHMETIC_ROWS = (row("signed 32", "PRO-INT | PRO-FP", in_out_t=i32), row("fp32", "PRO-FP", in_out_t=fp32))
EXTREMUM_ROWS = (row("signed 32", "PRO-INT", in_out_t=i32), row("fp32", "PRO-FP", in_out_t=fp32))

ADD = OpSpec(
    name="ADD",
    code=15,
    schema="Add",
    section="2.5.1",
    inputs=INPUTS,
    attributes=(),
    outputs=OUTPUTS,
    rows=ARITHMETIC_ROWS,
    shapes=_shapes,
    checks=broadcast_checks("ADD"),
    requires=(Require("ADD.R1", "the sum is a value of in_out_t"),),
    example=_example("ADD"),
)

SUB = OpSpec(
    name="SUB",
    code=30,
    schema="Sub",
    section="2.5.16",
    inputs=INPUTS,
    attributes=(),
    outputs=OUTPUTS,
    rows=ARITHMETIC_ROWS,
    shapes=_shapes,
    checks=broadcast_checks("SUB"),
    requires=(Require("SUB.R1", "the difference is a value of in_out_t"),),
    example=_example("SUB"),
)

MAXIMUM = OpSpec(
    name="MAXIMUM",
    code=26,
    schema="Maximum",
    section="2.5.12",
    inputs=INPUTS,
    attributes=NAN_MODE,
    outputs=OUTPUTS,
    rows=EXTREMUM_ROWS,
    shapes=_shapes,
    checks=broadcast_checks("MAXIMUM"),
    example=_example("MAXIMUM", nan_mode=True),
)

MINIMUM = OpSpec(
    name="MINIMUM",
    code=27,
    schema="Minimum",
    section="2.5.13",
    inputs=INPUTS,
    attributes=NAN_MODE,
    outputs=OUTPUTS,
    rows=EXTREMUM_ROWS,
    shapes=_shapes,
    checks=broadcast_checks("MINIMUM"),
    example=_example("MINIMUM", nan_mode=True),
)


def _mul_example(r: Row) -> Case:
    t = r.types
    case = Case("MUL").input("input1", t["in_t"], (2, 3)).input("input2", t["in_t"], (1, 3)).const("shift", i8, [0])
    return case.output("output", t["out_t"], (2, 3))


MUL = OpSpec(
    name="MUL",
    code=28,
    schema="Mul",
    section="2.5.14",
    inputs=(
        tensor("input1", "in_t", "shape1", (0, None)),
        tensor("input2", "in_t", "shape2", (0, None)),
        scalar("shift", "i8_t"),
    ),
    attributes=(),
    outputs=(tensor("output", "out_t", "shape", (0, None)),),
    rows=(
        row("signed 8", "PRO-INT", in_t=i8, out_t=i32),
        row("signed 16", "PRO-INT", in_t=i16, out_t=i32),
        row("signed 32", "PRO-INT | PRO-FP", in_t=i32, out_t=i32),
        row("fp32", "PRO-FP", in_t=fp32, out_t=fp32),
    ),
    shapes=_shapes,
    checks=broadcast_checks("MUL"),
    requires=(
        Require("MUL.R1", "shift is in 0 .. 63"),
        Require("MUL.R2", "shift is 0 unless the inputs are i32"),
        Require("MUL.R3", "the shifted product is a value of i32"),
    ),
    example=_mul_example,
)


def _table_example(r: Row) -> Case:
    t, size = r.types, r.letters["TABLE_SIZE"]
    case = Case("TABLE").input("input1", t["in_t"], (2, 3)).const("table", t["table_t"], [i % 100 for i in range(size)])
    return case.output("output", t["out_t"], (2, 3))


TABLE = OpSpec(
    name="TABLE",
    code=31,
    schema="Table",
    section="2.5.17",
    inputs=(
        tensor("input1", "in_t", "shape", (0, None)),
        tensor("table", "table_t", "[TABLE_SIZE]", (1, 1), ctc=True),
    ),
    attributes=(),
    outputs=(tensor("output", "out_t", "shape", (0, None)),),
    rows=(
        row("signed 8", "PRO-INT", in_t=i8, table_t=i8, out_t=i8, letters={"TABLE_SIZE": 256}),
        row("signed 16", "EXT-INT16", in_t=i16, table_t=i16, out_t=i32, letters={"TABLE_SIZE": 513}),
    ),
    shapes=lambda c: [c["shape"]],
    requires=(Require("TABLE.R1", "the slope between neighbouring entries is a value of int16"),),
    example=_table_example,
)

OPERATORS = (ADD, MAXIMUM, MINIMUM, MUL, SUB, TABLE)
