"""From integers to the fp32 numbers that they stand for, and back, by operators of the graph.

To fp32: CAST, less the zero point, times the scale. To integers: times 1 / scale, plus the zero point, CAST, which
rounds to nearest (halves to even) and saturates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types

from .integer_writer import Quantized, stored_type

if TYPE_CHECKING:
    from tosa_engine.graph import QParams

    from .integer_writer import IntegerWriter


def dequantized(e: IntegerWriter, stored: str, stem: str, scales: types.Array, zero_point: int = 0) -> str:
    """The fp32 numbers that a tensor of integers stands for; `scales`: one, or one per index of the last axis."""
    shape = e.shape(stored)
    name = e.emit("CAST", [stored], f"{stem}_cast", types.fp32, shape)
    if zero_point:
        zero = e.constant(f"{stem}_zero", types.fp32, np.full((1,) * len(shape), zero_point))
        name = e.emit("SUB", [name, zero], f"{stem}_steps", types.fp32, shape)
    return _times(e, name, scales, f"{stem}_real")


def quantized(e: IntegerWriter, real: str, stem: str, quant: QParams) -> Quantized:
    """The integers of a tensor of fp32."""
    shape = e.shape(real)
    name = _times(e, real, 1 / np.array(quant.scale[:1]), f"{stem}_scaled")
    if quant.zero_point[0]:
        zero = e.constant(f"{stem}_zero", types.fp32, np.full((1,) * len(shape), quant.zero_point[0]))
        name = e.emit("ADD", [name, zero], f"{stem}_moved", types.fp32, shape)
    return Quantized(e.emit("CAST", [name], f"{stem}_stored", stored_type(quant), shape), quant)


def _times(e: IntegerWriter, x: str, factors: types.Array, stem: str) -> str:
    shape = e.shape(x)
    rank = len(shape)
    values = factors.reshape((1,) * (rank - 1) + (-1,)) if rank else factors.reshape(())
    inputs = [x, e.constant(f"{stem}_scale", types.fp32, values), e.constant("mul_shift", types.i8, [0])]
    return e.emit("MUL", inputs, stem, types.fp32, shape)
