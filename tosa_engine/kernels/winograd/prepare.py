"""CONV2D of int8 with 3 x 3 weights by an exact integer Winograd transform, with four times fewer products.

Formula. For a 6 x 6 window d of the input, and 3 x 3 weights g without their zero point,

    A^T [(G g G^T) .* (B^T d B)] A = 576 y,    summed over the input channels before A is applied,

where y is the 4 x 4 block of sums of products and .* multiplies entry by entry. These are the matrices of
F(4 x 4, 3 x 3) for the points 0, 1, -1, 2, infinity and -2 with integer entries (`matrices`). The usual G has
the rows (1, 0, 0) / 4, -(1, 1, 1) / 6, -(1, -1, 1) / 6, (1, 2, 4) / 24, (0, 0, 1) and (1, -2, 4) / 24. Here they are
24 times as large, but for the last but one, whose 24 is 3 in G and 8 in A. There are 36 products for 16 sums of 9.

At the ends of lines whose length isn't a multiple of 4, tiles have 3 outputs instead. F(3, 3) has the same points
without -2, and the same G: its denominators differ by factors that are in B. Such a tile misses a row or a column of
points, in both directions 11 of 36.

Meaning. Every step adds and multiplies integers, and int32 arithmetic that wraps is the ring of integers modulo 2^32.
Whatever overflows on the way, the end is 576 y modulo 2^32. 9 is odd, so it has an inverse modulo 2^32; multiplying by
it leaves 64 y modulo 2^32, which is y modulo 2^26.

Exactness. What is wanted is z = y - zp * sum of the weights + bias, and something less than 2^26 wide is known to
contain it, per channel, from the weights (`bounds`). Where it contains z in [-2^25, 2^25), 64 z is a value of int32,
and is scaled as such; elsewhere the middle of the bounds is left out of it, an arithmetic shift by 6 finds the rest,
and the middle is added again. What y lacks costs one addition per tile: the columns of A^T that belong to the point
(1, 1) are (1, 1, 1, 1), so that 576 n added to that one product adds 576 n to all sixteen 576 y.

Factors fit int16: B^T makes a byte at most 12 * 12 times as large (18,432), and so does G. Weights that are 228 or more
without their zero point take the direct form. A pair of products fits int32; sums of pairs wrap.

Transformed weights are 8 times as large as weights. Where all of a layer's wouldn't stay in a cache between two runs,
they are transformed anew in each (`LATE`): reading the weights and transforming them takes less time than reading
transformed ones from memory. The factors that a row of G has in common (`FACTORS`) are left out of that, and multiply
the sums over the input channels, of which there are fewer than weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit.variants import Variant, variant
from ..scale.epilogue import Parameters, parameters
from ..scale.places import BIAS, DOUBLES, HIGH_WORDS, RIGHT, ZERO_POINT
from ..shared_constants import shared
from ..tile.packing import per_channel_bias
from ..work import LEAST_UNITS, Epilogue, Loop, Work, aligned, constant, flat
from . import places as at
from .matrices import G

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run

WIDEST: Final = 1 << 26  # bounds of a sum must be closer than this
LARGEST: Final = ((1 << 15) - 1) // int(np.abs(G).sum(axis=1).max()) ** 2  # weight whose points fit int16
CACHED: Final = 512 << 10  # bytes of points of a unit's inputs, and of its products: half of a second-level cache
KEPT: Final = 2 << 20  # bytes of transformed weights that stay in a cache from one run to the next
AT_ONCE: Final = 4  # chunks of input channels whose weights are transformed at once, where they aren't kept


def weights_of(call: Call) -> Array:
    """[OC, 3, 3, IC] without the zero point: bytes as they are, or int16."""
    weight = constant(call, "weight")
    return weight.astype(np.int16) - np.int16(call.weight_zp) if call.weight_zp else weight


def ends_of_weights(call: Call) -> tuple[int, int]:
    """The least and the greatest weight without the zero point."""
    weight = constant(call, "weight")
    return int(weight.min()) - call.weight_zp, int(weight.max()) - call.weight_zp


def bounds(call: Call) -> tuple[Array, Array]:
    """Per output channel, the least and the greatest sum without bias: proved by whoever planned this, or from the
    weights. Padding is between the two ends, as zero.
    """
    proved = call.proved.get("CONV2D.R1")
    if proved is not None:
        low, high = (np.broadcast_to(end, call.OC) for end in proved)
        return low, high
    ends = call.in_t.minimum - call.input_zp, call.in_t.maximum - call.input_zp
    low, high = (weights_of(call).astype(np.int64).reshape(call.OC, -1) * end for end in ends)
    return np.minimum(low, high).sum(axis=1), np.maximum(low, high).sum(axis=1)


def suits(call: Call) -> bool:
    """Whether the transform is exact for this CONV2D."""
    if (call.KH, call.KW, *call.stride, *call.dilation) != (3, 3, 1, 1, 1, 1):
        return False
    (low, high), (least, most) = bounds(call), ends_of_weights(call)
    return int((high - low).max()) < WIDEST and max(-least, most) <= LARGEST


def chosen(call: Call) -> bool:
    """Whether this CONV2D is computed here: exactly, and faster than directly. No REQUIRE of it may be able to fail."""
    simd = variant()
    return worth(call, simd) and suits(call)


def worth(call: Call, simd: Variant) -> bool:
    """Whether the transform takes less time than the direct form, which adds up 215 products a nanosecond with VNNI
    (four to a lane) and 110 without (two to a lane). Measured on x86; elsewhere the direct form stays.
    """
    direct = call.macs / (215 if any("vnni" in need for need in simd.needs) else 110)
    return simd.native and simd.x86 and nanoseconds(call, simd) < direct


def nanoseconds(call: Call, simd: Variant) -> float:
    """An estimate: 105 products a nanosecond, while their weights (36 for 9) come from a cache at 25 bytes a
    nanosecond, or are transformed; and the transforms, by 32 channels of a tile's input and 16 of its output.
    """
    g = sizes(call, simd)
    tiles, depth, channels = int(g[at.TILES]), int(g[at.CHUNKS]) * at.CHUNK, int(g[at.PANELS] * g[at.COLUMNS])
    units = -(-tiles // int(g[at.UNIT]))
    pairs = float(depth * channels)
    products = call.N * points_along(call.OH) * points_along(call.OW) * pairs / 105
    weights = pairs * units * ((0.15 if g[at.AT_FEW] else 1.75) if g[at.LATE] else 2 * at.POINTS / 25)
    per_input, per_output = (65, 65) if simd.lanes == 16 else (100, 120)
    transforms = tiles * (depth // at.CHUNK * per_input + channels // at.GROUP * per_output)
    return float((products + weights if g[at.LATE] else max(products, weights)) + transforms)


def tiles_along(length: int) -> tuple[int, int]:
    """How many tiles a line of outputs has, and how many of these have TILE outputs; the others have one less."""
    tiles = -(-length // at.TILE)
    return tiles, max(0, length - tiles * (at.TILE - 1))


def points_along(length: int) -> int:
    tiles, whole = tiles_along(length)
    return tiles * (at.WINDOW - 1) + whole


def for_few(taps: Array) -> Array:
    """[vector, pair, tap, lanes, 2] as [vector, pair, TAPS * lanes * 2]: the first and the last row of taps side by
    side, column by column; then the first and the second tap of the middle row side by side, and the third.
    """
    rows = taps.reshape(*taps.shape[:2], 3, 3, -1)
    ends = rows[:, :, ::2].transpose(0, 1, 3, 4, 2)
    middle = rows[:, :, 1, :2].transpose(0, 1, 3, 2)
    parts = [part.reshape(*taps.shape[:2], -1) for part in (ends, middle, rows[:, :, 1, 2])]
    return np.concatenate(parts, axis=2)


@shared
def pack_weights(weight: Array, columns: int, lanes: int, *, late: bool, few: bool) -> Array:
    """Weights [OC, 3, 3, IC] as [vector of columns, pair of input channels, tap, lanes, 2] of int8 where they are
    transformed `late`, the taps in another order where that is for a `few` tiles; otherwise G g G^T for each pair of
    channels, as [panel, point, pair, columns, 2] of int16.
    """
    OC, _, _, IC = weight.shape
    depth, padded = -(-IC // at.CHUNK) * at.CHUNK, -(-OC // columns) * columns
    taps = weight.reshape(OC, at.TAPS, IC)
    if late:
        laid = np.zeros((padded, at.TAPS, depth), np.int8)
        laid[:OC, :, :IC] = taps
        pairs: Array = laid.view(np.int16).reshape(-1, lanes, at.TAPS, depth // 2).transpose(0, 3, 2, 1)
    else:
        lines = taps.transpose(1, 0, 2).reshape(at.TAPS, -1).astype(np.float32)  # all sums are exact
        points = np.zeros((at.POINTS, padded, depth), np.int16)
        points[:, :OC, :IC] = (np.kron(G, G).astype(np.float32) @ lines).reshape(at.POINTS, OC, IC)
        pairs = points.view(np.int32).reshape(at.POINTS, -1, columns, depth // 2).transpose(1, 0, 3, 2)
    packed = aligned(pairs.size, pairs.dtype)
    packed.reshape(pairs.shape)[...] = pairs
    found = packed.view(np.int8 if late else np.int16)
    if few:
        found[:] = for_few(found.reshape(*pairs.shape, 2)).reshape(-1)
    return found


def sizes(call: Call, simd: Variant) -> Array:
    """The geometry array: blocks of even size, one in a unit, or as many as a cache holds and LEAST_UNITS allows."""
    columns = at.columns_of(simd.lanes)
    (tiles_y, tall), (tiles_x, wide) = tiles_along(call.OH), tiles_along(call.OW)
    tiles = call.N * tiles_y * tiles_x
    panels, chunks = -(-call.OC // columns), -(-call.IC // at.CHUNK)
    rows = -(-tiles // -(-tiles // max(at.block_rows(simd.lanes))))
    blocks = -(-tiles // rows)
    cached = CACHED // (at.POINTS * (2 * chunks * at.CHUNK + 4 * columns) * rows)
    late = is_late(call, chunks * panels * columns)
    # weights that are transformed in a run serve many tiles; others are read again for every block
    unit = (max(1, min(cached, blocks * panels // LEAST_UNITS, blocks)) if late else 1) * rows
    in_weights = (min(AT_ONCE, chunks) if late else chunks) * at.CHUNK * columns
    line = at.CHUNK  # a line more, so that the points lie in different sets of a cache
    places = {
        at.IN_HEIGHT: call.IH, at.IN_WIDTH: call.IW, at.DEPTH: call.IC, at.CHUNKS: chunks, at.ZERO: call.input_zp,
        at.PAD_TOP: call.pad_top, at.PAD_LEFT: call.pad_left, at.HEIGHT: call.OH, at.WIDTH: call.OW,
        at.CHANNELS: call.OC, at.BATCH: call.N, at.TILES_Y: tiles_y, at.TILES_X: tiles_x, at.TALL: tall, at.WIDE: wide,
        at.TILES: tiles, at.ROWS: rows, at.COLUMNS: columns, at.PANELS: panels, at.UNIT: unit,
        at.POINT: unit * chunks * at.CHUNK + line, at.LATE: late * AT_ONCE, at.WEIGHT_POINT: in_weights + late * line,
        at.LANES: simd.lanes, at.AT_FEW: late and tiles <= at.FEW and simd.lanes >= at.FEWEST_LANES,
    }  # fmt: skip
    weights = at.POINTS * chunks * at.CHUNK * panels * columns
    places[at.FETCHED] = weights if not late and 2 * weights > CACHED else 0
    g = np.zeros(at.SIZE, np.int64)
    for place, value in places.items():
        g[place] = value
    return g


def is_late(call: Call, chunks: int) -> bool:
    """Whether weights (of so many chunks for all output channels) are too large to be kept transformed."""
    least, most = ends_of_weights(call)
    in_bytes = least >= -128 and most <= 127
    return bool(2 * at.POINTS * at.CHUNK * chunks > KEPT and in_bytes)


def scaling(call: Call, epilogue: Epilogue | None, g: Array) -> tuple[Array, Parameters]:
    """What is added to the product at the point (1, 1), and the parameters of the epilogue."""
    padded = int(g[at.PANELS] * g[at.COLUMNS])
    low, high = bounds(call)
    bias, weights = per_channel_bias(call, call.OC).astype(np.int64), weights_of(call).sum(axis=(1, 2, 3))
    left_out = -bias
    bound = int(np.maximum(-(low + bias), high + bias).max())
    e32, e64, limits = parameters(epilogue, np.zeros(call.OC, np.int32), call.OC, padded, bound)
    rows = e32.reshape(-1, padded)
    fits = (low + bias).min() >= -WIDEST // 2 and (high + bias).max() < WIDEST // 2
    right = rows[RIGHT].astype(np.int64)
    in_64, zero = right + at.SHIFT, int(limits[ZERO_POINT])
    half = (1 << in_64 >> 1) + (zero << in_64) + at.ROUNDED * int(limits[DOUBLES])
    in_26_bits = (limits[HIGH_WORDS] or limits[DOUBLES]) and right.max() + at.SHIFT < 32 and abs(half).max() < 1 << 30
    g[at.IN_26_BITS] = in_26_bits and fits
    if not fits:
        left_out = (low + high + 1) >> 1
        rows[BIAS, : call.OC] = bias + left_out
    seed = aligned(padded, np.int32)
    seed[: call.OC] = (-576 * (left_out + call.input_zp * weights)).astype(np.int32)
    more = aligned(7 * padded, np.int32)
    more[: e32.size] = e32
    if g[at.IN_26_BITS]:
        more.reshape(-1, padded)[[at.RIGHT_64, at.HALF_64]] = in_64, half
    return seed, Parameters(more, e64, limits)


def conv2d(call: Call, epilogue: Epilogue | None = None) -> Work:
    """CONV2D of int8 input and int8 or int4 weights that `suits` and has no REQUIRE that could fail."""
    from . import loops

    simd = variant()
    g = sizes(call, simd)
    late = bool(g[at.LATE])
    packed = pack_weights(weights_of(call), int(g[at.COLUMNS]), simd.lanes, late=late, few=bool(g[at.AT_FEW]))
    u, w = (np.zeros(1, np.int16), packed) if late else (packed, np.zeros(1, np.int8))
    seed, scales = scaling(call, epilogue, g)
    loop = loops.conv_rounded if scales.limits[DOUBLES] else loops.conv

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loop, simd, x, u, w, g, seed, *scales, out)

    unit, depth = int(g[at.UNIT]), int(g[at.CHUNKS]) * at.CHUNK
    scratch = (
        (np.dtype(np.int16), at.POINTS * int(g[at.POINT])),
        (np.dtype(np.int8), at.WINDOW * at.WINDOW * depth),
        (np.dtype(np.int32), at.POINTS * unit * int(g[at.COLUMNS])),
        (np.dtype(np.int32), max(at.TILE * at.TILE * at.GROUP, at.POINTS)),
        (np.dtype(np.int16), (late and not g[at.AT_FEW]) * at.POINTS * int(g[at.WEIGHT_POINT])),
    )
    units = -(-int(g[at.TILES]) // unit) * int(g[at.PANELS])
    panels = int(g[at.PANELS])
    # a range whose weights come late is shared by two workers, each of which transforms its inputs once
    return Work(units, nanoseconds(call, simd), bind, scratch, least_units=max(1, panels // 2 if late else panels))
