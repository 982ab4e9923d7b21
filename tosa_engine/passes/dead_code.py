"""Dead code: operators whose results reach no output of their block, and tensors that nothing refers to.

Operators that do more than computing results (control flow, variables, custom ones) stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..spec import TABLE

if TYPE_CHECKING:
    from ..graph import Block, Graph, Operator


def run(graph: Graph) -> Graph:
    """The graph without them. Inputs and outputs of blocks stay."""
    cleaned = graph.copy()
    change(cleaned)
    return cleaned


def change(graph: Graph) -> None:
    for _, block in graph.blocks():
        _clean(block)


def _clean(block: Block) -> None:
    needed = set(block.outputs)
    kept: list[Operator] = []
    for operator in reversed(block.operators):
        pure = operator.op not in TABLE or TABLE[operator.op].pure
        if not pure or not needed.isdisjoint(operator.outputs):
            needed.update(operator.inputs, operator.outputs)
            kept.append(operator)
    block.operators = kept[::-1]
    needed.update(block.inputs)
    block.tensors = {name: tensor for name, tensor in block.tensors.items() if name in needed}
