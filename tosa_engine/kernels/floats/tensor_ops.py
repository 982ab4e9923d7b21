"""Preparation of the tensor operators of floats: CONV2D, DEPTHWISE_CONV2D and MATMUL."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import MOST_ROWS, PANELS_OF_ONE, variant
from ..scale.places import NR
from ..tile import geometry as at
from ..tile.constant_product import by_constant
from ..tile.geometry import Geometry, geometry
from ..tile.packing import (
    TILES,
    buffer_sizes,
    flatten_pointwise,
    pack_panels,
    per_channel_bias,
    split,
    window_geometry,
)
from ..tile.trim import trimmed
from ..work import BUFFER_BYTES, LEAST_UNITS, Kernel, Limits, Loop, Work, aligned, constant, flat
from . import depthwise_places as place
from .through_float32 import HALVES, as_fp32, coded, in_fp32, through_fp32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run

SPEED = 45  # products per nanosecond
APART = 512  # elements: rows at multiples of it share lines of the cache
COPIED_BYTES = 2 << 20  # of rows that are copied, to be apart
STRIPE_BYTES = 384 << 10  # of the second matrix that are packed at once
IN_PLACE_BYTES = 128 << 10  # of a second matrix that isn't packed
FEW_ROWS = 8  # up to which the second matrix of a MATMUL isn't packed
SMALL = 1 << 20  # products that aren't worth more units
COLUMNS = 1024  # of a unit then
NO_LIMITS: Limits = (-np.inf, np.inf)


def padded(values: Array, channels: int) -> Array:
    """The values of `channels` channels, filled up to whole panels."""
    found = aligned(-(-channels // NR) * NR, np.float32)
    found[:channels] = values
    return found


def conv2d_fp32(call: Call, limits: Limits = NO_LIMITS, narrow: bool = False) -> Work:
    """CONV2D of float32, clipped to the limits of a CLAMP that follows. `narrow`: the arrays are of fp16 or bf16, and
    the operator is as it would be in float32.
    """
    from . import loops

    g, offsets = window_geometry(call, call.IC, 1, 4)
    in_place = flatten_pointwise(call, g)
    if in_place and call.IC % APART == 0:
        in_place, g[at.PITCH] = False, call.IC + NR
    b, distances, panels = pack_panels(constant(call, "weight").reshape(call.OC, -1), offsets, 1, np.float32)
    place = at.COPIED if in_place and narrow else int(in_place)
    g.update({at.STEPS: len(distances), at.CHANNELS: call.OC, at.IN_PLACE: place})
    units = split(g, panels)
    bias, shape = padded(per_channel_bias(call, call.OC), call.OC), geometry(g)
    runs, bounds = np.array(offsets, np.int64), np.array(limits, np.float32)
    loop = loops.conv_narrow if narrow else loops.conv

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(loop, variant(), coded(inputs[0]), b, shape, runs, bias, bounds, coded(outputs[0]))

    packed, starts = buffer_sizes(g)
    scratch = ((np.dtype(np.float32), 64 if place == 1 else packed), (np.dtype(np.int64), starts))
    return Work(units, call.macs / SPEED, bind, scratch)


def depthwise_conv2d_fp32(call: Call, limits: Limits = NO_LIMITS, narrow: bool = False) -> Work:
    """DEPTHWISE_CONV2D of float32, clipped to the limits of a CLAMP that follows; `narrow` as for CONV2D."""
    from . import depthwise_loops

    channels = call.C * call.M
    packed = call.M > 1 or channels < NR
    columns = (call.OW - 1) * call.stride_x + (call.KW - 1) * call.dilation_x + 1
    known = (call.KW, call.stride_x)
    block = max(1, min(call.OH, -(-call.OH * call.N // LEAST_UNITS)))
    if packed:
        block = max(1, min(block, BUFFER_BYTES // 4 // (columns * channels) // call.stride_y))
    weight = aligned(call.KH * call.KW * -(-channels // NR) * NR, np.float32).reshape(call.KH * call.KW, -1)
    weight[:, :channels] = constant(call, "weight").reshape(-1, channels)
    g = {
        place.IN_HEIGHT: call.IH, place.IN_WIDTH: call.IW, place.DEPTH: call.C, place.REPEAT: call.M,
        place.HEIGHT: call.OH, place.WIDTH: call.OW, place.CHANNELS: channels, place.TOP: call.pad_top,
        place.LEFT: call.pad_left, place.STEP_Y: call.stride_y, place.STEP_X: call.stride_x, place.KERNEL_Y: call.KH,
        place.KERNEL_X: call.KW, place.ROW_STEP: call.dilation_y, place.COLUMN_STEP: call.dilation_x,
        place.BLOCK: block, place.BLOCKS: -(-call.OH // block), place.PACKED: packed, place.COLUMNS: columns,
        place.PITCH: weight.shape[1],
        place.CODE: place.KNOWN.index(known) + 1 if call.dilation_x == 1 and known in place.KNOWN else 0,
    }  # fmt: skip
    shape, bounds = np.array([g[i] for i in range(place.SIZE)], np.int64), np.array(limits, np.float32)
    bias = padded(per_channel_bias(call, channels), channels)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = coded(inputs[0]), coded(outputs[0])
        return Loop(depthwise_loops.depthwise, variant(), x, weight.reshape(-1), shape, bias, bounds, out)

    rows = (block - 1) * call.stride_y + (call.KH - 1) * call.dilation_y + 1
    scratch = ((np.dtype(np.float32), rows * columns * channels + NR if packed else 0),)
    taps = call.KH * call.KW + (4 if packed else 1)
    return Work(call.N * g[place.BLOCKS], 0.02 * call.N * call.OH * call.OW * channels * taps, bind, scratch)


def matmul_geometry(call: Call) -> Geometry:
    """Blocks of rows as large as the copy of them may be, so that few units pack the same panels."""
    panels = -(-call.W // NR)
    in_place = call.C % APART != 0
    pitch = call.C if in_place else call.C + NR
    groups = -(-panels // variant().panels)
    most = call.H if in_place else max(MOST_ROWS, COPIED_BYTES // 4 // pitch)
    if call.N * groups < LEAST_UNITS // 2 and call.H * call.W * call.C > SMALL:
        most = min(most, max(TILES * MOST_ROWS, -(-call.H * call.N * groups // LEAST_UNITS)))
    block = min(call.H, -(-most // MOST_ROWS) * MOST_ROWS)
    blocks = -(-call.H // block)
    return {
        at.HEIGHT: call.H, at.CHANNELS: call.W, at.DEPTH: call.C, at.PANELS: panels, at.IN_PLACE: in_place,
        at.PITCH: pitch, at.BLOCK: block, at.BLOCKS: blocks,
        at.PACKED: call.W % NR != 0 or 4 * call.C * call.W > IN_PLACE_BYTES,
        at.STRIPE: max(1, min(panels, STRIPE_BYTES // (4 * NR * call.C) // PANELS_OF_ONE)) * PANELS_OF_ONE,
        at.GROUPS: max(1, min(groups, -(-LEAST_UNITS // (blocks * call.N)))),
    }  # fmt: skip


def matmul_fp32(call: Call, limits: Limits = NO_LIMITS) -> Work:
    """MATMUL of float32, clipped to the limits of a CLAMP that follows."""
    from . import matmul_loops

    found = by_constant(call, conv2d_fp32, limits)
    if found is not None:
        return found
    if call.H <= FEW_ROWS:
        return matmul_few_rows(call, limits)
    g = matmul_geometry(call)
    shape, runs = geometry(g), np.zeros(1, np.int64)
    bias, bounds = aligned(g[at.PANELS] * NR, np.float32), np.array(limits, np.float32)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)
        return Loop(matmul_loops.matmul, variant(), x, y, shape, runs, bias, bounds, out)

    scratch = (
        (np.dtype(np.int64), g[at.BLOCK] + MOST_ROWS),
        (np.dtype(np.float32), 0 if g[at.IN_PLACE] else g[at.BLOCK] * g[at.PITCH]),
        (np.dtype(np.float32), call.C * NR * g[at.STRIPE] if g[at.PACKED] else 0),
    )
    return Work(call.N * g[at.BLOCKS] * g[at.GROUPS], call.N * call.H * call.W * call.C / SPEED, bind, scratch)


def matmul_few_rows(call: Call, limits: Limits) -> Work:
    from . import matmul_loops

    columns = min(call.W, COLUMNS)
    blocks = -(-call.W // columns)
    g = {at.HEIGHT: call.H, at.CHANNELS: call.W, at.DEPTH: call.C, at.BLOCK: columns, at.BLOCKS: blocks}
    shape, bounds = geometry(g), np.array(limits, np.float32)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)
        return Loop(matmul_loops.few_rows, variant(), x, y, shape, bounds, out)

    return Work(call.N * blocks, call.N * call.H * call.W * call.C / 15, bind)


def in_loops(prepare: Callable[..., Work]) -> Callable[..., Work]:
    """CONV2D or DEPTHWISE_CONV2D of fp16 or bf16: the loops of fp32 widen and round, where these are vector code."""

    @wraps(prepare)
    def prepare_narrow(call: Call, limits: Limits | None = None) -> Work:
        formats = {call.tensor(name).dtype.name for name in ("input", "output")}
        if not (variant().native and formats.issubset(HALVES)):
            return in_fp32(prepare)(call, limits)
        return prepare(as_fp32(call), NO_LIMITS if limits is None else limits, True)

    return prepare_narrow


CONV_SUMS = (
    "fp8e4m3_fp8e4m3_fp16_accfp16", "fp8e5m2_fp8e5m2_fp16_accfp16", "fp16_fp16_fp16_accfp16", "fp16_fp16_fp16_accfp32",
    "bf16_bf16_bf16_accfp32",
)  # fmt: skip
MATMUL_SUMS = ("fp8e4m3_fp16", "fp8e5m2_fp16", "fp16_fp16", "fp16_fp32", "bf16_fp32")
CONV = ("weight", "bias", "input_zp", "weight_zp")
KERNELS = {
    ("CONV2D", "fp32_fp32_fp32_accfp32"): Kernel(trimmed(conv2d_fp32), CONV, clips=True),
    ("DEPTHWISE_CONV2D", "fp32_fp32_fp32_accfp32"): Kernel(trimmed(depthwise_conv2d_fp32), CONV, clips=True),
    ("MATMUL", "fp32_fp32"): Kernel(matmul_fp32, ("A_zp", "B_zp"), clips=True),
}
for op in ("CONV2D", "DEPTHWISE_CONV2D"):
    wide = KERNELS[op, "fp32_fp32_fp32_accfp32"]
    KERNELS |= {(op, key): Kernel(in_loops(wide.prepare), CONV, clips=True) for key in CONV_SUMS}
KERNELS |= through_fp32(KERNELS, "MATMUL", "fp32_fp32", *MATMUL_SUMS)
