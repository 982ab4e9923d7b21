"""Shape operators (specification 2.18)."""

from __future__ import annotations

from .. import types
from .case import Case
from .data_nodes import BOTH, values_check
from .table import OpSpec, Row, row, tensor
from .traits import OPAQUE


def _example(r: Row) -> Case:
    return Case("CONST_SHAPE").output("output", types.shape, (3,), [2, 3, 4])


CONST_SHAPE = OpSpec(
    name="CONST_SHAPE",
    code=75,
    schema="ConstShape",
    section="2.18.1",
    inputs=(),
    attributes=(),
    outputs=(tensor("output", "shape_t", "shape", (1, 1)),),
    rows=(row("shape", BOTH),),
    traits=OPAQUE,
    shapes=lambda c: [],
    checks=(values_check("CONST_SHAPE.E1"),),
    example=_example,
)

OPERATORS = (CONST_SHAPE,)
