"""The op table: the only list of operators. `TABLE[name]` is the entry of an operator, `bind` sees a use through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import (
    activation_funcs,
    comparison,
    control_flow,
    custom,
    data_layout,
    data_nodes,
    ewise_binary,
    ewise_ternary,
    ewise_unary,
    image,
    reduction,
    scatter_gather,
    shape,
    tensor_ops,
    type_conversion,
    variable,
)
from .bind import bind, bind_operator
from .table import Argument, Attribute, Call, Check, Limit, OpSpec, Require, Row

if TYPE_CHECKING:
    from collections.abc import Mapping

FAMILIES: Final = (
    tensor_ops, activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, reduction, data_layout,
    scatter_gather, image, type_conversion, data_nodes, custom, control_flow, variable, shape,
)  # fmt: skip
TABLE: Final[Mapping[str, OpSpec]] = {entry.name: entry for family in FAMILIES for entry in family.OPERATORS}

__all__ = [
    "FAMILIES", "TABLE", "Argument", "Attribute", "Call", "Check", "Limit", "OpSpec", "Require", "Row", "bind",
    "bind_operator",
]  # fmt: skip
