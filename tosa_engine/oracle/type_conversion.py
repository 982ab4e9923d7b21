"""What type conversions compute (specification 2.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..types import i32
from .arith import apply_scale_16, apply_scale_32, narrow, wide, wide_unsigned
from .requires import Requires

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def cast(call: Call, input: Array) -> Array:
    """Integers keep their low bits; floats become the nearest integer (ties to even) within the format; what becomes a
    float is rounded to nearest.
    """
    if not (call.in_t.is_float and call.out_t.is_int):
        return narrow(wide(input) if call.out_t.is_float else input, call.out_t)
    value = wide(input)
    with Requires(call) as require:
        require.holds("R1", ~np.isnan(value), "{value} can't become an integer", value=value)
    nearest = np.clip(np.rint(value), call.out_t.minimum, call.out_t.maximum)
    return narrow(nearest, call.out_t)


def rescale(call: Call, input: Array, multiplier: Array, shift: Array, input_zp: Array, output_zp: Array) -> Array:
    """(value - input_zp) * multiplier / 2^shift + output_zp, rounded, clipped to the output's format.

    Tensors are signless: `input_unsigned` and `output_unsigned` say how their bits and those of the zero points are
    read. Multiplier and shift are those of the last axis' index (per_channel) or the first. Rounding mode
    INEXACT_ROUND may differ from SINGLE_ROUND and is computed like it. Two errata of the specification's pseudo-code:
    its signed branch extends a variable that isn't set yet, and means the input element; and its `apply_clip_u` reads
    a negative result as a large unsigned one, where the nearer end of the unsigned range, 0, is meant.
    """
    read = wide_unsigned if call.input_unsigned else wide
    value = read(input) - read(input_zp)[0]
    multipliers, shifts = wide(multiplier), wide(shift)
    if not call.per_channel:
        multipliers, shifts = multipliers[0], shifts[0]
    with Requires(call) as require:
        if call.scale32:
            double_round = call.rounding_mode == "DOUBLE_ROUND"
            result = apply_scale_32(value, multipliers, shifts, double_round, require, ("R1", "R2", "R3"))
        else:
            result = apply_scale_16(value, multipliers, shifts, require, ("R1", "R2", "R4"))
        result = result + (wide_unsigned if call.output_unsigned else wide)(output_zp)[0]
        result = require.fits("R5", result, i32, "scaled value with zero point")
    if call.output_unsigned:
        result = np.clip(result, 0, (1 << call.out_t.bits) - 1)
    else:
        result = np.clip(result, call.out_t.minimum, call.out_t.maximum)
    return narrow(result, call.out_t)


ORACLES = {"CAST": cast, "RESCALE": rescale}
