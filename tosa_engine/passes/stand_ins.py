"""What stands for the tensors of a block while `layout` moves its transposes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..graph import Block, Operator, Tensor, copy_operator, copy_tensor
from ..lower.views import reshaped as quant_reshaped
from ..lower.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Shape

Perms = tuple[int, ...]


def compose(first: Sequence[int], second: Sequence[int]) -> Perms:
    """One permutation for TRANSPOSE(TRANSPOSE(x, first), second)."""
    return tuple(first[p] for p in second)


def inverse(perms: Sequence[int]) -> Perms:
    return tuple(perms.index(i) for i in range(len(perms)))


def keeps_order(shape: Shape, perms: Sequence[int]) -> bool:
    """Whether the transposition moves extents of 1 only, so that elements stay in their order."""
    moved = [p for p in perms if shape[p] != 1]
    return moved == sorted(moved)


class StandIns:
    """One block: `old` is read, `new` written; `stand_ins` maps names of `old` to (tensor of `new`, perms)."""

    def __init__(self, old: Block) -> None:
        self.old, self.new = old, Block(old.name, list(old.inputs), list(old.outputs))
        self.writer = Writer(self.new, taken=old.tensors)
        self.stand_ins: dict[str, tuple[Tensor, Perms]] = {}
        self._made: dict[tuple[str, Perms], Tensor] = {}
        for name in dict.fromkeys(old.inputs):
            self.bind(name, self.new.add(copy_tensor(old.tensors[name])))

    def perms(self, name: str) -> Perms:
        return self.stand_ins[name][1]

    def plain(self, name: str) -> Tensor:
        """The tensor in its own layout."""
        return self.arranged(name, tuple(range(len(self.stand_ins[name][1]))))

    def arranged(self, name: str, perms: Perms) -> Tensor:
        """A tensor x of the new block with `name` = TRANSPOSE(x, perms)."""
        tensor, has = self.stand_ins[name]
        wanted = compose(has, inverse(perms))
        if wanted == tuple(range(len(wanted))):
            return tensor
        key = (tensor.name, wanted)
        if key not in self._made:
            self._made[key] = self._view(tensor, wanted, name)
        return self._made[key]

    def append(self, operator: Operator, inputs: Sequence[Tensor], perms: Perms, attributes: dict[str, object]) -> None:
        """The operator on `inputs`; its outputs stand for its old ones through `perms` (empty: no change)."""
        copied = copy_operator(operator)
        copied.inputs, copied.attributes = [t.name for t in inputs], dict(attributes)
        outputs = []
        for name in operator.outputs:
            tensor = copy_tensor(self.old.tensors[name])
            moved = bool(perms) and perms != tuple(range(len(perms)))
            if moved:
                assert tensor.shape is not None
                back = inverse(perms)
                tensor.shape = tuple(tensor.shape[p] for p in back)
                if tensor.quant is not None and tensor.quant.axis is not None:
                    tensor.quant = replace(tensor.quant, axis=perms[tensor.quant.axis])
                if name in self.old.outputs:
                    tensor.name = self.writer.name("layout")
            outputs.append(self.new.add(tensor).name)
            self.bind(name, tensor, perms)
        copied.outputs = outputs
        self.writer.append(copied)

    def bind(self, name: str, tensor: Tensor, perms: Perms = ()) -> None:
        self.stand_ins[name] = (tensor, perms or tuple(range(len(tensor.shape or ()))))

    def _view(self, tensor: Tensor, perms: Perms, name: str) -> Tensor:
        shape = tensor.shape or ()
        if keeps_order(shape, perms):
            return self._named(self.reshaped(tensor, tuple(shape[p] for p in perms)), name)
        return self._named(self.writer.transpose(tensor, perms), name)

    def reshaped(self, tensor: Tensor, shape: Shape) -> Tensor:
        """`tensor` in another shape; from what it was reshaped from itself, where that is known."""
        producer = self.writer.producers.get(tensor.name)
        while producer is not None and producer.op == "RESHAPE":
            before = self.new.tensors[producer.inputs[0]]
            if before.quant is None and tensor.quant is not None:
                before.quant = quant_reshaped(tensor.quant, tensor.shape or (), before.shape or ())
            if before.shape == shape:
                return before
            producer, source = self.writer.producers.get(before.name), tensor.source
            tensor = replace(before, source=source) if source is not None and source.name else before
        return self.writer.reshape(tensor, shape)

    def _named(self, view: Tensor, name: str) -> Tensor:
        """Give a new view the old name, unless that is taken or `view` isn't new."""
        old = self.old.tensors[name]
        if view.name in self.old.tensors or name in self.new.tensors or name in self.old.outputs:
            return view
        if old.shape == view.shape and old.source is not None and old.source.name:
            view.source, view.quant = old.source, old.quant
        return view
