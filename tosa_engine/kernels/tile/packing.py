"""How convolutions are cut into units, and how their weights are packed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._jit.variants import MOST_ROWS, variant
from ..scale.places import NR
from ..shared_constants import shared
from ..work import BUFFER_BYTES, LEAST_UNITS, aligned, constant
from . import geometry as at

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Array
    from .geometry import Geometry


TILES = 4  # in a block of rows


class Panels(NamedTuple):
    """The weights of a matrix product as tiles read them."""

    weights: Array  # [panel, step, NR, group] in one dimension, aligned
    distances: Array  # int64 [step]: from the start of a row to what the step reads
    panels: int  # how many


def window_geometry(call: Call, depth: int, repeat: int, itemsize: int) -> tuple[Geometry, list[int]]:
    """Geometry of packing, and the distances of the runs along K."""
    tall, wide = call.KH > 1, call.KW > 1
    columns = (call.OW - 1) * (call.stride_x if wide else 1) + 1 + (call.KW - 1) * call.dilation_x
    inner = depth * repeat
    pitch = columns * inner
    merged = call.dilation_x == 1 and repeat == 1 and wide
    rows = [ky * call.dilation_y * pitch for ky in range(call.KH)]
    if merged or not wide:
        offsets = rows
    else:
        offsets = [row + kx * call.dilation_x * inner for row in rows for kx in range(call.KW)]
    jump = call.stride_y if tall else 1
    tail = (call.KH - 1) * call.dilation_y
    lines = (BUFFER_BYTES // itemsize // pitch - 1 - tail) // jump + 1
    found: Geometry = {
        at.IN_HEIGHT: call.IH, at.IN_WIDTH: call.IW, at.DEPTH: depth, at.REPEAT: repeat,
        at.FIRST_Y: -call.pad_top, at.FIRST_X: -call.pad_left,
        at.STEP_Y: 1 if tall else call.stride_y, at.STEP_X: 1 if wide else call.stride_x,
        at.HEIGHT: call.OH, at.WIDTH: call.OW, at.JUMP_Y: jump, at.JUMP_X: (call.stride_x if wide else 1) * inner,
        at.PITCH: pitch, at.TAIL: tail, at.BATCH: call.N, at.BLOCK: max(1, min(call.OH, lines)),
    }  # fmt: skip
    return found, offsets


def flatten_pointwise(call: Call, g: Geometry) -> bool:
    """A 1 x 1 convolution without stride and padding is a product of all pixels: one column of N * OH * OW rows."""
    if (call.KH, call.KW, *call.stride, *call.pad) != (1, 1, 1, 1, 0, 0, 0, 0):
        return False
    pixels, pitch = call.N * call.OH * call.OW, g[at.DEPTH]
    g.update({at.BATCH: 1, at.IN_HEIGHT: pixels, at.IN_WIDTH: 1, at.HEIGHT: pixels, at.WIDTH: 1, at.PITCH: pitch})
    g[at.BLOCK] = max(1, min(pixels, BUFFER_BYTES // 2 // pitch))
    return True


def split(g: Geometry, panels: int) -> int:
    """Cut the work into units: blocks of rows, and groups of panels where there are few rows. The number of units."""
    simd = variant()
    g[at.PANELS] = panels
    per_image = -(-LEAST_UNITS // g[at.BATCH])
    least = -(-g[at.HEIGHT] // per_image)
    if g[at.WIDTH] == 1:  # whole tiles, a few of them for each time that the weights are read
        g[at.BLOCK] = max(1, min(g[at.BLOCK], -(-max(least, TILES * simd.rows) // simd.rows) * simd.rows))
    elif g[at.HEIGHT] >= 2 * per_image:
        if -(-g[at.HEIGHT] // least) % 2 and panels > simd.panels:
            # one of two workers would wait for the other: half as many blocks, with the panels in two groups
            least = -(-2 * g[at.HEIGHT] // per_image)
        g[at.BLOCK] = min(g[at.BLOCK], least)
    g[at.BLOCKS] = -(-g[at.HEIGHT] // g[at.BLOCK])
    g[at.GROUPS] = max(1, min(-(-panels // simd.panels), LEAST_UNITS // (g[at.BLOCKS] * g[at.BATCH])))
    return g[at.BATCH] * g[at.BLOCKS] * g[at.GROUPS]


def split_finely(g: Geometry, panels: int) -> int:
    """Like `split`, for loops that do MERGE blocks at once: blocks are small, so that workers share them evenly, and
    where one's outputs end, those of the step before and of the next one do.
    """
    simd = variant()
    few = g[at.WIDTH] == 1 and in_channels(g[at.HEIGHT] * g[at.BATCH])
    largest = g[at.BLOCK]
    units = split(g, panels)
    g[at.MERGE] = 1
    if few and g[at.HEIGHT] <= largest:
        across = -(-panels // simd.panels)
        g[at.CUT] = across % 2 and across < 2 * LEAST_UNITS
        g[at.GROUPS] = min(panels, LEAST_UNITS // 2) if g[at.CUT] else min(across, LEAST_UNITS)
        g[at.BLOCK], g[at.BLOCKS] = g[at.HEIGHT], 1
        units = g[at.BATCH] * g[at.GROUPS]
    elif g[at.GROUPS] == 1:
        one = simd.rows if g[at.WIDTH] == 1 and g[at.BLOCK] >= simd.rows else 1
        g[at.MERGE] = g[at.BLOCK] // one
        g[at.BLOCK], g[at.BLOCKS] = one, -(-g[at.HEIGHT] // one)
        units = g[at.BATCH] * g[at.BLOCKS]
    return units


def in_channels(pixels: int) -> bool:
    """Whether there are too few pixels in all images for even shares: workers share channels instead."""
    return pixels < 2 * LEAST_UNITS * variant().rows


def buffer_sizes(g: Geometry) -> tuple[int, int]:
    """Elements of the packed rows (with room for reads past the last run) and of the row starts."""
    lines = g[at.BLOCK] * g.get(at.MERGE, 1)
    rows = (lines - 1) * g[at.JUMP_Y] + 1 + g[at.TAIL]
    return rows * g[at.PITCH] + 64, lines * g[at.WIDTH] + MOST_ROWS


def pack_panels(weight: Array, offsets: list[int], group: int, dtype: type) -> Panels:
    """Weights [OC, K], K being runs that start at `offsets`, as `Panels`.

    A run that isn't a whole number of steps is filled up with zeros, which meet whatever lies behind it.
    """
    steps, panels = -(-weight.shape[1] // len(offsets) // group), -(-weight.shape[0] // NR)
    distances = np.add.outer(np.array(offsets, np.int64), np.arange(steps, dtype=np.int64) * group).reshape(-1)
    return Panels(panels_of_runs(weight, len(offsets), group, dtype), distances, panels)


@shared
def panels_of_runs(weight: Array, runs: int, group: int, dtype: type) -> Array:
    channels, depth = weight.shape
    run = depth // runs
    steps, panels = -(-run // group), -(-channels // NR)
    padded = np.zeros((panels * NR, runs, steps * group), dtype)
    padded[:channels, :, :run] = weight.reshape(channels, runs, run)
    packed, word = aligned(padded.size, dtype), f"i{group * padded.itemsize}"
    words = packed.view(word).reshape(panels, runs * steps, NR)
    words[...] = padded.view(word).reshape(panels, NR, runs * steps).transpose(0, 2, 1)
    return packed


def per_channel_bias(call: Call, channels: int) -> Array:
    return np.ascontiguousarray(np.broadcast_to(constant(call, "bias"), (channels,)))
