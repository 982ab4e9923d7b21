"""ADD, SUB and MUL by constants per channel between a graph input and the first layers become part of these.

Of x * gain + offset, with moves of values between, CONV2D, DEPTHWISE_CONV2D and a MATMUL by constants get weight * gain
and bias + the sum of weight * offset, in double precision and rounded once to fp32. Padding is zeros of what is
normalised: where there is some, and at a MATMUL, which has no bias, x + offset / gain stays before the layer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from ..graph import Operator, Tensor
from . import dead_code, names
from .affine import Affine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..graph import Block, Graph
    from ..types import Array

STEPS: Final = ("ADD", "SUB", "MUL")
MOVES: Final = ("RESHAPE", "TRANSPOSE", "SLICE")
LAYERS: Final = ("CONV2D", "DEPTHWISE_CONV2D", "MATMUL")


@dataclass
class Taken:
    """A layer that can take in its input's normalisation: per channel, or for all; `whole`: with the offset."""

    op: Operator
    affine: Affine
    whole: bool


@dataclass
class Normalization:
    """Of one graph input: the operators that go, the moves between them and the layers, and the layers."""

    input: str
    steps: list[Operator] = field(default_factory=list)
    moves: list[Operator] = field(default_factory=list)
    layers: list[Taken] = field(default_factory=list)

    @property
    def saves(self) -> bool:
        """Whether less operators are left. A layer takes one normalisation."""
        left = sum(not layer.whole for layer in self.layers)
        return len(self.layers) == len({id(layer.op) for layer in self.layers}) > 0 and len(self.steps) > left


def run(graph: Graph) -> Graph:
    """The graph with all that can be folded."""
    folded = graph.copy()
    fold(folded, find(folded.main))
    return folded


def find(block: Block) -> list[Normalization]:
    """Those that have no other reader than such layers, and less operators without them."""
    readers, found = block.consumers(), list[Normalization]()
    starts = [(name, name) for name in block.inputs if block.tensors[name].dtype is types.fp32]
    for given, start in starts:
        for op in readers.get(start, []):
            if op.op in MOVES and op.inputs[0] == start:
                starts.append((given, op.outputs[0]))
            elif op.op in STEPS:
                rank = len(block.tensors[start].shape or ())
                made = Normalization(given)
                identity = Affine(np.ones((1,) * rank), np.zeros((1,) * rank))
                if _follow(block, readers, op, start, identity, made) and made.saves:
                    found.append(made)
    return found


def fold(graph: Graph, found: Iterable[Normalization]) -> None:
    """Change the graph: `found` are of its main block."""
    block = graph.main
    for each in found:
        instead: dict[str, str] = {}
        for step in each.steps:
            source = next(name for name in step.inputs if block.tensors[name].data is None)
            instead[step.outputs[0]] = instead.get(source, source)
        for op in (*each.moves, *(layer.op for layer in each.layers)):
            op.inputs[0] = instead.get(op.inputs[0], op.inputs[0])
        names.apply(block, {op.outputs[0]: block.fresh(f"{op.outputs[0]}/raw") for op in each.moves})
        for op in each.moves:
            _nameless(block.tensors[op.outputs[0]])
        for layer in each.layers:
            at = next(i for i, op in enumerate(block.operators) if op is layer.op)
            block.operators[at:at] = _take_in(block, layer, each.steps[-1])
    dead_code.change(graph)


def _follow(
    block: Block,
    readers: Mapping[str, list[Operator]],
    op: Operator,
    at: str,
    affine: Affine,
    made: Normalization,
) -> bool:
    """Whether all that reads the result, directly or behind more steps and moves, is a layer that can take it in."""
    if op.inputs.count(at) != 1:
        return False
    if op.op in LAYERS:
        taken = _layer(block, op, at, affine)
        made.layers += taken
        return bool(taken)
    result = block.tensors[op.outputs[0]]
    after = _after(block, op, at, affine)
    if after is None or result.name in block.outputs or result.quant is not None or not readers.get(result.name):
        return False
    (made.steps if op.op in STEPS else made.moves).append(op)
    return all(_follow(block, readers, reader, result.name, after, made) for reader in readers[result.name])


