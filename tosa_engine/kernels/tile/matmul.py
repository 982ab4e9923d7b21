"""MATMUL: a unit is one batch, a block of rows and a group of column panels, which it packs itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import MOST_ROWS, TILE, variant
from ..bounds import accumulator_bound
from ..scale.epilogue import form_of, parameters
from ..work import BUFFER_BYTES, LEAST_UNITS, Loop, Work, flat
from . import geometry as at
from .geometry import geometry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run


def matmul_int8(call: Call, epilogue: Epilogue | None) -> Work:
    """In quads where the variant has them."""
    simd = variant()
    return (matmul_quads if simd.quads or simd.signed else matmul_pairs)(call, epilogue)


def matmul_quads(call: Call, epilogue: Epilogue | None) -> Work:
    from . import matmul_loops

    simd = variant()
    panels, steps = -(-call.W // 16), -(-call.C // 4)
    g = {
        at.BATCH: call.N, at.HEIGHT: call.H, at.WIDTH: 1, at.CHANNELS: call.W, at.DEPTH: call.C, at.STEPS: steps,
        at.ZERO: call.A_zp + (0 if simd.signed else 128), at.REPEAT: call.B_zp, at.IN_PLACE: call.C % 4 == 0,
        at.CONSTANT: call.C * call.A_zp * call.B_zp, at.PANELS: panels,
        at.BLOCK: max(MOST_ROWS, min(call.H, BUFFER_BYTES // call.C)),
    }  # fmt: skip
    g[at.BLOCKS] = -(-call.H // g[at.BLOCK])
    g[at.GROUPS] = max(1, min(-(-panels // simd.panels), LEAST_UNITS // (g[at.BLOCKS] * call.N)))
    bound = 0 if epilogue is None else int(accumulator_bound(call).max())
    scaling = parameters(epilogue, np.zeros(call.W, np.int32), call.W, panels * 16, bound)
    shape, distances = geometry(g), np.arange(steps, dtype=np.int64) * 4
    loop = matmul_loops.quads[form_of(epilogue, scaling)]

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)
        return Loop(loop, simd, x, y, shape, distances, *scaling, out)

    rows = g[at.BLOCK] + MOST_ROWS
    scratch = (
        (np.dtype(np.int8), 64 if g[at.IN_PLACE] else g[at.BLOCK] * call.C + 64), (np.dtype(np.int64), rows),
        (np.dtype(np.int32), TILE + rows), (np.dtype(np.int8), steps * 128), (np.dtype(np.int8), (call.C + 1) * 16),
        (np.dtype(np.int32), 5 * matmul_loops.PITCH), (np.dtype(np.int64), 2 * matmul_loops.PITCH),
    )  # fmt: skip
    cost = call.N * call.H * call.W * (call.C / 150 + 0.1)
    return Work(call.N * g[at.BLOCKS] * g[at.GROUPS], cost, bind, scratch)


def matmul_pairs(call: Call, epilogue: Epilogue | None) -> Work:
    """MATMUL of int8, and of int16 whose sums fit int32, in pairs."""
    from . import loops

    panels, pairs = -(-call.W // 16), -(-call.C // 2)
    g = {
        at.BATCH: call.N, at.HEIGHT: call.H, at.WIDTH: 1, at.CHANNELS: call.W, at.DEPTH: call.C, at.STEPS: pairs,
        at.ZERO: call.A_zp, at.REPEAT: call.B_zp,
        at.BLOCK: max(MOST_ROWS, min(call.H, BUFFER_BYTES // 2 // call.C)),
    }  # fmt: skip
    g[at.BLOCKS] = -(-call.H // g[at.BLOCK])
    g[at.PANELS] = panels
    g[at.GROUPS] = max(1, min(-(-panels // variant().panels), LEAST_UNITS // (g[at.BLOCKS] * call.N)))
    e32, e64, limits = parameters(epilogue, np.zeros(call.W, np.int32), call.W, panels * 16)
    shape, distances = geometry(g), np.arange(pairs, dtype=np.int64) * 2

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)

        return Loop(loops.matmul_pairs, variant(), x, y, shape, distances, e32, e64, limits, out)

    scratch = (
        (np.dtype(np.int16), g[at.BLOCK] * call.C + 64), (np.dtype(np.int64), g[at.BLOCK] + MOST_ROWS),
        (np.dtype(np.int32), TILE), (np.dtype(np.int16), pairs * 64),
    )  # fmt: skip
    return Work(call.N * g[at.BLOCKS] * g[at.GROUPS], call.N * call.H * call.W * call.C / 50, bind, scratch)
