"""Variable operators (specification 2.17).

Variables live as long as the session, or whatever else runs the graph. In memory the operators have the attributes of
the specification; files hold them in the tensor of the variable (`serialize.variables`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..types import fp16, fp32, i8
from .case import Case
from .table import Attribute, OpSpec, Require, Row, tensor, with_types
from .traits import OPAQUE

if TYPE_CHECKING:
    from ..types import DType, Shape
    from .table import Call

NAME = Attribute("name", "string", None)


def _rows(variable: str) -> tuple[Row, ...]:
    return (
        with_types("signed 8", "PRO-INT & EXT-VARIABLE", {variable: i8}),
        with_types("fp16", "PRO-FP & EXT-VARIABLE", {variable: fp16}),
        with_types("fp32", "PRO-FP & EXT-VARIABLE", {variable: fp32}),
    )


def _attributes(dtype: DType) -> dict[str, Any]:
    return {"name": "v", "var_shape": (2, 3), "type": dtype, "initial_value": np.ones((2, 3), dtype.storage)}


def _with_variable(op: str, dtype: DType) -> Case:
    return Case(op).set(name="v").after("VARIABLE", **_attributes(dtype))


def _declared(c: Call) -> list[Shape]:
    """The shape with which the graph declares the variable; it may also have been declared by an earlier graph."""
    blocks = c.graph.blocks() if c.graph is not None else ()
    declared = (op for _, block in blocks for op in block.operators if op.op == "VARIABLE")
    return [op.attributes["var_shape"] for op in declared if op.attributes.get("name") == c["name"]][:1]


VARIABLE = OpSpec(
    name="VARIABLE",
    code=72,
    schema="Variable",
    section="2.17.1",
    inputs=(),
    attributes=(
        NAME,
        Attribute("var_shape", "i32[rank]", None),
        Attribute("type", "dtype", None, type="var_t"),
        Attribute("initial_value", "array", None, optional=True),
    ),
    outputs=(),
    rows=_rows("var_t"),
    traits=OPAQUE,
    shapes=lambda c: [],
    requires=(
        Require("VARIABLE.R1", "the initial value has the variable's type"),
        Require("VARIABLE.R2", "the initial value has the variable's shape"),
        Require("VARIABLE.R3", "a variable is declared once in a run of a graph"),
    ),
    example=lambda r: Case("VARIABLE").set(**_attributes(r.types["var_t"])),
    pure=False,
)

VARIABLE_WRITE = OpSpec(
    name="VARIABLE_WRITE",
    code=73,
    schema="VariableWrite",
    section="2.17.2",
    inputs=(tensor("input1", "in_t", "shape", (0, None)),),
    attributes=(NAME,),
    outputs=(),
    rows=_rows("in_t"),
    traits=OPAQUE,
    shapes=lambda c: [],
    requires=(
        Require("VARIABLE_WRITE.R1", "the variable exists"),
        Require("VARIABLE_WRITE.R2", "the variable was declared in this run"),
        Require("VARIABLE_WRITE.R3", "the input has the variable's shape"),
        Require("VARIABLE_WRITE.R4", "the input has the variable's type"),
    ),
    example=lambda r: _with_variable("VARIABLE_WRITE", r.types["in_t"]).input("input1", r.types["in_t"], (2, 3)),
    pure=False,
)

VARIABLE_READ = OpSpec(
    name="VARIABLE_READ",
    code=74,
    schema="VariableRead",
    section="2.17.3",
    inputs=(),
    attributes=(NAME,),
    outputs=(tensor("output1", "out_t", "shape", (0, None)),),
    rows=_rows("out_t"),
    traits=OPAQUE,
    shapes=_declared,
    requires=(
        Require("VARIABLE_READ.R1", "the variable exists"),
        Require("VARIABLE_READ.R2", "the variable was written"),
        Require("VARIABLE_READ.R3", "the output has the variable's shape"),
        Require("VARIABLE_READ.R4", "the output has the variable's type"),
    ),
    example=lambda r: _with_variable("VARIABLE_READ", r.types["out_t"]).output("output1", r.types["out_t"], (2, 3)),
    pure=False,
)

OPERATORS = (VARIABLE, VARIABLE_WRITE, VARIABLE_READ)
