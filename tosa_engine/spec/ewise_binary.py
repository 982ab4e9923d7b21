"""Elementwise binary operators (specification 2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bool_, i8, i16, i32
from .broadcast import broadcast_checks, broadcast_shapes
from .case import Case
from .floats import FP, float_rows
from .table import Attribute, OpSpec, Require, Row, row, scalar, tensor
from .traits import How, Moves, elementwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import DType


def _example(op: str, *, nan_mode: bool = False) -> Callable[[Row], Case]:
    def example(r: Row) -> Case:
        t: DType = r.types["in_out_t"]
        case = Case(op).input("input1", t, (2, 3)).input("input2", t, (1, 3)).output("output", t, (2, 3))
        return case.set(nan_mode="PROPAGATE") if nan_mode else case

    return example


INPUTS = (tensor("input1", "in_out_t", "shape1", (0, None)), tensor("input2", "in_out_t", "shape2", (0, None)))
OUTPUTS = (tensor("output", "in_out_t", "shape", (0, None)),)
NAN_MODE = (Attribute("nan_mode", "nan_mode", 0, optional=True, default="PROPAGATE"),)
FLOAT_ROWS = float_rows(FP, "in_out_t")
ARITHMETIC_ROWS = (row("signed 32", "PRO-INT | PRO-FP", in_out_t=i32), *FLOAT_ROWS)
EXTREMUM_ROWS = (row("signed 32", "PRO-INT", in_out_t=i32), *FLOAT_ROWS)

ADD = OpSpec(
    name="ADD",
    code=15,
    schema="Add",
    section="2.5.1",
    inputs=INPUTS,
    attributes=(),
    outputs=OUTPUTS,
    rows=ARITHMETIC_ROWS,
    traits=elementwise("input1", "input2"),
    shapes=broadcast_shapes,
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
    traits=elementwise("input1", "input2"),
    shapes=broadcast_shapes,
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
    traits=elementwise("input1", "input2", moves=Moves(("input1", "input2"), How.CHOSEN, "", None)),
    shapes=broadcast_shapes,
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
    traits=elementwise("input1", "input2", moves=Moves(("input1", "input2"), How.CHOSEN, "", None)),
    shapes=broadcast_shapes,
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
        *float_rows(FP, "in_t", "out_t"),
    ),
    traits=elementwise("input1", "input2"),
    shapes=broadcast_shapes,
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
    traits=elementwise("input1"),
    shapes=lambda c: [c["shape"]],
    requires=(Require("TABLE.R1", "the slope between neighbouring entries is a value of int16"),),
    example=_table_example,
)

INTEGER_ROWS = (
    row("signed 8", "PRO-INT", in_out_t=i8),
    row("signed 16", "PRO-INT", in_out_t=i16),
    row("signed 32", "PRO-INT", in_out_t=i32),
)
SHIFT_ROWS = (
    row("signed 8", "PRO-INT | PRO-FP", in_out_t=i8),
    row("signed 16", "PRO-INT | PRO-FP", in_out_t=i16),
    row("signed 32", "PRO-INT | PRO-FP", in_out_t=i32),
)
LOGICAL_ROWS = (row("Boolean", "PRO-INT | PRO-FP", in_out_t=bool_),)
SHIFT_AMOUNT = "the shift is at least 0 and less than the bits of in_out_t"


def _plain(
    name: str, code: int, schema: str, section: str, rows: tuple[Row, ...], *requires: str, **example: object
) -> OpSpec:
    """An operator whose inputs and output have one format, with REQUIREs numbered in their order."""
    attributes = tuple(Attribute(attribute, "bool", 0) for attribute in example)

    def build(r: Row) -> Case:
        return _example(name)(r).set(**example)

    return OpSpec(
        name=name,
        code=code,
        schema=schema,
        section=section,
        inputs=INPUTS,
        attributes=attributes,
        outputs=OUTPUTS,
        rows=rows,
        traits=elementwise("input1", "input2"),
        shapes=broadcast_shapes,
        checks=broadcast_checks(name),
        requires=tuple(Require(f"{name}.R{i}", text) for i, text in enumerate(requires, 1)),
        example=build,
    )


ARITHMETIC_RIGHT_SHIFT = _plain(
    "ARITHMETIC_RIGHT_SHIFT", 16, "ArithmeticRightShift", "2.5.2", INTEGER_ROWS, SHIFT_AMOUNT, round=True
)
BITWISE_AND = _plain("BITWISE_AND", 17, "BitwiseAnd", "2.5.3", INTEGER_ROWS)
BITWISE_OR = _plain("BITWISE_OR", 18, "BitwiseOr", "2.5.4", INTEGER_ROWS)
BITWISE_XOR = _plain("BITWISE_XOR", 19, "BitwiseXor", "2.5.5", INTEGER_ROWS)
INTDIV = _plain(
    "INTDIV", 20, "IntDiv", "2.5.6", (row("signed 32", "PRO-INT | PRO-FP", in_out_t=i32),),
    "the divisor is not 0", "the quotient is a value of in_out_t",
)  # fmt: skip
LOGICAL_AND = _plain("LOGICAL_AND", 21, "LogicalAnd", "2.5.7", LOGICAL_ROWS)
LOGICAL_LEFT_SHIFT = _plain("LOGICAL_LEFT_SHIFT", 22, "LogicalLeftShift", "2.5.8", SHIFT_ROWS, SHIFT_AMOUNT)
LOGICAL_RIGHT_SHIFT = _plain("LOGICAL_RIGHT_SHIFT", 23, "LogicalRightShift", "2.5.9", SHIFT_ROWS, SHIFT_AMOUNT)
LOGICAL_OR = _plain("LOGICAL_OR", 24, "LogicalOr", "2.5.10", LOGICAL_ROWS)
LOGICAL_XOR = _plain("LOGICAL_XOR", 25, "LogicalXor", "2.5.11", LOGICAL_ROWS)
POW = _plain(
    "POW", 29, "Pow", "2.5.15", FLOAT_ROWS,
    "the base isn't negative", "the base is positive, or the exponent is", "neither is NaN", "both are finite",
)  # fmt: skip

OPERATORS = (
    ADD, ARITHMETIC_RIGHT_SHIFT, BITWISE_AND, BITWISE_OR, BITWISE_XOR, INTDIV, LOGICAL_AND, LOGICAL_LEFT_SHIFT,
    LOGICAL_RIGHT_SHIFT, LOGICAL_OR, LOGICAL_XOR, MAXIMUM, MINIMUM, MUL, POW, SUB, TABLE,
)  # fmt: skip
