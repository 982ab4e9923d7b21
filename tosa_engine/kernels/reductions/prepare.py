"""Preparation of ARGMAX, and of a REDUCE_SUM whose sums are scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ..scale.numbers import Scale, scale_numbers
from ..work import Loop, Work, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run


def argmax(call: Call) -> Work:
    from . import loops

    left, size, right = (
        types.count(call.shape1[: call.axis]),
        call.shape1[call.axis],
        types.count(call.shape1[call.axis + 1 :]),
    )
    ignore = call.nan_mode == "IGNORE"
    is_float = call.in_t.is_float

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        if is_float:
            return Loop(loops.argmax_float, x, size, right, ignore, out)
        return Loop(loops.argmax_int, x, size, right, out)

    return Work(left, 1.0 * left * size * right, bind)


def rescaled_sum(call: Call, zero: int, scale: Scale, output_zp: int, bounds: tuple[int, int]) -> Work:
    """REDUCE_SUM of int8 or int16 less a zero point along the last axis, the sums scaled."""
    from . import loops

    size = int(call.shape1[call.axis])
    rows = types.count(call.shape1) // size
    p = np.array([*scale_numbers(*scale, size * zero), output_zp, *bounds], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(loops.scaled_sums, flat(inputs[0]), size, p, outputs[0].reshape(-1))

    return Work(rows, 0.05 * rows * size, bind)
