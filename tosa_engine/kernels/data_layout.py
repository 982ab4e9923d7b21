"""Kernels of the data layout operators: strided copies, split along the first axis of the output longer than 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import types
from .layout.copies import copy_loop, copy_work, units_of
from .work import Chain, Kernel, Loop, Work, bits, blocks, constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def reshape(call: Call) -> Work:
    shape = call.shape_of("output")
    return copy_work(shape, lambda x: x.reshape(shape))


def transpose(call: Call) -> Work:
    return copy_work(call.shape_of("output"), lambda x: x.transpose(call.perms))


def reverse(call: Call) -> Work:
    backwards = (slice(None),) * call.axis + (slice(None, None, -1),)
    return copy_work(call.shape_of("output"), lambda x: x[backwards])


def tile(call: Call) -> Work:
    """Each axis that is repeated is two of the output: which repetition, and where in the input."""
    multiples = [int(v) for v in constant(call, "multiples")]
    parts: list[int] = []  # sizes of the output
    sizes: list[int] = []  # of the input: 1 where it repeats
    for size, times in zip(call.shape1, multiples, strict=True):
        if times > 1:
            parts.append(times)
            sizes.append(1)
        if size > 1 or times == 1:
            parts.append(size)
            sizes.append(size)
    return copy_work(tuple(parts), lambda x: np.broadcast_to(x.reshape(sizes), parts))


def slice_(call: Call) -> Work:
    start, size = constant(call, "start"), constant(call, "size")
    region = tuple(slice(int(a), int(a) + int(n)) for a, n in zip(start, size, strict=True))
    return copy_work(call.shape_of("output"), lambda x: x[region])


def pad(call: Call) -> Work:
    """The padding's value first, then the input inside it."""
    from .layout import loops as layout_loops

    padding = [int(v) for v in constant(call, "padding")]
    region = tuple(slice(before, before + size) for before, size in zip(padding[::2], call.shape1, strict=True))
    value = bits(constant(call, "pad_const").reshape(-1).copy())
    count = types.count(call.shape_of("output"))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = inputs[0], outputs[0]
        inside = copy_loop(x, lambda x: x, out[region], out)
        fill = Loop(layout_loops.fill, value, bits(out.reshape(-1)), count=count)
        return Chain((fill, blocks(count)), (inside, units_of(x.shape)))

    return Work(1, 0.1 * count, bind)


def concat(call: Call) -> Work:
    """One input after the other."""
    return concat_some(call, range(len(call.shapes1)))


def concat_some(call: Call, chosen: Sequence[int]) -> Work:
    """CONCAT where only the chosen inputs have to be copied; the work gets no others."""
    axis, ends = call.axis, np.cumsum([shape[call.axis] for shape in call.shapes1])

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        out, loops = outputs[0], []
        for x, end in zip(inputs, (ends[i] for i in chosen), strict=True):
            region = (slice(None),) * axis + (slice(int(end) - x.shape[axis], int(end)),)
            loops.append((copy_loop(x, lambda x: x, out[region], out), units_of(x.shape)))
        return Chain(*loops)

    return Work(1, 0.1 * sum(types.count(call.shapes1[i]) for i in chosen), bind)


TYPES = ("bool", "i8", "i16", "i32", "fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32")
KERNELS = (
    {("CONCAT", t): Kernel(concat, some_inputs=concat_some) for t in TYPES}
    | {("PAD", t): Kernel(pad, ("padding", "pad_const")) for t in TYPES}
    | {("RESHAPE", t): Kernel(reshape, ("shape",), alias=True) for t in TYPES}
    | {("REVERSE", t): Kernel(reverse) for t in TYPES}
    | {("TILE", t): Kernel(tile, ("multiples",)) for t in TYPES}
    | {("SLICE", t): Kernel(slice_, ("start", "size")) for t in TYPES}
    | {("TRANSPOSE", t): Kernel(transpose) for t in TYPES}
)
