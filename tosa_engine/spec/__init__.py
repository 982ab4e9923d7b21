"""The op table: the only list of operators. `TABLE[name]` is the entry of an operator, `bind` sees a use through it.

`traits_of`, `is_constant` and `macs_of` ask it about operators of graphs that needn't be legal and may have composites,
which are in no table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import Unsupported, raise_all
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
from .bind import bind
from .table import Argument, Attribute, Call, Check, Limit, OpSpec, Require, Row
from .traits import OPAQUE, Traits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block, Graph, Operator

FAMILIES: Final = (
    tensor_ops, activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, reduction, data_layout,
    scatter_gather, image, type_conversion, data_nodes, custom, control_flow, variable, shape,
)  # fmt: skip
TABLE: Final[Mapping[str, OpSpec]] = {entry.name: entry for family in FAMILIES for entry in family.OPERATORS}


def bind_operator(operator: Operator, block: Block, graph: Graph | None = None) -> Call:
    """The call of an operator in its block; `graph` holds the regions that it may name.

    Raises:
        ErrorIf: (or `Problems`) when the operator doesn't fit its entry.
        Unsupported: when the table has no such operator.
    """
    if operator.op not in TABLE:
        raise Unsupported(f"no operator {operator.op}", node=operator.name)
    binding = bind(TABLE[operator.op], operator, block.tensors, graph)
    raise_all(binding.problems)
    return binding.call


def traits_of(operator: Operator) -> Traits:
    """The traits of an operator; of a composite nothing is known but its body."""
    entry = TABLE.get(operator.op)
    return OPAQUE if entry is None else entry.traits


def is_constant(operator: Operator) -> bool:
    """Whether an operator only holds values."""
    entry = TABLE.get(operator.op)
    return entry is not None and entry.is_constant


def macs_of(operator: Operator, block: Block) -> int:
    """Multiply-accumulates of an operator: each of its weights, once at every position. 0 where shapes aren't known,
    or the operator isn't legal."""
    weight = traits_of(operator).weight
    if weight is None:
        return 0
    binding = bind(TABLE[operator.op], operator, block.tensors)
    sizes = binding.call.names
    if binding.problems or not sizes.keys() >= set(weight.positions):
        return 0
    shape = binding.call.tensor(weight.argument).shape
    return 0 if shape is None else weight.products(shape, sizes)


__all__ = [
    "FAMILIES", "TABLE", "Argument", "Attribute", "Call", "Check", "Limit", "OpSpec", "Require", "Row", "bind",
    "bind_operator", "is_constant", "macs_of", "traits_of",
]  # fmt: skip
