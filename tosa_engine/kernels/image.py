"""Kernels of the image operators. A unit is one output row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .floats.through_float32 import HALVES, in_fp32
from .work import Kernel, Loop, Work, bits, constant, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def neighbours(call: Call, axis: int) -> tuple[Array, Array, Array, int]:
    """Along y (0) or x (1), for each output position: the input positions before and after, and how far behind the
    first one it lies, in units of 1 / n; and n.
    """
    n, d = (int(v) for v in constant(call, "scale")[2 * axis : 2 * axis + 2])
    inputs, outputs = ((call.IH, call.OH), (call.IW, call.OW))[axis]
    place = np.arange(outputs, dtype=np.int64) * d + int(constant(call, "offset")[axis])
    before = place // n
    return np.maximum(before, 0), np.minimum(before + 1, inputs - 1), place - before * n, n


def nearest(call: Call) -> Work:
    from .images import resize_loops

    rows, columns = (
        np.where(2 * way >= n, after, before) for before, after, way, n in (neighbours(call, 0), neighbours(call, 1))
    )
    g = np.array([call.IH, call.IW, call.C, call.OH, call.OW], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(resize_loops.nearest, bits(x), g, rows, columns, bits(out))

    return Work(call.N * call.OH, call.N * call.OH * call.OW * (2.0 + 0.1 * call.C), bind)


def weights(call: Call, axis: int) -> tuple[Array, Array]:
    """Of the neighbours before and after: integers in units of 1 / n, or float64, so that results are rounded once."""
    *_, way, n = neighbours(call, axis)
    if call.in_t.is_float:
        return 1.0 - way / n, way / n
    kind = call.out_t.storage
    return (n - way).astype(kind), way.astype(kind)


def bilinear(call: Call) -> Work:
    from .images import resize_loops

    y, x = neighbours(call, 0), neighbours(call, 1)
    places = np.concatenate([*y[:2], *x[:2]])
    ways = np.concatenate([*weights(call, 0), *weights(call, 1)])
    g = np.array([call.IH, call.IW, call.C, call.OH, call.OW], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        source, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(resize_loops.bilinear, source, g, places, ways, out)

    return Work(call.N * call.OH, 3.0 * call.N * call.OH * call.OW * (call.C + 4), bind)


def resize(call: Call) -> Work:
    return nearest(call) if call.mode == "NEAREST" else bilinear(call)


def resize_narrow(call: Call) -> Work:
    return nearest(call) if call.mode == "NEAREST" else in_fp32(bilinear, np.float64)(call)


ROWS = ("i8_i32", "i8_i8", "i16_i48", "i16_i16", "fp32_fp32")
PLACES = ("scale", "offset", "border")
KERNELS = {("RESIZE", key): Kernel(resize, PLACES) for key in ROWS} | {
    ("RESIZE", f"{t}_{t}"): Kernel(resize_narrow, PLACES) for t in HALVES
}
