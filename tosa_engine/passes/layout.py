"""Transposes move towards the outputs until they meet and cancel: a convolutional network keeps them at its border.

The pass walks a block once. For each tensor it remembers a stand-in and a permutation with
`tensor = TRANSPOSE(stand-in, perms)`; a TRANSPOSE only changes that permutation. Operators that work in any layout are
applied to the stand-ins with their axes renamed (`layout_rules`); others, and the outputs of the block, get a real
TRANSPOSE. One that moves extents of 1 only is a RESHAPE, and a RESHAPE of a RESHAPE is one.

A view (TRANSPOSE, RESHAPE) that vanishes takes its source name with it: its values are those of the tensor it viewed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Block, Operator, copy_tensor
from .layout_rules import rearrange
from .stand_ins import StandIns, compose, keeps_order

if TYPE_CHECKING:
    from ..graph import Graph


def run(graph: Graph) -> Graph:
    """The graph with fewer transposes; it computes the same values."""
    moved = graph.copy()
    change(moved)
    return moved


def change(graph: Graph) -> None:
    for region in graph.regions:
        region.blocks = [Walk(block).run() if _has_views(block) else block for block in region.blocks]


def _has_views(block: Block) -> bool:
    return any(operator.op in ("TRANSPOSE", "RESHAPE") for operator in block.operators)


class Walk(StandIns):
    """The walk through one block."""

    def run(self) -> Block:
        for operator in self.old.operators:
            self.writer.location = operator.location
            self.writer.stem = operator.outputs[0] if operator.outputs else operator.op.lower()
            self._operator(operator)
        for name in dict.fromkeys(self.old.outputs):
            self._output(name)
        return self.new

    def _operator(self, operator: Operator) -> None:
        if operator.op == "TRANSPOSE":
            tensor, perms = self.stand_ins[operator.inputs[0]]
            self.stand_ins[operator.outputs[0]] = (tensor, compose(perms, operator.attributes["perms"]))
        elif operator.op == "RESHAPE":
            self._reshape(operator)
        elif not rearrange(self, operator):
            inputs = [self.plain(name) for name in operator.inputs]
            self.append(operator, inputs, (), operator.attributes)

    def _reshape(self, operator: Operator) -> None:
        name, output = operator.inputs[0], operator.outputs[0]
        tensor, perms = self.stand_ins[name]
        shape = self.old.tensors[output].shape
        if shape is None or not keeps_order(tensor.shape or (), perms):
            self.append(operator, [self.plain(n) for n in operator.inputs], (), operator.attributes)
            return
        view = self.reshaped(tensor, shape)
        if view is not tensor and view.name not in self.old.tensors:
            view.source, view.quant = self.old.tensors[output].source, self.old.tensors[output].quant
        self.bind(output, view)

    def _output(self, name: str) -> None:
        """The output under its own name, whatever stands for it."""
        if name in self.new.tensors:
            return
        plain, old = self.plain(name), self.old.tensors[name]
        producer = self.writer.producers.get(plain.name)
        readers = self.new.consumers().get(plain.name, [])
        fresh_view = producer is not None and producer.op in ("TRANSPOSE", "RESHAPE") and not readers
        if fresh_view and producer is not None and plain.name not in (*self.old.tensors, *self.new.outputs):
            del self.new.tensors[plain.name]
            producer.outputs = [name]
            # the same object under its new name: other outputs may have it as their stand-in
            plain.name, plain.source, plain.quant = name, old.source, old.quant
            self.new.add(plain)
            self.writer.producers[name] = producer
        else:
            self.new.operators.append(Operator("IDENTITY", [plain.name], [name], location=old.source))
            self.new.add(copy_tensor(old))
