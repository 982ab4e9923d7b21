"""MUL, ADD and SUB by constants per channel after a convolution become part of its weights and bias; ADD and SUB also
behind RESHAPEs that leave the channels the last axis, as matrix products of exporters have their bias.

Computed in double precision and rounded once to fp32: weight[o] * g[o], bias[o] * g[o] + b[o]. Hints of the weights
keep their codes: scale[o] * |g[o]|, and codes mirrored about the middle of their range where g[o] < 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from ..graph import Operator, Tensor
from ..spec import TABLE, traits_of
from .affine import Affine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block, Graph, QParams
    from ..types import Array

CONVOLUTIONS: Final = ("CONV2D", "DEPTHWISE_CONV2D")


def run(graph: Graph) -> Graph:
    """The graph with such operators folded, where the convolution's result has no other use and isn't an output."""
    folded = graph.copy()
    change(folded)
    return folded


def change(graph: Graph) -> None:
    for _, block in graph.blocks():
        readers = block.consumers()  # folding changes no reader of a tensor that stays
        operators, gone = [], set[int]()
        for operator in block.operators:
            if operator.op in CONVOLUTIONS:
                operators += _fold(block, operator, readers, gone)
            if id(operator) not in gone:
                operators.append(operator)
        block.operators = operators


def _fold(block: Block, conv: Operator, readers: Mapping[str, list[Operator]], gone: set[int]) -> list[Operator]:
    """Fold what follows a convolution: its new constants; `gone` gets the ids of the operators that were taken in."""
    weight, bias = block.tensors[conv.inputs[1]], block.tensors[conv.inputs[2]]
    output = block.tensors[conv.outputs[0]]
    if weight.data is None or bias.data is None or output.dtype is not types.fp32 or output.shape is None:
        return []
    channels = output.shape[3]
    affine = Affine(np.ones(channels), np.zeros(channels))
    taken, moves = _follow(block, output, affine, readers)
    if not taken:
        return []
    gone.update(map(id, (*taken, *moves[:-1])))
    constants = []
    new_bias = np.broadcast_to(bias.data.astype(np.float64), (channels,)) * affine.gain + affine.offset
    trait, entry = traits_of(conv).weight, TABLE[conv.op]
    assert trait is not None
    rows = entry.axes(trait.argument, *trait.rows)
    gain = affine.gain.reshape([n if axis in rows else 1 for axis, n in enumerate(weight.shape or ())])
    scaled = replace(weight, data=(weight.data.astype(np.float64) * gain).astype(np.float32))
    scaled.quant = _scaled_hint(weight, affine.gain, rows[0])
    moved = replace(bias, shape=(channels,), data=new_bias.astype(np.float32), quant=None)
    for slot, tensor in ((1, scaled), (2, moved)):
        tensor.name = block.fresh(f"{tensor.name}/folded")
        block.add(tensor)
        conv.inputs[slot] = tensor.name
        constants.append(Operator("CONST", [], [tensor.name], location=conv.location))
    last = list(taken[-1].outputs)
    conv.location = taken[-1].location
    if moves:
        between = replace(output, name=block.fresh(f"{last[0]}/{conv.op.lower()}"), quant=None)
        block.add(between)
        conv.outputs, moves[-1].inputs[0], moves[-1].outputs = [between.name], between.name, last
        moves[-1].location = conv.location
    else:
        conv.outputs = last
    return constants


def _follow(
    block: Block, tensor: Tensor, affine: Affine, readers: Mapping[str, list[Operator]]
) -> tuple[list[Operator], list[Operator]]:
    """The operators after `tensor` that can be taken in, accumulated in `affine`, and the RESHAPEs before the last."""
    taken, moves, passed = list[Operator](), list[Operator](), list[Operator]()
    while tensor.name not in block.outputs and len(readers.get(tensor.name, [])) == 1:
        operator = readers[tensor.name][0]
        if operator.op == "RESHAPE" and operator.inputs[0] == tensor.name and tensor.quant is None:
            tensor = block.tensors[operator.outputs[0]]
            hinted = tensor.quant is not None  # the model says how the result without bias is stored
            if hinted or not tensor.shape or tensor.shape[-1] != affine.gain.size:
                break
            passed.append(operator)
            continue
        if operator.op not in ("MUL", "ADD", "SUB") or operator.inputs[0] == operator.inputs[1]:
            break
        if operator.op == "MUL" and (moves or passed):
            break
        first = operator.inputs[0] == tensor.name
        other = block.tensors[operator.inputs[1] if first else operator.inputs[0]]
        result = block.tensors[operator.outputs[0]]
        values = _per_channel(other, affine.gain.size)
        if values is None or result.shape != tensor.shape:
            break
        affine.take(operator.op, values, first)
        taken.append(operator)
        moves += passed
        passed, tensor = [], result
    return taken, moves


def _per_channel(tensor: Tensor, channels: int) -> Array | None:
    """A constant [..., 1, 1, C] or [..., 1, 1, 1] as C numbers in double precision."""
    if tensor.data is None or not tensor.shape:
        return None
    if any(extent != 1 for extent in tensor.shape[:-1]) or tensor.shape[-1] not in (1, channels):
        return None
    return np.broadcast_to(tensor.data.reshape(-1).astype(np.float64), (channels,))


def _scaled_hint(weight: Tensor, gain: Array, first: int) -> QParams | None:
    quant = weight.quant
    if quant is None:
        return None
    axis = quant.axis if quant.axis is not None else first
    size = max(gain.size, len(quant.scale))
    scales = np.broadcast_to(np.asarray(quant.scale, np.float64), (size,))
    zeros = np.broadcast_to(np.asarray(quant.zero_point, np.int64), (size,))
    factors = np.where(gain == 0, 1.0, np.abs(gain))  # weights of 0 have no range; any scale holds them
    mirrored = [quant.low + quant.high - z if g < 0 and z else z for z, g in zip(zeros.tolist(), gain, strict=True)]
    return replace(quant, scale=tuple((scales * factors).tolist()), zero_point=tuple(mirrored), axis=axis)
