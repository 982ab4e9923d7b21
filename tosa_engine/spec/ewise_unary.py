"""Elementwise unary operators (specification 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bool_, fp32, i8, i16, i32
from .case import Case
from .spatial import zero_point_check
from .table import OpSpec, Require, Row, row, scalar, tensor

if TYPE_CHECKING:
    from collections.abc import Callable

INPUTS = (tensor("input1", "in_out_t", "shape", (0, None)),)
OUTPUTS = (tensor("output", "in_out_t", "shape", (0, None)),)


def _example(op: str) -> Callable[[Row], Case]:
    def example(r: Row) -> Case:
        t = r.types["in_out_t"]
        return Case(op).input("input1", t, (2, 3)).output("output", t, (2, 3))

    return example


ABS = OpSpec(
    name="ABS",
    code=32,
    schema="Abs",
    section="2.6.1",
    inputs=INPUTS,
    attributes=(),
    outputs=OUTPUTS,
    rows=(row("signed 32", "PRO-INT", in_out_t=i32), row("fp32", "PRO-FP", in_out_t=fp32)),
    shapes=lambda c: [c["shape"]],
    requires=(Require("ABS.R1", "the absolute value is a value of in_out_t"),),
    example=_example("ABS"),
)

EXP = OpSpec(
    name="EXP",
    code=37,
    schema="Exp",
    section="2.6.6",
    inputs=INPUTS,
    attributes=(),
    outputs=OUTPUTS,
    rows=(row("fp32", "PRO-FP", in_out_t=fp32),),
    shapes=lambda c: [c["shape"]],
    example=_example("EXP"),
)


def _negate_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("NEGATE").input("input1", t, (2, 3)).const("input1_zp", t, [0]).const("output_zp", t, [0])
    return case.output("output", t, (2, 3))


NEGATE = OpSpec(
    name="NEGATE",
    code=41,
    schema="Negate",
    section="2.6.10",
    inputs=(*INPUTS, scalar("input1_zp", "in_out_t"), scalar("output_zp", "in_out_t")),
    attributes=(),
    outputs=OUTPUTS,
    rows=(
        row("signed 8", "PRO-INT", in_out_t=i8, acc_t=i32),
        row("signed 16", "PRO-INT", in_out_t=i16, acc_t=i32),
        row("signed 32", "PRO-INT", in_out_t=i32, acc_t=i32),
        row("fp32", "PRO-FP", in_out_t=fp32, acc_t=fp32),
    ),
    shapes=lambda c: [c["shape"]],
    checks=(
        zero_point_check("NEGATE.E1", "input1_zp", "in_out_t", "input1"),
        zero_point_check("NEGATE.E2", "output_zp", "in_out_t", "output"),
    ),
    requires=(Require("NEGATE.R1", "the negated value is a value of acc_t"),),
    example=_negate_example,
)

RECIPROCAL = OpSpec(
    name="RECIPROCAL",
    code=42,
    schema="Reciprocal",
    section="2.6.11",
    inputs=INPUTS,
    attributes=(),
    outputs=OUTPUTS,
    rows=(row("fp32", "PRO-FP", in_out_t=fp32),),
    shapes=lambda c: [c["shape"]],
    example=_example("RECIPROCAL"),
)


def _plain(name: str, code: int, schema: str, section: str, rows: tuple[Row, ...]) -> OpSpec:
    return OpSpec(
        name=name,
        code=code,
        schema=schema,
        section=section,
        inputs=INPUTS,
        attributes=(),
        outputs=OUTPUTS,
        rows=rows,
        shapes=lambda c: [c["shape"]],
        example=_example(name),
    )


BITWISE_NOT = _plain(
    "BITWISE_NOT",
    33,
    "BitwiseNot",
    "2.6.2",
    (
        row("signed 8", "PRO-INT", in_out_t=i8),
        row("signed 16", "PRO-INT", in_out_t=i16),
        row("signed 32", "PRO-INT", in_out_t=i32),
    ),
)
CLZ = _plain("CLZ", 35, "Clz", "2.6.4", (row("signed 32", "PRO-INT", in_out_t=i32),))
LOGICAL_NOT = _plain("LOGICAL_NOT", 40, "LogicalNot", "2.6.9", (row("Boolean", "PRO-INT | PRO-FP", in_out_t=bool_),))

OPERATORS = (ABS, BITWISE_NOT, CLZ, EXP, LOGICAL_NOT, NEGATE, RECIPROCAL)
