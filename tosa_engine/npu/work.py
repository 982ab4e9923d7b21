"""What each operator of a graph computes and moves: products (MACs) and bytes, before anything is fused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..spec import is_constant, macs_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..graph import Block, Graph, Operator, Tensor


@dataclass(frozen=True)
class Work:
    """Of an operator: multiply-accumulates, and the bytes of the tensors that it reads, of its constants and of what
    it writes, as their formats have them: two int4 in a byte, six bytes for an int48. A tensor whose shape isn't known
    has none.
    """

    node: str
    op: str
    macs: int
    read: int
    constant: int
    written: int

    @property
    def moved(self) -> int:
        return self.read + self.constant + self.written


def work_of(graph: Graph) -> list[Work]:
    """Of all operators that compute, in the order of execution; a region's once."""
    return [work_of_operator(op, block) for _, block in graph.blocks() for op in block.operators if not is_constant(op)]


def work_of_operator(op: Operator, block: Block) -> Work:
    inputs = [block.tensors[name] for name in dict.fromkeys(op.inputs) if name in block.tensors]
    outputs = [block.tensors[name] for name in op.outputs if name in block.tensors]
    fixed = [tensor for tensor in inputs if tensor.data is not None]
    read = [tensor for tensor in inputs if tensor.data is None]
    return Work(op.name, op.op, macs_of(op, block), _bytes(read), _bytes(fixed), _bytes(outputs))


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum((tensor.size * tensor.dtype.bits + 7) // 8 for tensor in tensors if tensor.shape is not None)
