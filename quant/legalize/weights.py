"""Weights as rows, one per output channel: how they are cut, and the scales that their integers have.

A convolution's filter [OC,...] has row o at index o; DEPTHWISE_CONV2D's [KH,KW,C,M] has row c * M + m; the constant
matrix of a MATMUL, [N,C,W], has row w (the columns of all its matrices).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.graph import Operator, QParams

from ..ranges import up_to_power_of_two, weight_qparams

if TYPE_CHECKING:
    from tosa_engine.graph import Block, Tensor
    from tosa_engine.types import Array, Shape

# operators with a row of 8-bit activations and 4-bit weights (EXT-INT4)
FOUR_BITS: Final = frozenset({"CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"})
WEIGHTED: Final = FOUR_BITS | {"MATMUL"}
LEVELS: Final = {4: 7, 8: 127, 16: 32767}  # the largest symmetric integer
CLIPS: Final = 48  # ranges that the search for 4 bits tries


def rows_of(op: str, weight: Array) -> Array:
    """The weights as [output channel, tap]."""
    if op == "DEPTHWISE_CONV2D":
        weight = np.moveaxis(weight, (2, 3), (0, 1))
        return weight.reshape(weight.shape[0] * weight.shape[1], -1)
    if op == "MATMUL":
        return np.moveaxis(weight, 2, 0).reshape(weight.shape[2], -1)
    return weight.reshape(weight.shape[0], -1)


def from_rows(op: str, rows: Array, shape: Shape) -> Array:
    """`rows` back in the layout of the operator, whose weights have this shape."""
    if op == "DEPTHWISE_CONV2D":
        height, width, channels, multiplier = shape
        return np.moveaxis(rows.reshape(channels, multiplier, height, width), (0, 1), (2, 3))
    if op == "MATMUL":
        return np.moveaxis(rows.reshape(shape[2], shape[0], shape[1]), 0, 2)
    return rows.reshape(shape)


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
    return op.op in WEIGHTED and op.inputs[1] in constants


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