def _after(block: Block, op: Operator, at: str, affine: Affine) -> Affine | None:
    """What the input of `op` is of the graph input, said of its result; None where it isn't known."""
    tensor, result = block.tensors[at], block.tensors[op.outputs[0]]
    if tensor.shape is None or result.shape is None or op.op not in (*STEPS, *MOVES):
        return None
    if op.op in STEPS:
        first = op.inputs[0] == at
        data = block.tensors[op.inputs[1] if first else op.inputs[0]].data
        if data is None or result.shape != tensor.shape or not np.isfinite(data).all():
            return None
        after = Affine(affine.gain, affine.offset)
        after.take(op.op, data.astype(np.float64), first)
        return after
    if op.inputs[0] != at or tensor.size > types.MAX_ELEMENTS:
        return None
    return Affine(
        *(_collapsed(_moved(block, op, np.broadcast_to(a, tensor.shape))) for a in (affine.gain, affine.offset))
    )


def _moved(block: Block, op: Operator, values: Array) -> Array:
    if op.op == "TRANSPOSE":
        return values.transpose(op.attributes["perms"])
    if op.op == "RESHAPE":
        return values.reshape(block.tensors[op.outputs[0]].shape or ())
    start, size = (np.asarray(block.tensors[name].data).tolist() for name in op.inputs[1:3])
    return values[tuple(slice(a, a + n) for a, n in zip(start, size, strict=True))]


def _collapsed(values: Array) -> Array:
    """With an extent of 1 where all values along an axis are equal."""
    for axis in range(values.ndim):
        first = values.take([0], axis)
        values = first if (values == first).all() else values
    return values


def _layer(block: Block, op: Operator, at: str, affine: Affine) -> Iterator[Taken]:
    """The layer, if it has constants of its own to change, and one gain and offset for each of its input channels."""
    weight = block.tensors[op.inputs[1]]
    bias = block.tensors[op.inputs[2]] if op.op != "MATMUL" else None
    result = block.tensors[op.outputs[0]]
    if op.inputs[0] != at or weight.data is None or weight.quant is not None or result.dtype is not types.fp32:
        return
    if bias is not None and (bias.data is None or bias.quant is not None):
        return
    gain, offset = (_collapsed(a) for a in np.broadcast_arrays(affine.gain, affine.offset))
    if any(extent != 1 for a in (gain, offset) for extent in a.shape[:-1]):
        return
    whole = not offset.any() or (bias is not None and not any(op.attributes["pad"]))
    if not whole and not gain.all():
        return
    channels = (block.tensors[at].shape or ())[-1]
    taken = Taken(op, Affine(*(np.broadcast_to(a.reshape(-1), (channels,)) for a in (gain, offset))), whole)
    if all(np.isfinite(a).all() for a in _constants(block, taken)):
        yield taken


def _constants(block: Block, layer: Taken) -> list[Array]:
    """The weights and, where the offset goes into it, the bias."""
    op, gain, offset = layer.op, layer.affine.gain, layer.affine.offset
    data = block.tensors[op.inputs[1]].data
    assert data is not None
    weight, channels = data.astype(np.float64), (-1, 1) if op.op != "CONV2D" else (-1,)
    with np.errstate(over="ignore", invalid="ignore"):
        made = [(weight * gain.reshape(channels)).astype(np.float32)]
        if layer.whole and offset.any():
            moved = weight * offset.reshape(channels)
            rows = moved.sum((1, 2, 3)) if op.op == "CONV2D" else moved.sum((0, 1)).reshape(-1)
            made.append((np.asarray(block.tensors[op.inputs[2]].data, np.float64) + rows).astype(np.float32))
    return made


def _take_in(block: Block, layer: Taken, last: Operator) -> list[Operator]:
    """Give the layer its constants; the operators that come before it."""
    op, before = layer.op, list[Operator]()

    def constant(like: Tensor, data: Array) -> str:
        tensor = replace(like, name=block.fresh(f"{like.name}/folded"), data=data, shape=data.shape)
        before.append(Operator("CONST", [], [block.add(tensor).name], location=op.location))
        return tensor.name

    for slot, data in enumerate(_constants(block, layer), 1):
        op.inputs[slot] = constant(block.tensors[op.inputs[slot]], data)
    if not layer.whole:
        x = block.tensors[op.inputs[0]]
        moved = (layer.affine.offset / layer.affine.gain).astype(np.float32)
        offset = constant(
            Tensor(f"{x.name}/offset", types.fp32, ()), moved.reshape((1,) * (len(x.shape or ()) - 1) + (-1,))
        )
        total = _nameless(block.add(replace(x, name=block.fresh(f"{x.name}/moved"), quant=None)))
        before.append(Operator("ADD", [x.name, offset], [total.name], location=last.location))
        op.inputs[0] = total.name
    return before


def _nameless(tensor: Tensor) -> Tensor:
    """It is another value than the one that the model names."""
    if tensor.source is not None:
        tensor.source = replace(tensor.source, name="")
    return tensor
