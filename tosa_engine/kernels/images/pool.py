"""Preparation of MAX_POOL2D and AVG_POOL2D."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..reductions import places
from ..work import Loop, Work, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run


def _pool_geometry(call: Call) -> Array:
    return np.array(
        [call.N, call.IH, call.IW, call.C, call.OH, call.OW, call.kernel_y, call.kernel_x, *call.stride, call.pad_top,
         call.pad_left], np.int64
    )  # fmt: skip


def max_pool2d(call: Call) -> Work:
    from . import pool_loops

    g = _pool_geometry(call)
    kind = places.MAX_IGNORE if call.nan_mode == "IGNORE" else places.MAX
    is_float = call.in_out_t.is_float

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        if is_float:
            return Loop(pool_loops.max_float, x, g, kind, out)
        return Loop(pool_loops.max_int, x, g, out)

    outputs = call.N * call.OH * call.OW * call.C
    if is_float:
        return Work(call.N * call.OH, 0.05 * outputs * call.kernel_y * call.kernel_x, bind)
    line = call.IW * call.C
    cost = 0.05 * outputs * call.kernel_x + 0.02 * call.N * call.OH * line * call.kernel_y
    return Work(call.N * call.OH, cost, bind, ((call.in_out_t.storage, line),))


def avg_pool2d_int(call: Call) -> Work:
    """AVG_POOL2D: sums and the scaled average in 64 bits; the only REQUIRE that can fail is the range of the sum."""
    from . import pool_loops

    g = _pool_geometry(call)
    t = call.in_out_t
    limits = np.array([call.input_zp, call.output_zp, t.minimum, t.maximum], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(pool_loops.average_int, x, g, limits, out)

    cost = 0.1 * call.N * call.OH * call.OW * call.C * call.kernel_y * call.kernel_x
    return Work(call.N * call.OH, cost, bind, ((np.dtype(np.int64), call.C),))


def avg_pool2d_fp32(call: Call) -> Work:
    from . import pool_loops

    g = _pool_geometry(call)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(pool_loops.average_float, x, g, out)

    return Work(call.N * call.OH, 0.1 * call.N * call.OH * call.OW * call.C * call.kernel_y * call.kernel_x, bind)
