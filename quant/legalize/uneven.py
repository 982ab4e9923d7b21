"""Inputs whose channels differ much in size, as raw measurements do (years next to mg/dl).

Networks of them begin with a normalization: a constant of each channel is taken off, another multiplies. One int8 scale
for all channels is that of the largest, and leaves few steps or none to the smallest. So the layers that normalise have
int16 unless a rule says otherwise, and what is normalised has int8 again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine import types

from .layers import FLOAT, INT16, layers_of, moved_from
from .lints import CHANNELS, Lint, shown_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from tosa_engine.graph import Block, Operator, QParams
    from tosa_engine.types import Array

MOST: Final = 8.0  # times: three of eight bits
USUAL: Final = 3.0  # what is normalised lies between this and its negative


@dataclass(frozen=True)
class Uneven:
    """`layers` need int16, by their names; `times`: of the smallest channel's steps, those of all have the size."""

    input: str
    layers: tuple[str, ...]
    times: float

    def described(self, precisions: Mapping[str, str]) -> str:
        """What to tell of it, with the precisions that the layers have; nothing where a rule gave it int8."""
        if any(precisions[name] not in (INT16, FLOAT) for name in self.layers):
            return ""
        step = f"a step of '{self.input}' in int8 would be {self.times:.0f} times that of its smallest channel"
        return f"{step}: int16 for {', '.join(self.layers)} (--layer {self.layers[0]}=int8: not so)"


def lints(block: Block, quants: Mapping[str, QParams], floats: Container[str] = ()) -> Iterator[Lint]:
    """Of the inputs of a prepared float graph that get 8 bits."""
    for found in find(block):
        quant = quants.get(found.input)
        if quant is not None and quant.bits == 8 and found.input not in floats:
            message = (
                f"a step of int8 is {found.times:.0f} times that of its smallest channel; 16 bits for it "
                f"(with samples: --layer {found.layers[0]}=int16) keep all channels"
            )
            yield Lint(CHANNELS, shown_name(block.tensors[found.input]), message)


def find(block: Block) -> list[Uneven]:
    """The uneven inputs of a prepared float graph."""
    owner = {name: layer.name for layer in layers_of(block) for name in layer.tensors}
    found = []
    for name in block.inputs:
        if block.tensors[name].dtype is not types.fp32:
            continue
        for start in (name, *moved_from(block, name, set(owner))):
            for operators, gain, offset in _normalizations(block, start):
                size = times(gain, offset)
                if size >= MOST:
                    layers = dict.fromkeys(owner[op.outputs[0]] for op in operators[:-1] or operators)
                    found.append(Uneven(name, tuple(layers), size))
    return found


def _normalizations(block: Block, start: str) -> Iterator[tuple[list[Operator], Array, Array]]:
    """Operators that compute gain * x + offset of `start`, one after the other, with constants of channels."""
    consumers = block.consumers()
    for first in consumers.get(start, []):
        operators: list[Operator] = []
        gain, offset = np.ones(()), np.zeros(())
        at, op = start, first
        while (after := _affine(block, op, at, gain, offset)) is not None:
            gain, offset = after
            operators.append(op)
            at = op.outputs[0]
            readers = consumers.get(at, [])
            if len(readers) != 1 or at in block.outputs:
                break
            op = readers[0]
        if operators:
            yield operators, gain, offset


def _affine(block: Block, op: Operator, at: str, gain: Array, offset: Array) -> tuple[Array, Array] | None:
    """Gain and offset behind one more operator with a constant; None where it is another."""
    if op.op not in ("ADD", "SUB", "MUL"):
        return None
    if op.inputs[0] == op.inputs[1]:
        return None
    other = op.inputs[1] if op.inputs[0] == at else op.inputs[0]
    data = block.tensors[other].data
    if data is None or not np.isfinite(data).all():
        return None
    constant = data.astype(np.float64)
    if op.op == "MUL":
        return gain * constant, offset * constant
    sign = -1.0 if op.op == "SUB" else 1.0
    if sign < 0 and op.inputs[0] == other:
        return -gain, constant - offset
    return gain, offset + sign * constant


def times(gain: Array, offset: Array) -> float:
    """The reach of all channels, of that of the smallest, when every one is normalised to -USUAL .. USUAL."""
    gain, offset = (np.asarray(a).reshape(-1) for a in np.broadcast_arrays(gain, offset))
    offset, gain = offset[gain != 0], gain[gain != 0]
    if not gain.size:
        return 1.0
    centre, half = -offset / gain, USUAL / np.abs(gain)
    return float(((centre + half).max() - (centre - half).min()) / (2 * half.min()))
