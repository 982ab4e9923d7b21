"""Kernels that slide over space: which positions of input and output each kernel position brings together."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..spec.table import Call
    from ..types import Array
    from .requires import Requires

Region = tuple[slice, ...]


def inside(outputs: int, inputs: int, stride: int, offset: int) -> tuple[slice, slice]:
    """The output positions `o` for which o * stride + offset is an input position, and these input positions."""
    positions = [o for o in range(outputs) if 0 <= o * stride + offset < inputs]
    if not positions:
        return slice(0, 0), slice(0, 0)
    first, last = positions[0], positions[-1]
    return slice(first, last + 1), slice(first * stride + offset, last * stride + offset + 1, stride)


def taps(
    call: Call, kernel: tuple[int, ...], dilation: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Region, Region]]:
    """Kernel positions in order, each with the region of the output that it adds to and that of the input it reads.

    Positions are [ky, kx] or [kd, ky, kx], regions [N, y, x] or [N, d, y, x]; where a kernel position lies on padding,
    nothing is read and nothing is added.
    """
    inputs, outputs = call.shape_of("input")[1:-1], call.shape_of("output")[1:-1]
    for place in itertools.product(*map(range, kernel)):
        pairs = [
            inside(outputs[axis], inputs[axis], call.stride[axis], k * dilation[axis] - call.pad[2 * axis])
            for axis, k in enumerate(place)
        ]
        yield place, (slice(None), *(out for out, _ in pairs)), (slice(None), *(read for _, read in pairs))


def accumulate(
    acc: Array, region: Region, product: Array, call: Call, require: Requires, place: tuple[int, ...]
) -> None:
    """Add products to a region of the accumulators and test that these fit acc_t."""
    acc[region] += product
    if call.acc_t.is_int:
        names = ("kd", "ky", "kx")[-len(call.stride) :] + ("ic",)
        shown = ", ".join(f"{name} {k}" for name, k in zip(names, place, strict=False))
        kept = require.fits("R1", acc, call.acc_t, f"accumulator after {shown}", accumulator=True)
        if kept is not acc:
            acc[...] = kept
