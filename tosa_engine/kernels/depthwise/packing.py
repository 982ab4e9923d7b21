"""How weights and scales of DEPTHWISE_CONV2D of bytes are packed, and the geometry of its windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..scale.places import BIAS, DOUBLES, HALF, HIGH, HIGH_WORDS, LOW, MULTIPLIER, RIGHT, SPARE
from ..shared_constants import shared
from ..work import I32_MAX, aligned
from . import places as at
from .places import PART, ROWS, UNROLLED, VECTORS, WIDTHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array

Groups = list[tuple[int, int]]
I8_MIN, I8_MAX = -128, 127


def groups_of(channels: int, widest: int) -> Groups:
    """(first channel, width) of groups that are whole vectors. The last one may overlap the one before; where there are
    too few channels for any, it reaches beyond.
    """
    if channels < WIDTHS[0]:
        return [(0, WIDTHS[0])]
    width = max(w for w in WIDTHS if w <= min(channels, widest))
    found = [(c, width) for c in range(0, channels - width + 1, width)]
    rest = channels % width
    if rest:
        width = min(w for w in WIDTHS if w >= rest)
        found.append((channels - width, width))
    return found


def channels_of(width: int) -> Array:
    """[vector, lane]: the channel, see `quads`."""
    vector, lane = np.arange(VECTORS)[:, None], np.arange(width // VECTORS)
    return np.asarray(lane // 4 * 16 + 4 * vector + lane % 4)


def pack_weights(weight: Array, lines: int, step: int, picked: Array, *, pairs: bool) -> Array:
    """[KH, KW, C] as [line, vector, quad, kx, lane, row]: output row `line` of a block reads from row line * step on.

    With `pairs`, rows 0 and 2 of all lanes come first, then rows 1 and 3.
    """
    height, columns = weight.shape[:2]
    quads = -(-height // ROWS)
    padded = np.zeros((lines, quads * ROWS, columns, *picked.shape), np.int16)
    for line in range(lines):
        padded[line, line * step : line * step + height] = weight[..., picked]
    found = padded.reshape(lines, quads, ROWS, columns, *picked.shape).transpose(0, 4, 1, 3, 5, 2)
    if pairs:
        found = found.reshape(*found.shape[:-1], 2, 2).transpose(0, 1, 2, 3, 6, 4, 5)
    return np.ascontiguousarray(found).reshape(-1)


def stays_in_registers(rows: Array, limits: Array, bound: Array) -> bool:
    """Whether bytes can be made in vector code: from high words, the zero point in the rounding term, by saturation.

    `bound` is the largest magnitude of an accumulator with its bias. The high word of a product is one beyond at most,
    one more when the product is rounded.
    """
    if not (limits[HIGH_WORDS] or limits[DOUBLES]) or limits[LOW] < I8_MIN or limits[HIGH] > I8_MAX:
        return False
    multiplier, half = (rows[i, : len(bound)].astype(np.int64) for i in (MULTIPLIER, HALF))
    largest = ((bound << SPARE * int(limits[DOUBLES])) * multiplier >> 32) + 2 + abs(half)
    return bool(largest.max() <= I32_MAX)


def in_vectors(rows: Array, picked: Array) -> Array:
    """Bias, multiplier, right shift and rounding term, the zero point in it, as [vector, parameter, lane]."""
    found = rows[:, picked].transpose(1, 0, 2).copy()
    found[:, 2:] = found[:, 2:].reshape(VECTORS, 2, -1, 4)[..., PART].reshape(VECTORS, 2, -1)
    return found.reshape(-1)


def geometry(call: Call) -> tuple[dict[int, int], list[int]]:
    """What follows from the sizes of the windows; and the distance of each tap in columns.

    As many output rows share their quads as fit: two of a 3 x 3 kernel, because their windows cover four rows.
    """
    quads = -(-call.KH // ROWS)
    shared = (quads * ROWS - call.KH) // call.stride_y + 1 if call.dilation_y == 1 else 1
    lines = min(shared, call.OH)
    columns = (call.OW - 1) * call.stride_x + (call.KW - 1) * call.dilation_x + 1
    plane = -(-columns // call.stride_x)
    distances = [
        (quad * call.stride_x + kx * call.dilation_x % call.stride_x) * plane + kx * call.dilation_x // call.stride_x
        for quad in range(quads)
        for kx in range(call.KW)
    ]
    g = {
        at.IN_HEIGHT: call.IH, at.IN_WIDTH: call.IW, at.DEPTH: call.C, at.REPEAT: call.M, at.HEIGHT: call.OH,
        at.WIDTH: call.OW, at.CHANNELS: call.C * call.M, at.TOP: call.pad_top, at.LEFT: call.pad_left,
        at.STEP_Y: call.stride_y, at.STEP_X: call.stride_x, at.ROW_STEP: call.dilation_y, at.REACH: call.KH,
        at.QUADS: quads, at.COLUMNS: columns, at.PLANE: plane, at.TAPS: len(distances), at.LINES: lines,
        at.BLOCKS: -(-call.OH // lines), at.CODE: kernel_code(call, quads),
    }  # fmt: skip
    return g, distances


def kernel_code(call: Call, quads: int) -> int:
    """Which of UNROLLED has code for the taps, counted from 1; 0: none."""
    known = (call.KW, call.stride_x, quads)
    return 1 + UNROLLED.index(known) if call.dilation_x == 1 and known in UNROLLED else 0


def joined(arrays: Sequence[Array], dtype: type) -> Array:
    found = aligned(sum(len(a) for a in arrays), dtype)
    found[:] = np.concatenate(arrays)
    return found


def picked_by(channel: int, width: int, weight: Array) -> Array:
    """The channels of a group, the last one in the place of those that don't exist."""
    return np.asarray(np.minimum(channel + channels_of(width), weight.shape[2] - 1))


@shared
def pack_groups(weight: Array, lines: int, step: int, groups: Groups, dtype: type) -> Array:
    """The weights of all groups, one after the other."""
    picked = [picked_by(channel, width, weight) for channel, width in groups]
    return joined([pack_weights(weight, lines, step, one, pairs=dtype is np.int16) for one in picked], dtype)


@dataclass(frozen=True)
class Packed:
    """Weights and scales as the units read them, group after group."""

    weights: Array
    numbers: Array  # e32, then the scales in vectors
    fields: list[int]

    @classmethod
    def of(
        cls, weight: Array, e32: Array, pitch: int, limits: Array, g: dict[int, int], groups: Groups, dtype: type
    ) -> Packed:
        rows = e32.reshape(-1, pitch)[[BIAS, MULTIPLIER, RIGHT, HALF]]
        rows[2] += SPARE * int(limits[DOUBLES])
        weights, numbers = 0, [e32]
        fields: list[int] = []
        for channel, width in groups:
            picked = picked_by(channel, width, weight)
            fields += [channel, width, weights, sum(len(a) for a in numbers)]
            weights += g[at.LINES] * g[at.QUADS] * ROWS * weight.shape[1] * width
            numbers.append(in_vectors(rows, picked))
        return cls(pack_groups(weight, g[at.LINES], g[at.STEP_Y], groups, dtype), joined(numbers, np.int32), fields)
