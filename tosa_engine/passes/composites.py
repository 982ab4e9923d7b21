"""Named groups of operators (`graph.Composite`) give way to the operators of their bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Composite, Tensor, copy_operator

if TYPE_CHECKING:
    from collections.abc import Container

    from ..graph import Block, Graph, Operator


def run(graph: Graph, keep: Container[str] = ()) -> Graph:
    """Each composite (but those named in `keep`) replaced by the operators of its body, under free names."""
    expanded = graph.copy()
    for _, block in expanded.blocks():
        operators = block.operators
        block.operators = []
        for operator in operators:
            if isinstance(operator, Composite) and operator.op not in keep:
                block.operators.extend(_inline(block, operator))
            else:
                block.operators.append(operator)
    return expanded


expand = run


def _inline(block: Block, composite: Composite) -> list[Operator]:
    body = composite.body
    names = dict(zip(body.inputs, composite.inputs, strict=True))
    names.update(zip(body.outputs, composite.outputs, strict=True))
    inlined: list[Operator] = []
    for name, tensor in body.tensors.items():
        if name not in names:
            names[name] = block.fresh(name)
            block.add(Tensor(names[name], tensor.dtype, tensor.shape, tensor.data, tensor.quant, tensor.source))
    for operator in body.operators:
        renamed = copy_operator(operator)
        renamed.inputs = [names[n] for n in operator.inputs]
        renamed.outputs = [names[n] for n in operator.outputs]
        inlined.extend(_inline(block, renamed) if isinstance(renamed, Composite) else [renamed])
    return inlined
