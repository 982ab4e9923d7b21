"""Activation functions (specification 2.4)."""

from __future__ import annotations

import math

from ..types import i8, i16
from .case import Case
from .floats import FP, float_rows
from .table import Attribute, Call, Check, OpSpec, Row, row, tensor
from .traits import elementwise

FLOAT_ROWS = float_rows(FP, "in_out_t")


def _clamp_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("CLAMP").input("input", t, (2, 3)).output("output", t, (2, 3))
    return case.set(min_val=-3.0 if t.is_float else -3, max_val=5.0 if t.is_float else 5, nan_mode="PROPAGATE")


def _swap(case: Case) -> None:
    case.set(min_val=case.attributes["max_val"], max_val=case.attributes["min_val"])


def _nan(case: Case) -> None:
    assert isinstance(case.attributes["min_val"], float)
    case.set(max_val=math.nan)


def _out_of_range(c: Call) -> bool:
    t = c.in_out_t
    return bool(t.is_int) and not (t.minimum <= c.min_val <= t.maximum and t.minimum <= c.max_val <= t.maximum)


CLAMP = OpSpec(
    name="CLAMP",
    code=11,
    schema="Clamp",
    section="2.4.1",
    inputs=(tensor("input", "in_out_t", "shape", (0, None)),),
    attributes=(
        Attribute("min_val", "value", 0, "in_out_t"),
        Attribute("max_val", "value", 1, "in_out_t"),
        Attribute("nan_mode", "nan_mode", 2, optional=True, default="PROPAGATE"),
    ),
    outputs=(tensor("output", "in_out_t", "shape", (0, None)),),
    rows=(
        row("signed 8", "PRO-INT", in_out_t=i8),
        row("signed 16", "EXT-INT16", in_out_t=i16),
        *FLOAT_ROWS,
    ),
    traits=elementwise("input"),
    shapes=lambda c: [c["shape"]],
    checks=(
        Check(
            "CLAMP.E1",
            lambda c: c.max_val < c.min_val,
            "max_val {max_val} is less than min_val {min_val}",
            _swap,
            "input",
        ),
        Check(
            "CLAMP.E2",
            lambda c: math.isnan(c.min_val) or math.isnan(c.max_val),
            "min_val and max_val must not be NaN, got {min_val} and {max_val}",
            _nan,
            "input",
        ),
        Check(
            "CLAMP.E3",
            _out_of_range,
            "min_val {min_val} and max_val {max_val} must be values of type {in_out_t}",
            lambda case: case.set(max_val=1 << 40),
            "input",
        ),
    ),
    example=_clamp_example,
)


def _activation(name: str, code: int, schema: str, section: str) -> OpSpec:
    """A function of one float, without attributes."""

    def example(r: Row) -> Case:
        t = r.types["in_out_t"]
        return Case(name).input("input", t, (2, 3)).output("output", t, (2, 3))

    return OpSpec(
        name=name,
        code=code,
        schema=schema,
        section=section,
        inputs=CLAMP.inputs,
        attributes=(),
        outputs=CLAMP.outputs,
        rows=FLOAT_ROWS,
        traits=elementwise("input"),
        shapes=lambda c: [c["shape"]],
        example=example,
    )


ERF = _activation("ERF", 12, "Erf", "2.4.2")
SIGMOID = _activation("SIGMOID", 13, "Sigmoid", "2.4.3")
TANH = _activation("TANH", 14, "Tanh", "2.4.4")

OPERATORS = (CLAMP, ERF, SIGMOID, TANH)
