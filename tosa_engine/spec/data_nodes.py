"""Data nodes (specification 2.14)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..types import bool_, i4, i8, i16, i32, i48
from .case import Case
from .floats import ALL, float_rows
from .table import Check, OpSpec, Row, tensor, with_types
from .traits import OPAQUE, Elementwise, in_order, view

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import DType

BOTH = "PRO-INT | PRO-FP"


def _rows(variable: str) -> tuple[Row, ...]:
    formats: tuple[tuple[str, str, DType], ...] = (
        ("Boolean", BOTH, bool_),
        ("4-bit", "EXT-INT4", i4),
        ("8-bit", BOTH, i8),
        ("16-bit", BOTH, i16),
        ("32-bit", BOTH, i32),
        ("48-bit", "EXT-INT16", i48),
    )
    integers = tuple(with_types(mode, needs, {variable: t}) for mode, needs, t in formats)
    return (*integers, *float_rows(ALL, variable))


def _forget_values(case: Case) -> None:
    case.tensor("output").data = None


def values_check(label: str) -> Check:
    """The attribute `values` is held as the data of the output tensor; E1 says that it must be there."""
    return Check(
        label,
        lambda c: getattr(c.constant("output"), "shape", None) != c.tensor("output").shape,
        "the constant has no values, or not as many as its shape needs",
        _forget_values,
        "output",
    )


def _const_example(r: Row) -> Case:
    return Case("CONST").output("output", r.types["out_t"], (2, 2), [[0, 1], [1, 0]])


def _identity_example() -> Callable[[Row], Case]:
    def example(r: Row) -> Case:
        t = r.types["in_out_t"]
        return Case("IDENTITY").input("input1", t, (2, 3)).output("output", t, (2, 3))

    return example


CONST = OpSpec(
    name="CONST",
    code=67,
    schema="Const",
    section="2.14.1",
    inputs=(),
    attributes=(),
    outputs=(tensor("output", "out_t", "shape", (0, None)),),
    rows=_rows("out_t"),
    traits=OPAQUE,
    shapes=lambda c: [],
    checks=(values_check("CONST.E1"),),
    example=_const_example,
)

IDENTITY = OpSpec(
    name="IDENTITY",
    code=68,
    schema="Identity",
    section="2.14.2",
    inputs=(tensor("input1", "in_out_t", "shape", (0, None)),),
    attributes=(),
    outputs=(tensor("output", "in_out_t", "shape", (0, None)),),
    rows=_rows("in_out_t"),
    traits=replace(view(in_order, None), elementwise=Elementwise(("input1",), "")),
    shapes=lambda c: [c["shape"]],
    example=_identity_example(),
)

OPERATORS = (CONST, IDENTITY)
