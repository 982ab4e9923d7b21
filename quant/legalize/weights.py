"""Weights as rows, one per output channel: how they are cut, and the scales that their integers have.

The traits say which axes number the channels. A convolution's filter [OC,...] has row o at index o; DEPTHWISE_CONV2D's
[KH,KW,C,M] has row c * M + m; the constant matrix of a MATMUL, [N,C,W], has row w (the columns of all its matrices).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine import types
from tosa_engine.graph import Operator, QParams
from tosa_engine.spec import TABLE, traits_of

from ..ranges import up_to_power_of_two, weight_qparams

if TYPE_CHECKING:
    from tosa_engine.graph import Block, Tensor
    from tosa_engine.types import Array, Shape

LEVELS: Final = {4: 7, 8: 127, 16: 32767}  # the largest symmetric integer
CLIPS: Final = 48  # ranges that the search for 4 bits tries


def is_weighted(op: Operator) -> bool:
    """Whether an operator has an operand for weights."""
    return traits_of(op).weight is not None


def takes_int4(op: Operator) -> bool:
    """Whether an operator has a row of 8-bit activations and 4-bit weights (EXT-INT4)."""
    return op.op in four_bits()


@cache
def four_bits() -> tuple[str, ...]:
    """The names of all those operators."""
    return tuple(sorted(name for name, e in TABLE.items() if any(types.i4 is r.types.get("weight_t") for r in e.rows)))


def accumulates(op: Operator) -> bool:
    """Whether the integer form of an operator gives the sum that it computes as it is, for a RESCALE to round."""
    return traits_of(op).is_sum and any(t.is_int for row in TABLE[op.op].rows for t in row.types.values())


def row_axes(op: str) -> tuple[int, ...]:
    """The axes of the weights that number the output channels."""
    weight = TABLE[op].traits.weight
    assert weight is not None, f"{op} has no weights"
    return TABLE[op].axes(weight.argument, *weight.rows)


def channel_axis(op: str) -> int:
    """The axis of the weights that runs along the input channels."""
    weight = TABLE[op].traits.weight
    assert weight is not None, f"{op} has no weights"
    return TABLE[op].axes(weight.argument, weight.channels)[0]


def rows_of(op: str, weight: Array) -> Array:
    """The weights as [output channel, tap]."""
    axes = row_axes(op)
    first = np.moveaxis(weight, axes, range(len(axes)))
    return first.reshape(math.prod(weight.shape[axis] for axis in axes), -1)


def from_rows(op: str, rows: Array, shape: Shape) -> Array:
    """`rows` back in the layout of the operator, whose weights have this shape."""
    axes = row_axes(op)
    taps = [size for axis, size in enumerate(shape) if axis not in axes]
    return np.moveaxis(rows.reshape(*(shape[axis] for axis in axes), *taps), range(len(axes)), axes)


def row_qparams(rows: Array, bits: int = 8, *, per_channel: bool = True, power_of_two: bool = False) -> QParams:
    """Symmetric QParams with one scale per row, or one in all: the largest weight is the largest integer.

    With 4 bits, where that leaves most weights too few steps, the scale has the least mean square of rounding and
    saturation. With `power_of_two` scales are powers of two.
    """
    rows = rows if per_channel else rows.reshape(1, -1)
    own = weight_qparams(rows, 0, power_of_two=power_of_two and bits == 8)
    if bits == 8:
        return own
    largest = np.asarray(own.scale) * (LEVELS[8] / LEVELS[bits])
    real = rows.astype(np.float64)
    best, least = largest, np.full(len(rows), np.inf)
    for clip in np.linspace(1.0, 0.3, CLIPS):
        scales = largest * clip
        if power_of_two:
            scales = np.array([up_to_power_of_two(scale) for scale in scales.tolist()])
        stored = np.clip(np.rint(real / scales[:, None]), -LEVELS[bits], LEVELS[bits])
        error = np.square(stored * scales[:, None] - real).sum(axis=1)
        best, least = np.where(error < least, scales, best), np.minimum(error, least)
    return QParams(tuple(best.tolist()), (0,) * len(rows), bits, symmetric=True)


def has_weights(op: Operator, constants: frozenset[str]) -> bool:
    """Whether an operator multiplies by constant weights; `constants` are the names of the constants."""
    return is_weighted(op) and op.inputs[1] in constants


def usable(quant: QParams | None, rows: int) -> bool:
    """Whether weights can have these QParams: 4 or 8 bits, zero points of 0, one scale or one per row."""
    return quant is not None and quant.bits in (4, 8) and not any(quant.zero_point) and len(quant.scale) in (1, rows)


def own_constant(block: Block, op: Operator, slot: int) -> Tensor:
    """The constant that an operator reads, copied first where others read it too: it may be changed."""
    tensor = block.tensors[op.inputs[slot]]
    reads = sum(other.inputs.count(tensor.name) for other in block.operators)
    if reads == 1 and tensor.name not in block.outputs:
        return tensor
    copied = block.add(replace(tensor, name=block.fresh(f"{tensor.name}/{op.name}")))
    at = next(i for i, other in enumerate(block.operators) if other is op)
    block.operators.insert(at, Operator("CONST", [], [copied.name], location=op.location))
    op.inputs[slot] = copied.name
    return copied
