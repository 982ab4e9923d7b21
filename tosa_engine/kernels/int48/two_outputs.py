"""CONV2D of int16 whose sums two RESCALEs read: both results at once, before sums are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import TILE, variant
from ..bounds import in_int32, sums_range
from ..scale.epilogue import parameters
from ..tile import geometry as at
from ..tile.geometry import geometry
from ..tile.packing import (
    buffer_sizes,
    flatten_pointwise,
    pack_panels,
    per_channel_bias,
    split_finely,
    window_geometry,
)
from ..tile.trim import trim
from ..work import Loop, Work, constant, flat
from .prepare import narrowest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run


def conv2d_two_outputs(call: Call, first: Epilogue, second: Epilogue) -> Work | None:
    """Where the sums fit int32; elsewhere None. The outputs are those of the epilogues."""
    if not in_int32(*sums_range(call)):
        return None
    from . import two_outputs_loops

    call = trim(call)
    weight = constant(call, "weight").astype(np.int16).reshape(call.OC, -1) - np.int16(call.weight_zp)
    g, offsets = window_geometry(call, call.IC, 1, 2)
    g[at.IN_PLACE] = flatten_pointwise(call, g) and call.IC % 2 == 0
    b, distances, panels = pack_panels(weight, offsets, 2, np.int16)
    g.update({at.STEPS: len(distances), at.CHANNELS: call.OC})
    units = split_finely(g, panels)
    bias, shape, simd = narrowest(call, per_channel_bias(call, call.OC)), geometry(g), variant()
    scales = [parameters(e, bias, call.OC, panels * 16) for e in (first, second)]

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        results = [(*scale, out.reshape(-1)) for scale, out in zip(scales, outputs, strict=True)]
        return Loop(two_outputs_loops.conv, simd, flat(inputs[0]), b, shape, distances, *results[0], *results[1])

    elements, starts = buffer_sizes(g)
    elements = 64 if g[at.IN_PLACE] else elements
    scratch = ((np.dtype(np.int16), elements), (np.dtype(np.int64), starts), (np.dtype(np.int32), TILE))
    return Work(units, call.macs / 60 + 0.3 * call.N * call.OH * call.OW * call.OC, bind, scratch)
