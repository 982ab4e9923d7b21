"""Reductions and operations on shapes (sections 4.4 and 4.5)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ...types import count
from .map_window import MAX_CONCAT, border_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph import Tensor
    from .build import Builder
    from .document import Operation
    from .mapping import Mapper


def reduce(op: str, b: Builder, operation: Operation) -> Tensor:
    """REDUCE_SUM or REDUCE_MAX axis by axis; a normalized sum is the composite `mean`."""
    x = b.value(operation.arguments["input"], 1)
    axes = b.axes(operation.arguments["axes"], len(b.shape_of(x)))
    if axes and (operation.name == "mean_reduce" or operation.arguments.get("normalize")):
        return b.grouped("mean", x, axes=axes)
    for axis in axes:
        x = b.reduce(op, x, axis)
    return x


def reshape(b: Builder, operation: Operation) -> Tensor:
    x, wanted = b.value(operation.arguments["input"]), list(operation.arguments["shape"])
    old, start = b.shape_of(x), operation.arguments["axis_start"]
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


def squeeze(b: Builder, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["input"])
    shape = b.shape_of(x)
    axes = b.axes(operation.arguments["axes"], len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise b.error(f"axes {list(axes)} of shape {list(shape)} aren't all 1")
    return b.reshape(x, tuple(n for axis, n in enumerate(shape) if axis not in axes))


def unsqueeze(b: Builder, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["input"])
    shape = list(b.shape_of(x))
    for axis in sorted(b.axes(operation.arguments["axes"], len(shape) + len(operation.arguments["axes"]))):
        shape.insert(axis, 1)
    return b.reshape(x, tuple(shape))


def transpose(b: Builder, operation: Operation) -> Tensor:
    x, axes = b.value(operation.arguments["input"]), operation.arguments["axes"]
    rank = len(b.shape_of(x))
    if len(axes) > rank or sorted(axes) != list(range(len(axes))):
        raise b.error(f"axes {list(axes)} aren't a permutation of the first of {rank} axes")
    return b.transpose(x, (*axes, *range(len(axes), rank)))


def split(b: Builder, operation: Operation) -> list[Tensor]:
    x, ratios = b.value(operation.arguments["value"], 1), operation.arguments["ratios"]
    (axis,) = b.axes((operation.arguments["axis"],), len(b.shape_of(x)))
    extent = b.shape_of(x)[axis]
    if not ratios or min(ratios) < 1 or extent % sum(ratios):
        raise b.error(f"an extent of {extent} doesn't split in the ratios {list(ratios)}")
    _results(b, operation, len(ratios))
    unit, parts, start = extent // sum(ratios), [], 0
    for ratio in ratios:
        parts.append(b.section(x, axis, start, ratio * unit))
        start += ratio * unit
    return parts


def _results(b: Builder, operation: Operation, wanted: int) -> None:
    if len(operation.results) != wanted:
        raise b.error(f"gives {wanted} tensors, but {len(operation.results)} are assigned")


def unstack(b: Builder, operation: Operation) -> list[Tensor]:
    x = b.value(operation.arguments["value"], 1)
    shape = b.shape_of(x)
    (axis,) = b.axes((operation.arguments["axis"],), len(shape))
    _results(b, operation, shape[axis])
    rest = shape[:axis] + shape[axis + 1 :]
    return [b.reshape(b.section(x, axis, i, 1), rest) for i in range(shape[axis])]


def concat(b: Builder, operation: Operation) -> Tensor:
    tensors = [b.value(v, 1) for v in operation.arguments["values"]]
    shapes = [b.shape_of(t) for t in tensors]
    (axis,) = b.axes((operation.arguments["axis"],), len(shapes[0]))
    rests = {s[:axis] + (0,) + s[axis + 1 :] for s in shapes}
    if len(rests) > 1:
        raise b.error(f"shapes {', '.join(str(list(s)) for s in shapes)} differ outside of axis {axis}")
    while len(tensors) > 1:
        tensors = [b.concat(tensors[i : i + MAX_CONCAT], axis) for i in range(0, len(tensors), MAX_CONCAT)]
    return tensors[0]


def stack(b: Builder, operation: Operation) -> Tensor:
    tensors = [b.value(v) for v in operation.arguments["values"]]
    shape = b.shape_of(tensors[0])
    if any(t.shape != shape for t in tensors):
        raise b.error(f"shapes {', '.join(str(list(b.shape_of(t))) for t in tensors)} aren't equal")
    (axis,) = b.axes((operation.arguments["axis"],), len(shape) + 1)
    single = [b.reshape(t, (*shape[:axis], 1, *shape[axis:])) for t in tensors]
    while len(single) > 1:
        single = [b.concat(single[i : i + MAX_CONCAT], axis) for i in range(0, len(single), MAX_CONCAT)]
    return single[0]


def slice_(b: Builder, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["input"], 1)
    start, size = [0] * len(b.shape_of(x)), list(b.shape_of(x))
    axes, begin, end, stride = (operation.arguments[n] for n in ("axes", "begin", "end", "stride"))
    if not len(axes) == len(begin) == len(end) or len(stride) not in (0, len(axes)):
        raise b.error("'axes', 'begin', 'end' and 'stride' have different lengths")
    if any(s != 1 for s in stride):
        raise b.unsupported(f"stride {list(stride)}")
    for axis, first, last in zip(b.axes(axes, len(size)), begin, end, strict=True):
        extent = size[axis]
        low = min(max(first + extent if first < 0 else first, 0), extent)
        high = min(last + extent if last < 0 else last, extent) if last else extent  # 0: to the end
        if high <= low:
            raise b.error(f"nothing is left of axis {axis}: begin {first}, end {last}, extent {extent}")
        start[axis], size[axis] = low, high - low
    return b.slice(x, start, size)


def pad(b: Builder, operation: Operation) -> Tensor:
    x, padding = b.value(operation.arguments["input"], 1), operation.arguments["padding"]
    shape = b.shape_of(x)
    if len(padding) != len(shape):
        raise b.error(f"'padding' needs {len(shape)} items, got {len(padding)}")
    border_of(b, operation.arguments, any(n > 0 for pair in padding for n in pair), ("constant",))
    before, after = [p for p, _ in padding], [q for _, q in padding]
    size = [n + min(p, 0) + min(q, 0) for n, p, q in zip(shape, before, after, strict=True)]
    if min(size) < 1:
        raise b.error(f"padding {[list(p) for p in padding]} leaves nothing of shape {list(shape)}")
    value = b.value(operation.arguments["value"], 1)
    inner = b.slice(x, [max(-p, 0) for p in before], size)
    assert value.data is not None
    return b.pad(inner, [max(p, 0) for p in before], [max(q, 0) for q in after], float(value.data[0]))


MAPPERS: Final[Mapping[str, Mapper]] = {
    "sum_reduce": partial(reduce, "REDUCE_SUM"),
    "mean_reduce": partial(reduce, "REDUCE_SUM"),
    "max_reduce": partial(reduce, "REDUCE_MAX"),
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
}
