"""What the arguments of operators on shapes mean, for known arrays and for tensors alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ...errors import GraphError, Unsupported
from ...lower.problems import check_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .call import Call

MOST_BYTES: Final = 1 << 28


def bounded(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """A shape whose array fits the memory. Raises Unsupported, GraphError."""
    extents = tuple(int(extent) for extent in shape)
    if min(extents, default=0) < 0:
        raise GraphError(f"a result of shape {list(extents)}")
    if math.prod(extents) * itemsize > MOST_BYTES:
        raise Unsupported(f"a constant of shape {list(extents)} would be too large")
    return extents


def target_shape(call: Call, shape: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """The shape that Reshape makes: 0 keeps an extent, -1 is what is left. Raises GraphError."""
    zero = bool(call.attribute("allowzero", 0))
    if not zero and any(n == 0 and i >= len(shape) for i, n in enumerate(wanted)):
        raise GraphError(f"shape {list(shape)} can't become {list(wanted)}")
    extents = [shape[i] if n == 0 and not zero else n for i, n in enumerate(wanted)]
    if extents.count(-1) == 1:
        rest = math.prod(n for n in extents if n != -1)
        whole = math.prod(shape)
        extents[extents.index(-1)] = whole // rest if rest else 0
    if math.prod(extents) != math.prod(shape) or min(extents, default=0) < 0:
        raise GraphError(f"shape {list(shape)} can't become {list(wanted)}")
    return tuple(int(n) for n in extents)


def squeezed(call: Call, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape without axes of extent 1. Raises GraphError."""
    axes = call.integers_of("axes", 1)
    gone = [i for i, n in enumerate(shape) if n == 1] if axes is None else call.axes(axes, len(shape))
    if any(shape[i] != 1 for i in gone):
        raise GraphError(f"axes {axes} of shape {list(shape)} aren't all 1")
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def unsqueezed(call: Call, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape with new axes of extent 1. Raises GraphError."""
    axes = call.integers_of("axes", 1) or []
    rank = len(shape) + len(axes)
    check_rank(rank)
    new, old = call.axes(axes, rank), iter(shape)
    return tuple(1 if i in new else next(old) for i in range(rank))


def sections(call: Call, shape: Sequence[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Axes, first elements, steps and numbers of elements that Slice takes. Raises GraphError."""
    starts, ends = call.integers_of("starts", 1) or [], call.integers_of("ends", 2) or []
    axes = call.integers_of("axes", 3)
    steps = (call.integers(4, "'steps'") if call.has(4) else None) or [1] * len(starts)
    axes = list(range(len(starts))) if axes is None else [call.axis(axis, len(shape)) for axis in axes]
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise GraphError("starts, ends, axes and steps don't go together")
    ranges = [range(shape[a])[slice(s, e, t)] for a, s, e, t in zip(axes, starts, ends, steps, strict=True)]
    return axes, [r.start for r in ranges], steps, [len(r) for r in ranges]


def parts(call: Call, extent: int, outputs: int) -> list[int]:
    """The sizes that Split makes of an axis. Raises GraphError."""
    sizes = call.integers_of("split", 1)
    if sizes is None:
        count = call.attribute("num_outputs") or outputs
        size = -(-extent // count)
        sizes = [size] * (count - 1) + [extent - size * (count - 1)]
    if sum(sizes) != extent or min(sizes, default=0) < 0:
        raise GraphError(f"parts of {sizes} don't make an axis of {extent}")
    return sizes
