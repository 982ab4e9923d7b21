"""Preparation of TABLE, of int8 and of int16, and of the latter with a RESCALE behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ...numerics.lookup import slopes_fit
from .._jit.variants import variant
from ..scale.numbers import DOUBLE, Scale, scale_numbers
from ..work import Loop, Work, blocks, constant, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run


def table_i8(call: Call) -> Work:
    from . import loops

    entries, count, simd = constant(call, "table").copy(), types.count(call.shape_of("output")), variant()

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(loops.table_int8, simd, flat(inputs[0]), entries, outputs[0].reshape(-1), count=count)

    return Work(blocks(count), 0.1 * count, bind, overwritable=(0,))


def entries_and_slopes(table: Array) -> Array:
    """The first 512 of 513 entries of int16, then the 512 slopes, which fit int16; then their bytes, the low and the
    high ones of entries and of slopes, as vector units look them up.
    """
    words = np.stack([table[:-1], np.diff(table.astype(np.int32)).astype(np.int16)])
    octets = np.stack([words & 0xFF, words >> 8], axis=1).astype(np.uint8)
    return np.concatenate([words.reshape(-1), octets.reshape(-1).view(np.int16)])


def table_i16(call: Call) -> Work:
    from ..scale import exact_loops
    from . import loops

    table, count, simd = constant(call, "table").copy(), types.count(call.shape_of("output")), variant()
    entries = entries_and_slopes(table) if slopes_fit(table) else None

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        if entries is None:
            return Loop(exact_loops.table_int16, x, table, out, count=count)
        return Loop(loops.table_int16, simd, x, entries, out, count=count)

    return Work(blocks(count), (1.3 if entries is None else 0.4) * count, bind)


def table_rescaled(call: Call, scale: Scale, output_zp: int, bounds: tuple[int, int]) -> Work:
    """TABLE of int16, whose slopes fit, and RESCALE by one scale."""
    from . import loops

    p = np.array([*scale_numbers(*scale, 0), output_zp, *bounds], np.int64)
    table, simd, count = entries_and_slopes(constant(call, "table")), variant(), types.count(call.shape_of("output"))
    loop = loops.table_scaled_by_any_scale if p[DOUBLE] else loops.table_scaled

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(loop, simd, flat(inputs[0]), table, p, outputs[0].reshape(-1))

    return Work(blocks(count), 0.6 * count, bind, overwritable=(0,))
