"""Elementwise ternary operators (specification 2.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bool_, i8, i16, i32
from .broadcast import broadcast_shape
from .case import Case
from .floats import FP, float_rows
from .table import Call, Check, OpSpec, Row, row, tensor
from .traits import How, Moves, elementwise

if TYPE_CHECKING:
    from ..types import Shape


def _shape(c: Call) -> Shape | None:
    first = broadcast_shape(c.shape1, c.shape2)
    return None if first is None else broadcast_shape(first, c.shape3)


def _shapes(c: Call) -> list[Shape]:
    shape = _shape(c)
    assert shape is not None
    return [shape]


def _ranks(c: Call) -> bool:
    return len({len(c.shape1), len(c.shape2), len(c.shape3)}) > 1


def _example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("SELECT").input("input1", bool_, (2, 1)).input("input2", t, (2, 3)).input("input3", t, (1, 3))
    return case.output("output", t, (2, 3))


SELECT = OpSpec(
    name="SELECT",
    code=45,
    schema="Select",
    section="2.7.1",
    inputs=(
        tensor("input1", "bool_t", "shape1", (0, None)),
        tensor("input2", "in_out_t", "shape2", (0, None)),
        tensor("input3", "in_out_t", "shape3", (0, None)),
    ),
    attributes=(),
    outputs=(tensor("output", "in_out_t", "shape", (0, None)),),
    rows=(
        row("Boolean", "PRO-INT | PRO-FP", in_out_t=bool_),
        row("signed 8", "PRO-INT", in_out_t=i8),
        row("signed 16", "PRO-INT", in_out_t=i16),
        row("signed 32", "PRO-INT", in_out_t=i32),
        *float_rows(FP, "in_out_t"),
    ),
    traits=elementwise("input1", "input2", "input3", moves=Moves(("input2", "input3"), How.MOVED, "", None)),
    shapes=_shapes,
    checks=(
        Check(
            "SELECT.E1",
            _ranks,
            "inputs must have one rank, got shapes {shape1}, {shape2} and {shape3}",
            lambda case: case.reshape("input3", 3),
            "input1",
        ),
        Check(
            "SELECT.E2",
            lambda c: not _ranks(c) and _shape(c) is None,
            "shapes {shape1}, {shape2} and {shape3} don't broadcast: sizes must be equal or 1",
            lambda case: case.reshape("input3", 2, 2),
            "input1",
        ),
        Check(
            "SELECT.E3",
            lambda c: c.has("shape") and _shape(c) is not None and _shape(c) != c["shape"],
            "output must have the shape that {shape1}, {shape2} and {shape3} broadcast to, got {shape}",
            lambda case: case.reshape("output", 2, 4),
            "output",
        ),
    ),
    example=_example,
)

OPERATORS = (SELECT,)
