"""Kernels of the data layout operators: strided copies by numpy.

They are bound by memory, numpy copies without the GIL, and nothing has to be compiled. Work is split along the first
axis of the output that is longer than 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .work import DONE, Kernel, Work, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..types import Array, Shape
    from .work import Run


def strip(shape: Shape) -> int:
    """The number of leading axes of size 1, always leaving one axis where there is one."""
    lead = 0
    while lead < len(shape) - 1 and shape[lead] == 1:
        lead += 1
    return lead


def copy_work(shape: Shape, source: Callable[[Sequence[Array]], Array]) -> Work:
    """Copy a view of the inputs (of shape `shape`) to the output."""
    lead = strip(shape)
    units = shape[lead] if shape else 1

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        # np.atleast_1d and the reshapes below only make views: they split no axis and merge none
        view = np.atleast_1d(source(inputs))[(0,) * lead]
        out = np.atleast_1d(outputs[0])[(0,) * lead]

        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            np.copyto(out[low:high], view[low:high])
            return DONE

        return run

    return Work(units, 1.0 * float(np.prod(shape, dtype=np.float64)), bind)


def reshape(call: Call) -> Work:
    shape = call.shape_of("output")
    return copy_work(shape, lambda inputs: inputs[0].reshape(shape))


def transpose(call: Call) -> Work:
    return copy_work(call.shape_of("output"), lambda inputs: inputs[0].transpose(call.perms))


def reverse(call: Call) -> Work:
    backwards = (slice(None),) * call.axis + (slice(None, None, -1),)
    return copy_work(call.shape_of("output"), lambda inputs: inputs[0][backwards])


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
    work = copy_work(tuple(parts), lambda inputs: np.broadcast_to(inputs[0].reshape(sizes), parts))
    return Work(work.units, work.cost, lambda inputs, outputs: work.bind(inputs, [outputs[0].reshape(parts)]))


def slice_(call: Call) -> Work:
    start, size = constant(call, "start"), constant(call, "size")
    region = tuple(slice(int(a), int(a) + int(n)) for a, n in zip(start, size, strict=True))
    return copy_work(call.shape_of("output"), lambda inputs: inputs[0][region])


def pad(call: Call) -> Work:
    """The padding's value first, then the input inside it; one unit, since the two overlap."""
    padding = [int(v) for v in constant(call, "padding")]
    region = tuple(slice(before, before + size) for before, size in zip(padding[::2], call.shape1, strict=True))
    value = constant(call, "pad_const").reshape(-1)[0]

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            outputs[0][...] = value
            outputs[0][region] = inputs[0]
            return DONE

        return run

    return Work(1, 0.5 * float(np.prod(call.shape_of("output"), dtype=np.float64)), bind)


def concat(call: Call) -> Work:
    """A unit is one of the inputs."""
    axis, sizes = call.axis, [shape[call.axis] for shape in call.shapes1]
    ends = np.cumsum(sizes)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            for i in range(low, high):
                region = (slice(None),) * axis + (slice(int(ends[i]) - sizes[i], int(ends[i])),)
                outputs[0][region] = inputs[i]
            return DONE

        return run

    return Work(len(sizes), 0.5 * float(np.prod(call.shape_of("output"), dtype=np.float64)), bind)


TYPES = ("bool", "i8", "i16", "i32", "fp32")
KERNELS = (
    {("CONCAT", t): Kernel(concat) for t in TYPES}
    | {("PAD", t): Kernel(pad, ("padding", "pad_const")) for t in TYPES}
    | {("RESHAPE", t): Kernel(reshape, ("shape",), alias=True) for t in TYPES}
    | {("REVERSE", t): Kernel(reverse) for t in TYPES}
    | {("TILE", t): Kernel(tile, ("multiples",)) for t in TYPES}
    | {("SLICE", t): Kernel(slice_, ("start", "size")) for t in TYPES}
    | {("TRANSPOSE", t): Kernel(transpose) for t in TYPES}
)
