"""Elementwise unary operators (specification 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bool_, i8, i16, i32
from .case import Case
from .floats import FP, float_rows
from .spatial import zero_point_check
from .table import OpSpec, Require, Row, row, scalar, tensor
from .traits import elementwise

if TYPE_CHECKING:
    from collections.abc import Callable

INPUTS = (tensor("input1", "in_out_t", "shape", (0, None)),)
OUTPUTS = (tensor("output", "in_out_t", "shape", (0, None)),)
FLOAT_ROWS = float_rows(FP, "in_out_t")


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
    rows=(row("signed 32", "PRO-INT", in_out_t=i32), *FLOAT_ROWS),
    traits=elementwise("input1"),
    shapes=lambda c: [c["shape"]],
    requires=(Require("ABS.R1", "the absolute value is a value of in_out_t"),),
    example=_example("ABS"),
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
        *float_rows(FP, "in_out_t", "acc_t"),
    ),
    traits=elementwise("input1"),
    shapes=lambda c: [c["shape"]],
    checks=(
        zero_point_check("NEGATE.E1", "input1_zp", "in_out_t", "input1"),
        zero_point_check("NEGATE.E2", "output_zp", "in_out_t", "output"),
    ),
    requires=(Require("NEGATE.R1", "the negated value is a value of acc_t"),),
    example=_negate_example,
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
        traits=elementwise("input1"),
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
CEIL = _plain("CEIL", 34, "Ceil", "2.6.3", FLOAT_ROWS)
COS = _plain("COS", 36, "Cos", "2.6.5", FLOAT_ROWS)
EXP = _plain("EXP", 37, "Exp", "2.6.6", FLOAT_ROWS)
FLOOR = _plain("FLOOR", 38, "Floor", "2.6.7", FLOAT_ROWS)
LOG = _plain("LOG", 39, "Log", "2.6.8", FLOAT_ROWS)
RECIPROCAL = _plain("RECIPROCAL", 42, "Reciprocal", "2.6.11", FLOAT_ROWS)
RSQRT = _plain("RSQRT", 43, "Rsqrt", "2.6.12", FLOAT_ROWS)
SIN = _plain("SIN", 44, "Sin", "2.6.13", FLOAT_ROWS)

OPERATORS = (
    ABS, BITWISE_NOT, CEIL, CLZ, COS, EXP, FLOOR, LOG, LOGICAL_NOT, NEGATE, RECIPROCAL, RSQRT, SIN,
)  # fmt: skip
