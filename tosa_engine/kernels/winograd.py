"""CONV2D 3 x 3 by an exact integer Winograd transform: four times fewer products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import winograd_places as at
from .epilogue import parameters
from .packing import per_channel_bias
from .variants import variant
from .winograd_matrices import G
from .work import Epilogue, Loop, Work, aligned, constant, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .variants import Variant
    from .work import Run

FORCE = ()

def weights_of(call: Call) -> Array:
    return constant(call, "weight").astype(np.int64) - call.weight_zp


def bounds(call: Call) -> tuple[Array, Array]:
    """Per output channel, the least and the greatest sum without bias."""
    low, high = call.in_t.minimum - call.input_zp, call.in_t.maximum - call.input_zp
    weight = weights_of(call).reshape(call.OC, -1)
    ends = weight * low, weight * high
    return np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)


def suits(call: Call) -> bool:
    low, high = bounds(call)
    shape = (call.KH, call.KW, *call.stride, *call.dilation)
    return shape == (3, 3, 1, 1, 1, 1) and int((high - low).max()) < 1 << 26


def transform_weights(weight: Array) -> Array:
    """G g G^T of [OC, 3, 3, IC] as [POINTS, IC, OC]."""
    found = np.einsum("ik,jl,oklc->ijco", G, G, weight.astype(np.int64))
    return np.asarray(found.reshape(at.POINTS, *found.shape[2:]))


def pack_weights(weight: Array, columns: int) -> Array:
    """The points of the weights as [panel, point, pair of input channels, columns, 2] of int16."""
    points = transform_weights(weight)
    _, IC, OC = points.shape
    depth, panels = -(-IC // at.CHUNK) * at.CHUNK, -(-OC // columns)
    padded = np.zeros((at.POINTS, depth, panels * columns), np.int16)
    padded[:, :IC, :OC] = points
    packed = aligned(padded.size, np.int16)
    packed[:] = padded.reshape(at.POINTS, depth // 2, 2, panels, columns).transpose(3, 0, 1, 4, 2).reshape(-1)
    return packed


def sizes(call: Call, simd: Variant) -> Array:
    g = np.zeros(at.SIZE, np.int64)
    tiles_y, tiles_x = -(-call.OH // at.TILE), -(-call.OW // at.TILE)
    tiles = call.N * tiles_y * tiles_x
    columns = 2 * simd.lanes
    panels, chunks = -(-call.OC // columns), -(-call.IC // at.CHUNK)
    options = at.block_rows(simd.lanes)
    rows = min(options, key=lambda r: (-(-tiles // r) * r, -r))
    unit = -(-28 // rows) * rows
    if FORCE:
        rows = FORCE[1]; unit = -(-FORCE[0] // rows) * rows
    groups = 1
    point = -(-unit // rows) * rows * chunks * at.CHUNK + at.CHUNK
    places = {
        at.IN_HEIGHT: call.IH, at.IN_WIDTH: call.IW, at.DEPTH: call.IC, at.CHUNKS: chunks, at.ZERO: call.input_zp,
        at.PAD_TOP: call.pad_top, at.PAD_LEFT: call.pad_left, at.HEIGHT: call.OH, at.WIDTH: call.OW,
        at.CHANNELS: call.OC, at.TILES_Y: tiles_y, at.TILES_X: tiles_x, at.TILES: tiles, at.ROWS: rows,
        at.COLUMNS: columns, at.PANELS: panels, at.GROUPS: groups, at.UNIT: unit, at.POINT: point,
    }  # fmt: skip
    for place, value in places.items():
        g[place] = value
    return g


def conv2d(call: Call, epilogue: Epilogue | None = None) -> Work:
    from . import winograd_loops

    simd = variant()
    g = sizes(call, simd)
    u = pack_weights(weights_of(call), int(g[at.COLUMNS]))
    padded = int(g[at.PANELS] * g[at.COLUMNS])
    low, high = bounds(call)
    middle = (low + high + 1) >> 1
    seed = aligned(padded, np.int32)
    seed[: call.OC] = (-36 * middle).astype(np.int32)
    bias = (per_channel_bias(call, call.OC) + middle).astype(np.int32)
    e32, e64, limits, table = parameters(epilogue, bias, call.OC, padded)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(winograd_loops.conv, simd, x, u, g, seed, e32, e64, limits, table, out)

    line = at.WINDOW * int(g[at.TILES_X] * at.TILE + 2) * int(g[at.CHUNKS]) * at.CHUNK
    scratch = (
        (np.dtype(np.int16), at.POINTS * int(g[at.POINT])),
        (np.dtype(np.int16), line),
        (np.dtype(np.int32), int(g[at.UNIT]) * at.POINTS * int(g[at.COLUMNS])),
        (np.dtype(np.int32), at.TILE * at.TILE * at.GROUP),
    )
    units = -(-int(g[at.TILES]) // int(g[at.UNIT])) * int(g[at.GROUPS])
    return Work(units, 1e5, bind, scratch)
