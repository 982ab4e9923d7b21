"""Scatter and gather (specification 2.11)."""

from __future__ import annotations

from ..types import i8, i16, i32
from .case import Case
from .floats import ALL, float_rows
from .table import OpSpec, Require, Row, row, tensor
from .traits import rearranged

ROWS = (
    row("signed 8", "PRO-INT", in_out_t=i8, index_t=i32),
    row("signed 16", "PRO-INT", in_out_t=i16, index_t=i32),
    row("signed 32", "PRO-INT", in_out_t=i32, index_t=i32),
    *float_rows(ALL, "in_out_t", index_t=i32),
)
INSIDE = "every index is in 0 .. K - 1"


def _gather_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    return Case("GATHER").input("values", t, (2, 4, 3)).input("indices", i32, (2, 5)).output("output", t, (2, 5, 3))


GATHER = OpSpec(
    name="GATHER",
    code=62,
    schema="Gather",
    section="2.11.1",
    inputs=(tensor("values", "in_out_t", "[N,K,C]", (3, 3)), tensor("indices", "index_t", "[N,W]", (2, 2))),
    attributes=(),
    outputs=(tensor("output", "in_out_t", "[N,W,C]", (3, 3)),),
    rows=ROWS,
    traits=rearranged("values", batch=("values", "indices")),
    shapes=lambda c: [(c.N, c.W, c.C)],
    requires=(Require("GATHER.R1", INSIDE),),
    example=_gather_example,
)


def _scatter_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("SCATTER").input("values_in", t, (2, 4, 3)).input("indices", i32, (2, 2)).input("input", t, (2, 2, 3))
    return case.output("values_out", t, (2, 4, 3))


SCATTER = OpSpec(
    name="SCATTER",
    code=63,
    schema="Scatter",
    section="2.11.2",
    inputs=(
        tensor("values_in", "in_out_t", "[N,K,C]", (3, 3)),
        tensor("indices", "index_t", "[N,W]", (2, 2)),
        tensor("input", "in_out_t", "[N,W,C]", (3, 3)),
    ),
    attributes=(),
    outputs=(tensor("values_out", "in_out_t", "[N,K,C]", (3, 3)),),
    rows=ROWS,
    traits=rearranged("values_in", "input", batch=("values_in", "indices", "input")),
    shapes=lambda c: [(c.N, c.K, c.C)],
    requires=(
        Require("SCATTER.R1", INSIDE),
        Require("SCATTER.R2", "no two indices of one batch are equal: an output is written at most once"),
    ),
    example=_scatter_example,
)

OPERATORS = (GATHER, SCATTER)
