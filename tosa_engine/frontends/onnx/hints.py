"""Hints of an ONNX model go to the tensors in front of the operator that they are said of.

A model says the scale of what a CLAMP gives, and nothing of what it reads: integers that saturate first and are clamped
then are the same, so that the operator before it can have that scale, too. A view holds the same values.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...graph import Graph

SAME_SCALE: Final = ("CLAMP", "RESHAPE", "TRANSPOSE", "IDENTITY")


def spread(graph: Graph) -> None:
    """A scale of the whole tensor goes back through operators that keep it, to tensors that nobody else reads."""
    block = graph.main
    readers = Counter(name for op in block.operators for name in op.inputs)
    readers.update(block.outputs)
    for operator in reversed(block.operators):
        if operator.op not in SAME_SCALE:
            continue
        after, before = block.tensors[operator.outputs[0]], block.tensors[operator.inputs[0]]
        alone = readers[before.name] == 1 and before.data is None
        if alone and before.quant is None and after.quant is not None and after.quant.axis is None:
            before.quant = after.quant
