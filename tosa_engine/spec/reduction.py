"""Reduction operators (specification 2.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bf16, bool_, fp16, fp32, i8, i16, i32
from .case import Case
from .floats import FP, NEEDS, float_rows
from .table import Attribute, Call, Check, OpSpec, Require, Row, row, tensor
from .traits import How, along_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Shape

INPUTS = (tensor("input", "in_out_t", "shape1", (1, None)),)
OUTPUTS = (tensor("output", "in_out_t", "shape", (1, None)),)


def _reduced(c: Call) -> Shape:
    return (*c.shape1[: c.axis], 1, *c.shape1[c.axis + 1 :])


def _checks(op: str) -> tuple[Check, ...]:
    """E2 is the one ERROR_IF on the output; that its other sizes are the input's is part of it."""
    return (
        Check(
            f"{op}.E1",
            lambda c: not 0 <= c.axis < len(c.shape1),
            "axis must be one of the input's axes, got axis {axis} for shape {shape1}",
            lambda case: case.set(axis=3),
            "input",
        ),
        Check(
            f"{op}.E2",
            lambda c: c.has("shape") and 0 <= c.axis < len(c.shape1) and _reduced(c) != c["shape"],
            "output must have the input's shape {shape1} with 1 along axis {axis}, got {shape}",
            lambda case: case.reshape("output", 2, 2, 4),
            "output",
        ),
    )


def _example(op: str, *, nan_mode: bool = False) -> Callable[[Row], Case]:
    def example(r: Row) -> Case:
        t = r.types["in_out_t"]
        case = Case(op).input("input", t, (2, 3, 4)).set(axis=1).output("output", t, (2, 1, 4))
        return case.set(nan_mode="PROPAGATE") if nan_mode else case

    return example


EXTREMUM_ROWS = (
    row("signed 8", "PRO-INT", in_out_t=i8),
    row("signed 16", "PRO-INT", in_out_t=i16),
    row("signed 32", "PRO-INT", in_out_t=i32),
    *float_rows(FP, "in_out_t"),
)
AXIS = Attribute("axis", "i32", 0)
NAN_MODE = Attribute("nan_mode", "nan_mode", 1, optional=True, default="PROPAGATE")


def _reduction(
    name: str, code: int, schema: str, section: str, rows: tuple[Row, ...], *, nan_mode: bool = False
) -> OpSpec:
    return OpSpec(
        name=name,
        code=code,
        schema=schema,
        section=section,
        inputs=INPUTS,
        attributes=(AXIS, NAN_MODE) if nan_mode else (AXIS,),
        outputs=OUTPUTS,
        rows=rows,
        traits=along_axis(How.CHOSEN if nan_mode else None),
        shapes=lambda c: [_reduced(c)],
        checks=_checks(name),
        example=_example(name, nan_mode=nan_mode),
    )


BOOLEAN_ROWS = (row("Boolean", "PRO-INT | PRO-FP", in_out_t=bool_),)

REDUCE_ALL = _reduction("REDUCE_ALL", 49, "ReduceAll", "2.9.1", BOOLEAN_ROWS)
REDUCE_ANY = _reduction("REDUCE_ANY", 50, "ReduceAny", "2.9.2", BOOLEAN_ROWS)
REDUCE_MAX = _reduction("REDUCE_MAX", 51, "ReduceMax", "2.9.3", EXTREMUM_ROWS, nan_mode=True)
REDUCE_MIN = _reduction("REDUCE_MIN", 52, "ReduceMin", "2.9.4", EXTREMUM_ROWS, nan_mode=True)
REDUCE_PRODUCT = _reduction("REDUCE_PRODUCT", 53, "ReduceProduct", "2.9.5", float_rows(FP, "in_out_t"))

REDUCE_SUM = OpSpec(
    name="REDUCE_SUM",
    code=54,
    schema="ReduceSum",
    section="2.9.6",
    inputs=INPUTS,
    attributes=(Attribute("axis", "i32", 0),),
    outputs=OUTPUTS,
    rows=(
        row("signed 32", "PRO-INT", in_out_t=i32, acc_t=i32),
        *(row(t.name, NEEDS[t], in_out_t=t, acc_t=acc) for t, acc in ((fp16, fp16), (bf16, fp32), (fp32, fp32))),
    ),
    traits=along_axis(None, lambda c: int(c.shape_of("input")[c["axis"]])),
    shapes=lambda c: [_reduced(c)],
    checks=_checks("REDUCE_SUM"),
    requires=(Require("REDUCE_SUM.R1", "adding the values in the order of the axis stays in acc_t"),),
    example=_example("REDUCE_SUM"),
)

OPERATORS = (REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PRODUCT, REDUCE_SUM)
