"""MATMUL: a unit is one batch, a block of rows and a group of column panels, which it packs itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import geometry as at
from .bounds import fits_output
from .epilogue import parameters
from .variants import MOST_ROWS, TILE, variant
from .work import BUFFER_BYTES, LEAST_UNITS, Loop, Work, flat, geometry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Epilogue, Run


def matmul_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """MATMUL of int8."""
    from . import tensor_loops

    if not fits_output(call):
        assert epilogue is None
        return matmul_wide(call)
    panels, pairs = -(-call.W // 16), -(-call.C // 2)
    g = {
        at.BATCH: call.N, at.HEIGHT: call.H, at.WIDTH: 1, at.CHANNELS: call.W, at.DEPTH: call.C, at.STEPS: pairs,
        at.ZERO: call.A_zp, at.REPEAT: call.B_zp,
        at.BLOCK: max(MOST_ROWS, min(call.H, BUFFER_BYTES // 2 // call.C)),
    }  # fmt: skip
    g[at.BLOCKS] = -(-call.H // g[at.BLOCK])
    g[at.PANELS] = panels
    g[at.GROUPS] = max(1, min(-(-panels // variant().panels), LEAST_UNITS // (g[at.BLOCKS] * call.N)))
    e32, e64, limits, table = parameters(epilogue, np.zeros(call.W, np.int32), call.W, panels * 16)
    shape, distances = geometry(g), np.arange(pairs, dtype=np.int64) * 2

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)

        return Loop(tensor_loops.matmul_pairs, variant(), x, y, shape, distances, e32, e64, limits, table, out)

    scratch = (
        (np.dtype(np.int16), g[at.BLOCK] * call.C + 64), (np.dtype(np.int64), g[at.BLOCK] + MOST_ROWS),
        (np.dtype(np.int32), TILE), (np.dtype(np.int16), pairs * 64),
    )  # fmt: skip
    return Work(call.N * g[at.BLOCKS] * g[at.GROUPS], call.N * call.H * call.W * call.C / 50, bind, scratch)


def matmul_wide(call: Call) -> Work:
    """MATMUL in 64-bit sums, every partial sum tested."""
    from . import wide_loops

    g = np.array([call.N, call.H, call.W, call.C, call.A_zp, call.B_zp, call.out_t.maximum], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)
        return Loop(wide_loops.matmul, x, y, g, out)

    scratch = ((np.dtype(np.int64), call.W),)
    return Work(call.N * call.H, 1.0 * call.N * call.H * call.W * call.C, bind, scratch)
