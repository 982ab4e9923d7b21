"""Graphs held against each other: names apart, everything is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tosa_engine.graph import Block, Graph

NAMED = ("name", "then_graph", "else_graph", "cond_graph", "body_graph")


def drawn(graph: Graph) -> list[Any]:
    """A graph as plain data, its tensors numbered in the order in which they are met."""
    return [_drawn(block) for _, block in graph.blocks()]


def _drawn(block: Block) -> list[Any]:
    numbers: dict[str, Any] = {}

    def number(name: str) -> Any:
        if name not in numbers:
            tensor = block.tensors[name]
            data = None if tensor.data is None else tensor.data.tobytes()
            numbers[name] = len(numbers), str(tensor.dtype), tensor.shape, data, tensor.quant
        return numbers[name]

    def value(given: Any) -> Any:
        return given.tolist() if isinstance(given, np.ndarray) else given

    found: list[Any] = [[number(name) for name in block.inputs]]
    for op in block.operators:
        attributes = sorted((k, str(value(v))) for k, v in op.attributes.items() if k not in NAMED)
        found.append((op.op, [number(n) for n in op.inputs], [number(n) for n in op.outputs], attributes))
    return [*found, [number(name) for name in block.outputs]]
