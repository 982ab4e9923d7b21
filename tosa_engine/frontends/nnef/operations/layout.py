"""Reductions and operations on shapes (sections 4.4 and 4.5)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from ....lower import layout, reductions
from ....lower.axes import joined
from ....lower.borders import CLEAR, padded
from ....lower.views import shape_of
from ....types import count
from .windows import border_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def reduce(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    """A normalized sum is a mean."""
    x = b.value(operation.arguments["input"], 1)
    axes = b.axes(operation.arguments["axes"], len(shape_of(x)))
    if operation.name == "mean_reduce" or operation.arguments.get("normalize"):
        return reductions.mean(b, x, axes)
    return reductions.reduced(b, op, x, axes)


def position(least: bool, b: NnefWriter, operation: Operation) -> Tensor:
    """argmax_reduce, argmin_reduce."""
    x = b.value(operation.arguments["input"], 1)
    axes = b.axes(operation.arguments["axes"], len(shape_of(x)))
    return reductions.place_of_extreme(b, x, axes, least=least)


def reshape(b: NnefWriter, operation: Operation) -> Tensor:
    x, wanted = b.value(operation.arguments["input"]), list(operation.arguments["shape"])
    old, start = shape_of(x), operation.arguments["axis_start"]
    stop = len(old) if operation.arguments["axis_count"] == -1 else start + operation.arguments["axis_count"]
    if not 0 <= start <= stop <= len(old):
        raise b.error(f"axes {start} to {stop} aren't a range of the {len(old)} axes")
    if min(wanted, default=0) < -1 or wanted.count(-1) > 1:
        raise b.error(f"shape {wanted} may hold -1 once, and no other negative number")
    for i, extent in enumerate(wanted):
        if extent == 0:
            if start + i >= stop:
                raise b.error(f"shape {wanted} inherits an extent that {list(old[start:stop])} doesn't have")
            wanted[i] = old[start + i]
    volume = count(old[start:stop])
    if -1 in wanted:
        known = count(tuple(n for n in wanted if n != -1))
        if volume % known:
            raise b.error(f"{volume} elements don't divide by {known}")
        wanted[wanted.index(-1)] = volume // known
    if count(tuple(wanted)) != volume:
        raise b.error(f"shape {list(old[start:stop])} can't become {wanted}")
    return b.reshape(x, (*old[:start], *wanted, *old[stop:]))


def squeeze(b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["input"])
    shape = shape_of(x)
    axes = b.axes(operation.arguments["axes"], len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise b.error(f"axes {list(axes)} of shape {list(shape)} aren't all 1")
    return b.reshape(x, tuple(n for axis, n in enumerate(shape) if axis not in axes))


def unsqueeze(b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["input"])
    shape = list(shape_of(x))
    for axis in sorted(b.axes(operation.arguments["axes"], len(shape) + len(operation.arguments["axes"]))):
        shape.insert(axis, 1)
    return b.reshape(x, tuple(shape))


def transpose(b: NnefWriter, operation: Operation) -> Tensor:
    x, axes = b.value(operation.arguments["input"]), operation.arguments["axes"]
    rank = len(shape_of(x))
    if len(axes) > rank or sorted(axes) != list(range(len(axes))):
        raise b.error(f"axes {list(axes)} aren't a permutation of the first of {rank} axes")
    return b.transpose(x, (*axes, *range(len(axes), rank)))


def split(b: NnefWriter, operation: Operation) -> list[Tensor]:
    x, ratios = b.value(operation.arguments["value"], 1), operation.arguments["ratios"]
    (axis,) = b.axes((operation.arguments["axis"],), len(shape_of(x)))
    extent = shape_of(x)[axis]
    if not ratios or min(ratios) < 1 or extent % sum(ratios):
        raise b.error(f"an extent of {extent} doesn't split in the ratios {list(ratios)}")
    _results(b, operation, len(ratios))
    return layout.split(b, x, axis, [ratio * (extent // sum(ratios)) for ratio in ratios])


def _results(b: NnefWriter, operation: Operation, wanted: int) -> None:
    if len(operation.results) != wanted:
        raise b.error(f"gives {wanted} tensors, but {len(operation.results)} are assigned")


def unstack(b: NnefWriter, operation: Operation) -> list[Tensor]:
    x = b.value(operation.arguments["value"], 1)
    shape = shape_of(x)
    (axis,) = b.axes((operation.arguments["axis"],), len(shape))
    _results(b, operation, shape[axis])
    return layout.unstacked(b, x, axis)


def concat(b: NnefWriter, operation: Operation) -> Tensor:
    tensors = [b.value(v, 1) for v in operation.arguments["values"]]
    shapes = [shape_of(t) for t in tensors]
    (axis,) = b.axes((operation.arguments["axis"],), len(shapes[0]))
    rests = {s[:axis] + (0,) + s[axis + 1 :] for s in shapes}
    if len(rests) > 1:
        raise b.error(f"shapes {', '.join(str(list(s)) for s in shapes)} differ outside of axis {axis}")
    return joined(b, tensors, axis)


def stack(b: NnefWriter, operation: Operation) -> Tensor:
    tensors = [b.value(v) for v in operation.arguments["values"]]
    shape = shape_of(tensors[0])
    if any(t.shape != shape for t in tensors):
        raise b.error(f"shapes {', '.join(str(list(shape_of(t))) for t in tensors)} aren't equal")
    (axis,) = b.axes((operation.arguments["axis"],), len(shape) + 1)
    return layout.stacked(b, tensors, axis)


def slice_(b: NnefWriter, operation: Operation) -> Tensor:
    """Negative strides go backwards. Extents are rounded up, as input[begin:end:stride] is (docs/errata.md)."""
    x = b.value(operation.arguments["input"], 1)
    axes, begin, end, stride = (operation.arguments[n] for n in ("axes", "begin", "end", "stride"))
    if not len(axes) == len(begin) == len(end) or len(stride) not in (0, len(axes)):
        raise b.error("'axes', 'begin', 'end' and 'stride' have different lengths")
    steps = stride or (1,) * len(axes)
    open_ended = all(step == 1 for step in steps)  # where an end of 0 is the axis' end
    if open_ended and 0 in end:
        b.warn("an end of 0 for the end of the axis is deprecated")
    for axis, first, last, step in zip(b.axes(axes, len(shape_of(x))), begin, end, steps, strict=True):
        extent = shape_of(x)[axis]
        if step == 0:
            raise b.error(f"stride {list(stride)} has a 0")
        low = min(max(first + extent if first < 0 else first, 0 if step > 0 else -1), extent)
        high = extent if last == 0 and open_ended else min(max(last + extent if last < 0 else last, -1), extent)
        size = -((low - high) // step) if step > 0 else -((high - low) // -step)
        start = low if step > 0 else low + (size - 1) * step
        if size < 1 or start < 0 or low >= extent:
            raise b.error(f"nothing is left of axis {axis}: begin {first}, end {last}, extent {extent}")
        x = layout.stepped(b, x, axis, low, step, size)
    return x


def pad(b: NnefWriter, operation: Operation) -> Tensor:
    x, padding = b.value(operation.arguments["input"], 1), operation.arguments["padding"]
    border = border_of(b, operation.arguments)
    if len(padding) != len(shape_of(x)):
        raise b.error(f"'padding' needs {len(shape_of(x))} items, got {len(padding)}")
    value = b.value(operation.arguments["value"], 1).data if border in CLEAR else np.zeros(1)
    assert value is not None
    return padded(b, x, padding, border, float(value[0]))


def tile(b: NnefWriter, operation: Operation) -> Tensor:
    x, repeats = b.value(operation.arguments["input"]), operation.arguments["repeats"]
    if len(repeats) != len(shape_of(x)) or min(repeats, default=1) < 1:
        raise b.error(f"'repeats' needs {len(shape_of(x))} positive items, got {list(repeats)}")
    return layout.tiled(b, x, repeats)


def gather(b: NnefWriter, operation: Operation) -> Tensor:
    x, indices = b.value(operation.arguments["input"], 1), b.value(operation.arguments["indices"])
    (axis,) = b.axes((operation.arguments["axis"],), len(shape_of(x)))
    return layout.gather(b, x, indices, axis)


MAPPERS: Final[Mapping[str, Mapper]] = {
    "sum_reduce": partial(reduce, "REDUCE_SUM"),
    "mean_reduce": partial(reduce, "REDUCE_SUM"),
    "max_reduce": partial(reduce, "REDUCE_MAX"),
    "min_reduce": partial(reduce, "REDUCE_MIN"),
    "all_reduce": partial(reduce, "REDUCE_ALL"),
    "any_reduce": partial(reduce, "REDUCE_ANY"),
    "argmax_reduce": partial(position, False),
    "argmin_reduce": partial(position, True),
    "reshape": reshape,
    "squeeze": squeeze,
    "unsqueeze": unsqueeze,
    "transpose": transpose,
    "split": split,
    "unstack": unstack,
    "concat": concat,
    "stack": stack,
    "slice": slice_,
    "pad": pad,
    "tile": tile,
    "gather": gather,
}
