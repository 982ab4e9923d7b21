"""Tensors that share QParams because of the operators between them.

- Operators that move the values of one input, choose among them or take means of them (`spec.traits.Moves`; PAD with a
  value that the input can represent): the output has the input's. Calibrated means of int8 keep their own, where these
  are finer.
- A computation (anything but a move) that only a CLAMP reads has the CLAMP's: saturation to int8 then clamps for free.
- Inputs of CONCAT without QParams of their own take the output's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tosa_engine.spec import TABLE, is_constant, traits_of
from tosa_engine.spec.traits import How, Memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.graph import Block, Operator, QParams

GAIN: Final = 0.9  # a step of a mean, of its input's step: about 1 dB


def moves_values(op: Operator) -> bool:
    """Whether the output holds values of one input, or some between them, and at most a constant besides."""
    moves = traits_of(op).moves
    if moves is None or len(moves.operands) != 1:
        return False
    operand = TABLE[op.op].inputs[0]
    return operand.name == moves.operands[0] and not operand.is_list


def is_move(block: Block, op: Operator, quant: Mapping[str, QParams]) -> bool:
    """The output holds no values but the input's (for PAD: and one that the input's QParams can represent)."""
    if not moves_values(op) or not op.inputs or block.tensors[op.inputs[0]].data is not None:
        return False
    moves = traits_of(op).moves
    if moves is None or not moves.fill:
        return True
    value, known = block.tensors[op.inputs[TABLE[op.op].position(moves.fill)]].data, quant.get(op.inputs[0])
    if value is None:
        return False
    real = float(value.reshape(-1)[0])
    if real == 0 or known is None:
        return real == 0
    scale, zero_point = known.scale[0], known.zero_point[0]
    return known.low - 0.5 <= real / scale + zero_point <= known.high + 0.5


def clamped_by(block: Block, name: str, consumers: Mapping[str, list[Operator]]) -> str | None:
    """The output of the CLAMP that alone reads a tensor."""
    readers = consumers.get(name, [])
    if len(readers) == 1 and readers[0].op == "CLAMP" and name not in block.outputs and name not in block.inputs:
        return readers[0].outputs[0]
    return None


def share(block: Block, quant: Mapping[str, QParams]) -> dict[str, QParams]:
    """The QParams of calibrated activations with sharing applied (the rules above, in execution order)."""
    shared = dict(quant)
    producers, consumers = block.producers(), block.consumers()
    for op in block.operators:
        for out in op.outputs:
            if is_move(block, op, shared) and op.inputs[0] in shared and out in shared:
                if not _finer_mean(op, shared[op.inputs[0]], shared[out]):
                    shared[out] = shared[op.inputs[0]]
            elif not moves_values(op):
                clamped = clamped_by(block, out, consumers)
                if clamped in shared and not is_constant(producers[out]):
                    shared[out] = shared[clamped]
    return shared


def _finer_mean(op: Operator, source: QParams, own: QParams) -> bool:
    """Whether means of int8 values gain from steps of their own."""
    moves = traits_of(op).moves
    return moves is not None and moves.how is How.MEAN and own.bits == 8 and own.scale[0] < GAIN * source.scale[0]


def complete(block: Block, quant: Mapping[str, QParams]) -> dict[str, QParams]:
    """The given QParams, and those that follow from them for tensors that have none."""
    known = dict(quant)
    consumers = block.consumers()
    size = -1
    while len(known) != size:
        size = len(known)
        for op in block.operators:
            _forwards(block, op, known)
        for op in reversed(block.operators):
            _backwards(block, op, known, consumers)
    return known


def _forwards(block: Block, op: Operator, known: dict[str, QParams]) -> None:
    if is_move(block, op, known) and op.inputs[0] in known:
        known.setdefault(op.outputs[0], known[op.inputs[0]])


def _backwards(block: Block, op: Operator, known: dict[str, QParams], consumers: Mapping[str, list[Operator]]) -> None:
    if not op.outputs or op.outputs[0] not in known:
        return
    quant = known[op.outputs[0]]
    if is_move(block, op, known) or (op.op == "CLAMP" and clamped_by(block, op.inputs[0], consumers) is not None):
        known.setdefault(op.inputs[0], quant)
    elif traits_of(op).memory is Memory.PARTS:
        for name in op.inputs:
            if block.tensors[name].data is None:
                known.setdefault(name, quant)
