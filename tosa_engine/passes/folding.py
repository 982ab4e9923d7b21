"""Constant folding: an operator whose inputs are all constant becomes CONST, its values computed by the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .. import types
from ..errors import RequireViolation
from ..graph import Composite, Operator
from ..lower.views import reshaped, transposed
from ..oracle import run_operator
from ..spec import TABLE, bind_operator

if TYPE_CHECKING:
    from ..graph import Block, Graph, QParams, Tensor
    from ..types import Array

MAX_GROWTH: Final = 1 << 24  # elements; larger results are folded only when the inputs are as large


def run(graph: Graph) -> Graph:
    """The graph with constant subgraphs evaluated. What a REQUIRE forbids is left for the run to report."""
    folded = graph.copy()
    change(folded)
    return folded


def change(graph: Graph) -> None:
    for _, block in graph.blocks():
        block.operators = [_fold(block, operator) for operator in block.operators]


def _fold(block: Block, operator: Operator) -> Operator:
    if any(block.tensors[n].data is None for n in operator.inputs):
        return operator
    inputs = [block.tensors[n] for n in operator.inputs]
    if isinstance(operator, Composite) or operator.op not in TABLE or not inputs or len(operator.outputs) != 1:
        return operator
    if not TABLE[operator.op].pure:
        return operator
    output = block.tensors[operator.outputs[0]]
    elements = max(types.count(t.shape or ()) for t in inputs)
    if output.shape is None or output.size > max(elements, MAX_GROWTH):
        return operator
    call = bind_operator(operator, block)
    arrays: dict[str, Array | list[Array]] = {}
    for argument in call.spec.inputs:
        found = call.tensors[argument.name]
        arrays[argument.name] = [t.data for t in found] if isinstance(found, list) else found.data
    try:
        (value,) = run_operator(call, arrays)
    except RequireViolation:
        return operator
    hint = output.quant if output.quant is not None else _through(operator, inputs[0], output)
    block.tensors[output.name] = replace(output, data=value, quant=hint)
    return Operator("CONST", [], [output.name], location=operator.location)


def _through(operator: Operator, x: Tensor, output: Tensor) -> QParams | None:
    """The hint of a constant's view is that of the constant."""
    if operator.op == "TRANSPOSE":
        return transposed(x.quant, operator.attributes["perms"])
    if operator.op == "RESHAPE":
        return reshaped(x.quant, x.shape or (), output.shape or ())
    return x.quant if operator.op == "IDENTITY" else None
