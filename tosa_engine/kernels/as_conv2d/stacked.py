"""CONV3D as CONV2Ds of images whose channels are those of several slices of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..work import Chain, Epilogue, Loop, Work, aligned, bits, constant, flat, loops_of
from .conv2d import conv2d

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run

CHUNK_BYTES = 512 << 10  # of images that are stacked before they are convolved
MOST_CHUNKS = 64


def conv3d_sums(call: Call, epilogue: Epilogue | None) -> Work:
    """Some images at a time are stacked, then convolved."""
    from ..layout import loops as layout_loops

    depth, images = call.KD * call.IC, call.N * call.OD
    weight = constant(call, "weight").transpose(0, 2, 3, 1, 4).reshape(call.OC, call.KH, call.KW, depth)
    element = call.in_t.storage
    one = call.IH * call.IW * depth
    chunk = min(images, max(1, CHUNK_BYTES // (one * element.itemsize), -(-images // MOST_CHUNKS)))
    firsts = range(0, images, chunk)
    settings = {"pad": call.pad[2:], "stride": call.stride[1:], "dilation": call.dilation[1:]}
    works = {
        count: conv2d(call, epilogue, count, (call.IH, call.IW), weight, **settings)
        for count in sorted({min(chunk, images - first) for first in firsts})
    }
    places = dict(zip(works, np.cumsum([0, *(len(work.scratch) for work in works.values())]).tolist(), strict=False))
    zero = bits(np.array([call.input_zp], element))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out, stacked = flat(inputs[0]), outputs[0].reshape(images, -1), aligned(chunk * one, element)
        loops: list[tuple[Loop, int]] = []
        for first in firsts:
            count = min(chunk, images - first)
            g = np.array(
                [call.ID, call.IH, call.IW, call.IC, call.OD, call.KD, call.stride_d, call.dilation_d, call.pad_d0,
                 first], np.int64,
            )  # fmt: skip
            stack = Loop(layout_loops.stack, bits(x), zero, g, bits(stacked)).taking(0, 0)
            run = works[count].bind([stacked[: count * one]], [out[first : first + count]])
            loops += [
                (stack, count * call.IH),
                *loops_of(run, works[count].units, places[count], len(works[count].scratch)),
            ]
        return Chain(*loops)

    scratch = tuple(s for work in works.values() for s in work.scratch)
    cost = images * one * 0.5 + works[chunk].cost * images / chunk
    return Work(1, cost, bind, scratch, most_units=chunk * call.IH)
