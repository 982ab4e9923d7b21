"""CONV2D of int8 with 3 x 3 weights by an exact integer Winograd transform, with four times fewer products.

Formula. For a 6 x 6 window d of the input without its zero point, and 3 x 3 weights g without theirs,

    A^T [(G g G^T) .* (B^T d B)] A = 576 y,    summed over the input channels before A is applied,

where y is the 4 x 4 block of sums that CONV2D wants and .* multiplies entry by entry. These are the matrices of
F(4 x 4, 3 x 3) for the points 0, 1, -1, 2, -2 and infinity with integer entries (`winograd_matrices`). The usual G has
the rows (1, 0, 0) / 4, -(1, 1, 1) / 6, -(1, -1, 1) / 6, (1, 2, 4) / 24, (1, -2, 4) / 24 and (0, 0, 1). Here G is
without the denominators, and the columns of A^T are multiplied by 24 / denominator, up to sign, which leaves 24 y for
each of the two directions. There are 36 products for 16 sums of 9.

Meaning. Every step adds and multiplies integers, and int32 arithmetic that wraps is the ring of integers modulo 2^32.
Whatever overflows on the way, the end is 576 y modulo 2^32. 9 is odd, so it has an inverse modulo 2^32; multiplying by
it leaves 64 y modulo 2^32, which is y modulo 2^26.

Exactness. Per channel, y lies in [low, high], known from the weights (`bounds`). Where high - low < 2^26, subtracting
the middle puts y into [-2^25, 2^25), where an arithmetic shift by 6 finds it; the middle is added again with the bias.
Subtracting costs one addition per tile: the columns of A^T that belong to the point (1, 1) are (4, 4, 4, 4), so that
-36 * middle added to that one product lowers all sixteen 576 y by 576 * middle.

Factors fit int16: B^T makes |d| <= 255 at most 10 * 10 times as large (25,500), and G makes |g| <= 255 at most 7 * 7
times as large (12,495). A pair of products fits int32; sums of pairs wrap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from . import winograd_places as at
from .epilogue import parameters
from .packing import macs, per_channel_bias
from .shared import shared
from .variants import Variant, variant
from .winograd_matrices import G
from .work import LEAST_UNITS, Epilogue, Loop, Work, aligned, constant, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run

WIDEST: Final = 1 << 26  # bounds of a sum must be closer than this
CACHED: Final = 512 << 10  # bytes of points of a unit's inputs, and of its products: half of a second-level cache


def weights_of(call: Call) -> Array:
    """[OC, 3, 3, IC] without the zero point."""
    return np.asarray(constant(call, "weight").astype(np.int64) - call.weight_zp)


def bounds(call: Call) -> tuple[Array, Array]:
    """Per output channel, the least and the greatest sum without bias: proved by whoever planned this, or from the
    weights. Padding is between the two ends, as zero.
    """
    proved = call.proved.get("CONV2D.R1")
    if proved is not None:
        low, high = (np.broadcast_to(end, call.OC) for end in proved)
        return low, high
    ends = call.in_t.minimum - call.input_zp, call.in_t.maximum - call.input_zp
    low, high = (weights_of(call).reshape(call.OC, -1) * end for end in ends)
    return np.minimum(low, high).sum(axis=1), np.maximum(low, high).sum(axis=1)


def suits(call: Call) -> bool:
    """Whether the transform is exact for this CONV2D."""
    if (call.KH, call.KW, *call.stride, *call.dilation) != (3, 3, 1, 1, 1, 1):
        return False
    low, high = bounds(call)
    return int((high - low).max()) < WIDEST


def chosen(call: Call) -> bool:
    """Whether this CONV2D is computed here: exactly, and faster than directly. No REQUIRE of it may be able to fail."""
    simd = variant()
    return worth(call, simd) and suits(call)


def worth(call: Call, simd: Variant) -> bool:
    """Whether the transform takes less time than the direct form, which adds up 215 products a nanosecond with VNNI
    (four to a lane) and 110 without (two to a lane). Measured on x86; elsewhere the direct form stays.
    """
    direct = macs(call) / (215 if any("vnni" in need for need in simd.needs) else 110)
    return simd.native and simd.x86 and nanoseconds(call, simd) < direct


def nanoseconds(call: Call, simd: Variant) -> float:
    """An estimate: 105 products a nanosecond, while their weights (36 for 9) come from memory at 25 bytes a nanosecond;
    and the transforms, by 32 channels of a tile's input and 16 of its output.
    """
    g = sizes(call, simd)
    tiles, depth, channels = int(g[at.TILES]), int(g[at.CHUNKS]) * at.CHUNK, int(g[at.PANELS] * g[at.COLUMNS])
    rows = -(-tiles // int(g[at.STEP])) * int(g[at.STEP])
    products = at.POINTS * rows * depth * channels / 105
    weights = at.POINTS * depth * channels * 2 * -(-tiles // int(g[at.UNIT])) / 25
    per_input, per_output = (75, 80) if simd.lanes == 16 else (100, 120)
    transforms = tiles * (depth // at.CHUNK * per_input + channels // at.GROUP * per_output)
    return max(products, weights) + transforms


@shared
def pack_weights(weight: Array, columns: int) -> Array:
    """G g G^T for each pair of channels as [panel, point, pair of input channels, columns, 2] of int16."""
    OC, _, _, IC = weight.shape
    depth, panels = -(-IC // at.CHUNK) * at.CHUNK, -(-OC // columns)
    padded = np.zeros((at.POINTS, depth, panels * columns), np.int16)
    lines = np.einsum("ik,oklc->oilc", G, weight)
    padded[:, :IC, :OC] = np.einsum("jl,oilc->ijco", G, lines).reshape(at.POINTS, IC, OC)
    packed = aligned(padded.size, np.int16)
    packed[:] = padded.reshape(at.POINTS, depth // 2, 2, panels, columns).transpose(3, 0, 1, 4, 2).reshape(-1)
    return packed


def sizes(call: Call, simd: Variant) -> Array:
    """The geometry array: blocks of even size, as many in a unit as the cache holds and LEAST_UNITS allows."""
    columns, options = at.columns_of(simd.lanes), at.block_rows(simd.lanes)
    tiles_y, tiles_x = -(-call.OH // at.TILE), -(-call.OW // at.TILE)
    tiles = call.N * tiles_y * tiles_x
    panels, chunks = -(-call.OC // columns), -(-call.IC // at.CHUNK)
    step = options.step
    rows = -(-tiles // -(-tiles // max(options)) // step) * step
    blocks = -(-tiles // rows)
    cached = CACHED // (at.POINTS * (2 * chunks * at.CHUNK + 4 * columns) * rows)
    unit = max(1, min(cached, blocks * panels // LEAST_UNITS, blocks)) * rows
    places = {
        at.IN_HEIGHT: call.IH, at.IN_WIDTH: call.IW, at.DEPTH: call.IC, at.CHUNKS: chunks, at.ZERO: call.input_zp,
        at.PAD_TOP: call.pad_top, at.PAD_LEFT: call.pad_left, at.HEIGHT: call.OH, at.WIDTH: call.OW,
        at.CHANNELS: call.OC, at.TILES_Y: tiles_y, at.TILES_X: tiles_x, at.TILES: tiles, at.ROWS: rows, at.STEP: step,
        at.COLUMNS: columns, at.PANELS: panels, at.UNIT: unit,
        at.POINT: (unit * chunks + 1) * at.CHUNK,  # a line more, so that the points lie in different sets of a cache
    }  # fmt: skip
    g = np.zeros(at.SIZE, np.int64)
    for place, value in places.items():
        g[place] = value
    return g


def conv2d(call: Call, epilogue: Epilogue | None = None) -> Work:
    """CONV2D of int8 input and int8 or int4 weights that `suits` and has no REQUIRE that could fail."""
    from . import winograd_loops

    simd = variant()
    g = sizes(call, simd)
    u = pack_weights(weights_of(call), int(g[at.COLUMNS]))
    padded = int(g[at.PANELS] * g[at.COLUMNS])
    low, high = bounds(call)
    middle = (low + high + 1) >> 1
    seed = aligned(padded, np.int32)
    seed[: call.OC] = (-36 * middle).astype(np.int32)
    bias = per_channel_bias(call, call.OC) + middle
    e32, e64, limits, table = parameters(epilogue, bias, call.OC, padded)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(winograd_loops.conv, simd, x, u, g, seed, e32, e64, limits, table, out)

    unit = int(g[at.UNIT])
    line = at.WINDOW * (int(g[at.TILES_X]) * at.TILE + at.WINDOW - at.TILE) * int(g[at.CHUNKS]) * at.CHUNK
    scratch = (
        (np.dtype(np.int16), at.POINTS * int(g[at.POINT])),
        (np.dtype(np.int16), line),
        (np.dtype(np.int32), at.POINTS * unit * int(g[at.COLUMNS])),
        (np.dtype(np.int32), at.TILE * at.TILE * at.GROUP),
    )
    units = -(-int(g[at.TILES]) // unit) * int(g[at.PANELS])
    return Work(units, nanoseconds(call, simd), bind, scratch)
