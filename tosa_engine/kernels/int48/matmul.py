"""Preparation of MATMUL of int16 whose sums need int48."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import MOST_ROWS, TILE, variant
from ..tile import geometry as at
from ..tile.geometry import geometry
from ..work import BUFFER_BYTES, LEAST_UNITS, Loop, Work, flat
from .prepare import scaling_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run

# pairs of products of an int16 and a part of 8 bits whose sums fit int32: 2 * 2^15 * 2^7 each
SPLIT_STEPS = (1 << 8) - 1


def matmul_int48(call: Call, epilogue: Epilogue | None) -> Work:
    """Twice on the tile: by the upper and by the lower bits of the second matrix."""
    from . import loops

    panels, pairs = -(-call.W // 16), -(-call.C // 2)
    g = {
        at.BATCH: call.N, at.HEIGHT: call.H, at.WIDTH: 1, at.CHANNELS: call.W, at.DEPTH: call.C, at.STEPS: pairs,
        at.BLOCK: max(MOST_ROWS, min(call.H, BUFFER_BYTES // 2 // call.C)), at.PANELS: panels,
        at.IN_PLACE: call.C % 2 == 0,
    }  # fmt: skip
    g[at.BLOCKS] = -(-call.H // g[at.BLOCK])
    g[at.GROUPS] = max(1, min(panels, LEAST_UNITS // (g[at.BLOCKS] * call.N)))
    numbers = scaling_numbers(epilogue, np.zeros(call.W, np.int64))
    shape, distances, simd = geometry(g), np.arange(pairs, dtype=np.int64) * 2, variant()

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)

        return Loop(loops.matmul, simd, x, y, shape, distances, SPLIT_STEPS, numbers, out)

    scratch = (
        (np.dtype(np.int16), 64 if g[at.IN_PLACE] else g[at.BLOCK] * call.C + 64),
        (np.dtype(np.int64), g[at.BLOCK] + MOST_ROWS), (np.dtype(np.int32), TILE), (np.dtype(np.int64), TILE),
        (np.dtype(np.int32), pairs * 32),
    )  # fmt: skip
    cost = call.N * call.H * call.W * (call.C / 25 + 0.5)
    return Work(call.N * g[at.BLOCKS] * g[at.GROUPS], cost, bind, scratch)
