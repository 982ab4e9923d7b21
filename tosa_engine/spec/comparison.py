"""Comparison operators (specification 2.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bool_, i32
from .broadcast import broadcast_checks, broadcast_shapes
from .case import Case
from .floats import FP, float_rows
from .table import OpSpec, row, tensor
from .traits import elementwise

if TYPE_CHECKING:
    from .table import Row


def _comparison(name: str, code: int, schema: str, section: str) -> OpSpec:
    def example(r: Row) -> Case:
        t = r.types["in_t"]
        return Case(name).input("input1", t, (2, 3)).input("input2", t, (1, 3)).output("output", bool_, (2, 3))

    return OpSpec(
        name=name,
        code=code,
        schema=schema,
        section=section,
        inputs=(tensor("input1", "in_t", "shape1", (0, None)), tensor("input2", "in_t", "shape2", (0, None))),
        attributes=(),
        outputs=(tensor("output", "out_t", "shape", (0, None)),),
        rows=(row("signed 32", "PRO-INT", in_t=i32, out_t=bool_), *float_rows(FP, "in_t", out_t=bool_)),
        traits=elementwise("input1", "input2"),
        shapes=broadcast_shapes,
        checks=broadcast_checks(name),
        example=example,
    )


EQUAL = _comparison("EQUAL", 46, "Equal", "2.8.1")
GREATER = _comparison("GREATER", 47, "Greater", "2.8.2")
GREATER_EQUAL = _comparison("GREATER_EQUAL", 48, "GreaterEqual", "2.8.3")

OPERATORS = (EQUAL, GREATER, GREATER_EQUAL)
