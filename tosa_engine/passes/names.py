"""Each value under its source's name: a tensor that carries a source name no tensor has takes that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Composite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block, Graph


def run(graph: Graph) -> Graph:
    """The graph with tensors renamed; of several views of one value the first takes the name. Values don't change."""
    named = graph.copy()
    change(named)
    return named


def change(graph: Graph) -> None:
    for _, block in graph.blocks():
        _rename(block)


def _rename(block: Block) -> None:
    kept = {*block.inputs, *block.outputs}
    renamed: dict[str, str] = {}
    taken = set(block.tensors)
    for operator in block.operators:
        for name in operator.outputs:
            source = block.tensors[name].source
            if name not in kept and source is not None and source.name and source.name not in taken:
                renamed[name] = source.name
                taken.add(source.name)
    apply(block, renamed)


def apply(block: Block, renamed: Mapping[str, str]) -> None:
    """Rename tensors of a block, those between it and its composites, too, to names that are free."""
    block.inputs = [renamed.get(name, name) for name in block.inputs]
    block.outputs = [renamed.get(name, name) for name in block.outputs]
    block.tensors = {renamed.get(name, name): tensor for name, tensor in block.tensors.items()}
    for name, tensor in block.tensors.items():
        tensor.name = name
    for operator in block.operators:
        operator.inputs = [renamed.get(name, name) for name in operator.inputs]
        operator.outputs = [renamed.get(name, name) for name in operator.outputs]
        if isinstance(operator, Composite):
            _rename_inside(operator, renamed)


def _rename_inside(composite: Composite, renamed: Mapping[str, str]) -> None:
    """A body has its inputs and outputs under the names they have outside."""
    body = composite.body
    border = {n: renamed[n] for n in (*body.inputs, *body.outputs) if n in renamed}
    body.inputs = [border.get(n, n) for n in body.inputs]
    body.outputs = [border.get(n, n) for n in body.outputs]
    body.tensors = {border.get(n, n): t for n, t in body.tensors.items()}
    for name, tensor in body.tensors.items():
        tensor.name = name
    for operator in body.operators:
        operator.inputs = [border.get(n, n) for n in operator.inputs]
        operator.outputs = [border.get(n, n) for n in operator.outputs]
