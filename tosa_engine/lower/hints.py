"""Hints of quantization: one that is said of a tensor holds for those with the same values in another view, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError
from .views import reshaped, shape_of, transposed

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from ..graph import Block, Graph, Operator, QParams, Tensor


def attach(graph: Graph, hints: Mapping[str, QParams], file: object) -> None:
    """Give hints to the tensors of these names. Raises UsageError for names that the graph of `file` hasn't."""
    block = graph.main
    unknown = [name for name in hints if name not in block.tensors]
    if unknown:
        raise UsageError(f"the quantization names tensors that {file} doesn't have: {', '.join(unknown)}")
    producers = {name: operator for operator in block.operators for name in operator.outputs}
    bound = {t.name for t in block.tensors.values() if t.source is not None and t.source.name == t.name}
    for name, quant in hints.items():
        block.tensors[name].quant = quant
        carry_back(block, producers, block.tensors[name], bound)


def carry_back(block: Block, producers: Mapping[str, Operator], result: Tensor, bound: Container[str]) -> None:
    """Tensors that hold the values of `result` in another view carry its source name and hint, up to one that is
    `bound` to a name of the model's own.
    """
    producer = producers.get(result.name)
    while producer is not None and producer.op in ("TRANSPOSE", "RESHAPE"):
        before = block.tensors[producer.inputs[0]]
        if before.name in bound or before.data is not None:
            return
        before.source, before.quant = result.source, _before(producer, before, result)
        result, producer = before, producers.get(before.name)
    if producer is not None and producer.op == "CONCAT":
        for part in (block.tensors[n] for n in producer.inputs):
            if part.name not in bound and result.quant is not None and result.quant.axis is None:
                part.quant = result.quant


def _before(view: Operator, before: Tensor, after: Tensor) -> QParams | None:
    if view.op == "RESHAPE":
        return reshaped(after.quant, shape_of(after), shape_of(before))
    perms = view.attributes["perms"]
    return transposed(after.quant, [perms.index(i) for i in range(len(perms))])
