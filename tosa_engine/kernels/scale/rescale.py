"""The numbers of a RESCALE: its scales, zero points and range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...numerics.scale import UNIT_ROUND
from ..work import constant

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Array
    from .numbers import Scale


def rescale_numbers(call: Call) -> tuple[Array, Array, Array]:
    """(multiplier, shift, double) as int64, one entry or one per channel; `double` is 2^30 where DOUBLE_ROUND acts."""
    multiplier = constant(call, "multiplier").astype(np.int64)
    shift = constant(call, "shift").astype(np.int64)
    if not call.per_channel:
        multiplier, shift = multiplier[:1].copy(), shift[:1].copy()
    double = np.where((shift > 31) & (call.rounding_mode == "DOUBLE_ROUND"), UNIT_ROUND, 0).astype(np.int64)
    return multiplier, shift, double


def zero_points(call: Call) -> tuple[int, int]:
    """Input and output zero point as the attributes read their bits."""
    values = []
    for name, unsigned in (("input_zp", call.input_unsigned), ("output_zp", call.output_unsigned)):
        bits = call.tensor(name).dtype.bits
        values.append(int(call[name]) & ((1 << bits) - 1) if unsigned else int(call[name]))
    return values[0], values[1]


def output_range(call: Call) -> tuple[int, int]:
    """What the result is clipped to, as numbers (before unsigned bits are stored in a signed type)."""
    t = call.out_t
    return (0, (1 << t.bits) - 1) if call.output_unsigned else (t.minimum, t.maximum)


def scale_of(rescale: Call) -> Scale:
    """The scale of a RESCALE by one."""
    multiplier, shift, double = rescale_numbers(rescale)
    return int(multiplier[0]), int(shift[0]), int(double[0])
