"""Preparation of CONV2D on the tile: in quads of bytes, or in pairs of int16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from .._jit.variants import PANELS_OF_ONE, TILE, variant
from ..bounds import accumulator_bound
from ..scale.epilogue import form_of, parameters
from ..scale.places import FORMS, HIGH_WORD, HIGH_WORDS
from ..work import Loop, Work, constant, flat
from . import geometry as at
from .geometry import Geometry, geometry
from .packing import (
    Panels,
    buffer_sizes,
    flatten_pointwise,
    pack_panels,
    per_channel_bias,
    split_finely,
    window_geometry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run


def conv2d_int8(call: Call, epilogue: Epilogue | None) -> Work:
    """CONV2D of int8 input and int8 or int4 weights, in quads where the variant has them and the weights are bytes."""
    from . import loops

    weight, zero = constant(call, "weight").reshape(call.OC, -1), call.weight_zp
    simd = variant()
    bias = per_channel_bias(call, call.OC)
    if not ((simd.quads or simd.signed) and -128 <= int(weight.min()) - zero <= int(weight.max()) - zero <= 127):
        return conv2d_pairs(call, weight.astype(np.int16) - np.int16(zero), bias, epilogue)
    weight = weight - np.int8(zero) if zero else weight
    offset = call.input_zp + (0 if simd.signed else 128)
    bias = (bias - offset * weight.sum(axis=1, dtype=np.int64)).astype(np.int32)
    if epilogue is not None and simd.masks and is_pixel(call):
        found = conv2d_pixel(call, pack_panels(weight, [0], 4, np.int8), bias, epilogue)
        if found is not None:
            return found
    g, offsets = window_geometry(call, call.IC, 1, 1)
    g.update({at.PADDING: call.input_zp, at.IN_PLACE: flatten_pointwise(call, g) and call.IC % 4 == 0})
    if is_apart(call):
        g.update(
            {at.IN_PLACE: at.APART, at.PITCH: call.stride_y * call.IW * call.IC, at.JUMP_X: call.stride_x * call.IC}
        )
    return conv2d_tiled(call, g, pack_panels(weight, offsets, 4, np.int8), bias, epilogue, loops.conv_quads)


def is_apart(call: Call) -> bool:
    """Whether pixels in whole quads are read with steps between them, and never outside of the input."""
    steps = call.KH == call.KW == 1 and max(call.stride_y, call.stride_x) > 1 and call.IC % 4 == 0
    return (
        steps
        and (call.pad_top, call.pad_left) == (0, 0)
        and ((call.OH - 1) * call.stride_y < call.IH and (call.OW - 1) * call.stride_x < call.IW)
    )


def is_pixel(call: Call) -> bool:
    """Whether there is one output pixel, whose window is the whole input, in whole quads."""
    return (
        (call.N, call.OH, call.OW, *call.pad) == (1, 1, 1, 0, 0, 0, 0)
        and (call.KH, call.KW) == (call.IH, call.IW)
        and call.KH * call.KW * call.IC % 4 == 0
    )


def conv2d_pixel(call: Call, packed: Panels, bias: Array, epilogue: Epilogue) -> Work | None:
    """CONV2D of one pixel, read in place, a row of sums at a time; None where its scales aren't those of tiles."""
    from . import loops

    b, distances, panels = packed
    scaling = parameters(epilogue, bias, call.OC, panels * 16, int(accumulator_bound(call).max()))
    form = form_of(epilogue, scaling)
    if form == FORMS.index(HIGH_WORD) and not scaling.limits[HIGH_WORDS]:
        return None
    simd = variant()
    shape = geometry({at.STEPS: len(distances), at.CHANNELS: call.OC, at.PANELS: panels})

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loops.conv_pixel_quads[form], simd, x, b, shape, distances, *scaling, out)

    return Work(-(-panels // PANELS_OF_ONE), call.macs / 60 + 0.15 * call.OC, bind)


def conv2d_pairs(call: Call, weight: Array, bias: Array, epilogue: Epilogue | None) -> Work:
    """CONV2D in int16 pairs: the sums without the bias fit int32, and with it, too, where the bias is int32."""
    from . import loops

    g, offsets = window_geometry(call, call.IC, 1, 2)
    whole = flatten_pointwise(call, g)
    wide = call.in_t is types.i16
    g.update({at.ZERO: call.input_zp, at.IN_PLACE: whole and (at.COPIED if not wide else call.IC % 2 == 0)})
    forms = loops.conv_pairs_int16 if wide else loops.conv_pairs
    return conv2d_tiled(call, g, pack_panels(weight, offsets, 2, np.int16), bias, epilogue, forms)


def conv2d_tiled(
    call: Call, g: Geometry, packed: Panels, bias: Array, epilogue: Epilogue | None,
    loops: Sequence[Callable[..., int]],
) -> Work:  # fmt: skip
    """CONV2D by a loop over tiles, one for each of scale.places.FORMS."""
    b, distances, panels = packed
    simd = variant()
    g.update({at.STEPS: len(distances), at.CHANNELS: call.OC})
    units = split_finely(g, panels)
    bound = 0 if epilogue is None else int(accumulator_bound(call).max())
    scaling, shape = parameters(epilogue, bias, call.OC, panels * 16, bound), geometry(g)
    loop = loops[form_of(epilogue, scaling)]

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loop, simd, x, b, shape, distances, *scaling, out)

    elements, starts = buffer_sizes(g)
    elements = 64 if g[at.IN_PLACE] in (1, at.APART) else elements
    scratch = ((b.dtype, elements), (np.dtype(np.int64), starts), (np.dtype(np.int32), TILE))
    speed = 200 if b.dtype == np.int8 else 60  # products per nanosecond
    cost = call.macs / speed + 0.15 * call.N * call.OH * call.OW * call.OC
    least = 1 if g[at.IN_PLACE] else max(1, g[at.GROUPS] // 2)  # groups of panels read the same packed rows
    return Work(units, cost, bind, scratch, least_units=least)
