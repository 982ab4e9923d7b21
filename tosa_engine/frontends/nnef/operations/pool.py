"""Windows that sum, average, find or place values (sections 4.3.2, 4.3.3 and 4.9.3), over any axes.

Over two spatial axes averages and maxima are AVG_POOL2D and MAX_POOL2D. Sums and maxima are separable: over other axes
they are done one axis at a time, as pools or depthwise convolutions of a height. What isn't separable (positions of
maxima) works on all windows at once, one tensor for each position in the window.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....types import count
from .along import FLAT, each_repeated, every, extended, extended_all, joined, part, spread, three
from .convolution import to_last, to_second
from .elementary import chosen, compared, number
from .spans import UNIT, Span, border_of, reverse_spans, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ....graph import Tensor
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper

MOST_POSITIONS: Final = 1024  # of one window
LOWEST: Final = -math.inf


def pool(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    """MAX_POOL2D or AVG_POOL2D: max_pool, avg_pool, and box where it divides by the volume."""
    arguments = operation.arguments
    x = b.value(arguments["input"], 1)
    windows = spans(b, b.shape_of(x), arguments["size"], arguments)
    border = border_of(b, arguments)
    spatial = len(windows) in (3, 4) and all(w.trivial for w in windows[:2])
    if spatial and all(w.dilation == 1 or w.size == 1 for w in windows):
        return _pool2d(b, op, x, windows, border)
    if op == "MAX_POOL2D":
        return _maxima(b, x, windows, border)
    return _mean(b, x, windows, border)


def _pool2d(b: NnefWriter, op: str, x: Tensor, windows: Sequence[Span], border: str) -> Tensor:
    """Border 'ignore' is TOSA's own padding, where it is less than the window; with others the border takes part."""
    shape = b.shape_of(x)
    cut = [replace(w, before=min(w.before, 0), after=min(w.after, 0)) for w in windows]
    own = border == "ignore" and all(max(w.before, w.after) < w.size for w in windows)
    if border == "ignore" and not own:
        return _maxima(b, x, windows, border) if op == "MAX_POOL2D" else _mean(b, x, windows, border)
    x = extended_all(b, x, cut if own else windows, border)
    windows = [replace(w, before=max(w.before, 0) * own, after=max(w.after, 0) * own) for w in windows]
    flat = len(shape) == 3
    image = to_last(b, b.reshape(x, (*shape[:2], 1, b.shape_of(x)[2])) if flat else x)
    vertical, horizontal = (UNIT, windows[2]) if flat else windows[2:]
    result = to_second(b, _pooling(b, op, image, vertical, horizontal))
    return b.reshape(result, (*shape[:2], horizontal.output)) if flat else result


def _pooling(b: NnefWriter, op: str, x: Tensor, vertical: Span, horizontal: Span) -> Tensor:
    shape, zero = b.shape_of(x), b.scalar(0.0)
    inputs = [x] if op == "MAX_POOL2D" else [x, zero, zero]
    last: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op == "MAX_POOL2D" else {"acc_type": types.fp32}
    return b.operator(
        op, inputs, (shape[0], vertical.output, horizontal.output, shape[3]),
        kernel=(vertical.size, horizontal.size), stride=(vertical.stride, horizontal.stride),
        pad=(vertical.before, vertical.after, horizontal.before, horizontal.after), **last,
    )  # fmt: skip


# one axis at a time


def _maxima(b: NnefWriter, x: Tensor, windows: Sequence[Span], border: str) -> Tensor:
    for axis, w in enumerate(windows):
        if w.trivial:
            continue
        x = extended(b, x, axis, w.before, w.after, border, LOWEST if border == "ignore" else 0.0)
        if w.size == 1:
            x = every(b, x, axis, 0, w.stride, w.output)
        elif w.dilation == 1:
            x = _pool_axis(b, x, axis, w)
        else:
            steps = [every(b, x, axis, j * w.dilation, w.stride, w.output) for j in range(w.size)]
            x = steps[0]
            for step in steps[1:]:
                x = b.binary("MAXIMUM", x, step)
    return x


def _pool_axis(b: NnefWriter, x: Tensor, axis: int, w: Span) -> Tensor:
    before, extent, behind = b.shape_of(three(b, x, axis))
    image = b.reshape(x, (before, extent, 1, behind))
    return _back(b, _pooling(b, "MAX_POOL2D", image, replace(w, before=0, after=0), UNIT), x, axis)


def _back(b: NnefWriter, image: Tensor, like: Tensor, axis: int) -> Tensor:
    shape = list(b.shape_of(like))
    shape[axis] = b.shape_of(image)[1]
    return b.reshape(image, shape)


def _sums(b: NnefWriter, x: Tensor, windows: Sequence[Span], border: str) -> Tensor:
    """Window by window along each axis, as a depthwise convolution with ones."""
    for axis, w in enumerate(windows):
        if w.trivial:
            continue
        x = extended(b, x, axis, w.before, w.after, border)
        x = every(b, x, axis, 0, w.stride, w.output) if w.size == 1 else _sum_axis(b, x, axis, w)
    return x


def _sum_axis(b: NnefWriter, x: Tensor, axis: int, w: Span) -> Tensor:
    before, extent, behind = b.shape_of(three(b, x, axis))
    image, zero = b.reshape(x, (before, extent, 1, behind)), b.scalar(0.0)
    ones = b.const(np.ones((w.size, 1, behind, 1), np.float32), types.fp32, "ones")
    how = {**FLAT, "stride": (w.stride, 1), "dilation": (w.dilation, 1)}
    total = b.operator("DEPTHWISE_CONV2D", [image, ones, zero, zero, zero], (before, w.output, 1, behind), **how)
    return _back(b, total, x, axis)


def _mean(b: NnefWriter, x: Tensor, windows: Sequence[Span], border: str) -> Tensor:
    """Sums over the volume; with border 'ignore' over the number of values that a window meets."""
    extents, rank = b.shape_of(x), len(b.shape_of(x))
    total = _sums(b, x, windows, border)
    if border != "ignore" or not any(w.padded for w in windows):
        return b.binary("MUL", total, b.scalar(1.0 / math.prod(w.size for w in windows), rank=rank))
    met = np.ones((1,) * rank)
    for axis, (extent, w) in enumerate(zip(extents, windows, strict=True)):
        at = np.arange(w.output)[:, None] * w.stride + np.arange(w.size) * w.dilation - w.before
        counts = ((at >= 0) & (at < extent)).sum(axis=1)
        met = met * counts.reshape([-1 if i == axis else 1 for i in range(rank)])
    return b.binary("MUL", total, b.const(1.0 / np.maximum(met, 1), types.fp32, "reciprocals"))


def box(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    if arguments["normalize"]:
        return pool("AVG_POOL2D", b, operation)
    x = b.value(arguments["input"], 1)
    return _sums(b, x, spans(b, b.shape_of(x), arguments["size"], arguments), border_of(b, arguments))


def debox(b: NnefWriter, operation: Operation) -> Tensor:
    """Each axis: the element that an output meets where windows neither overlap nor leave gaps; else the sums of the
    input with zeros between its elements.
    """
    arguments = operation.arguments
    x = b.value(arguments["input"], 1)
    shape, wanted = b.shape_of(x), arguments["output_shape"]
    if len(wanted) not in (0, len(shape)):
        raise b.error(f"'output_shape' needs {len(shape)} items or none, got {len(wanted)}")
    windows = reverse_spans(b, shape, arguments["size"], arguments, wanted)
    border = border_of(b, arguments)
    for axis, w in enumerate(windows):
        extent = b.shape_of(x)[axis]
        if w.trivial and w.output == extent:
            continue
        if (w.size, w.dilation, w.before, w.output) == (w.stride, 1, 0, extent * w.stride):
            x = each_repeated(b, x, axis, w.stride)
            continue
        low = max(0, -((w.before - w.reach + 1) // w.stride)) if border not in ("constant", "ignore") else 0
        high = max(0, (w.output - 1 + w.before) // w.stride - (extent - 1)) if low or border not in CLEAR else 0
        wide = spread(b, extended(b, x, axis, low, high, border), axis, w.stride)
        before = w.reach - 1 - w.before - low * w.stride
        after = w.output + w.reach - 1 - before - b.shape_of(wide)[axis]
        x = _sums(b, wide, _only(axis, len(shape), replace(w, stride=1, before=before, after=after)), "constant")
    if arguments["normalize"]:
        x = b.binary("MUL", x, b.scalar(1.0 / math.prod(w.size for w in windows), rank=len(shape)))
    return x


CLEAR: Final = ("constant", "ignore")


def _only(axis: int, rank: int, window: Span) -> list[Span]:
    return [window if i == axis else UNIT for i in range(rank)]


# positions in the window


def _positions(b: NnefWriter, x: Tensor, windows: Sequence[Span]) -> Iterator[Tensor]:
    """Of each position in the window, in row-major order, the values of all windows there; `x` has its borders."""
    if math.prod(w.size for w in windows) > MOST_POSITIONS:
        raise b.unsupported(f"a window of {math.prod(w.size for w in windows)} elements; at most {MOST_POSITIONS}")
    for place in itertools.product(*(range(w.size) for w in windows)):
        found = x
        for axis, (j, w) in enumerate(zip(place, windows, strict=True)):
            found = every(b, found, axis, j * w.dilation, w.stride, w.output)
        yield found


def argmax_pool(b: NnefWriter, operation: Operation) -> Tensor:
    """ARGMAX over the positions: the first of equal maxima."""
    arguments = operation.arguments
    x = b.value(arguments["input"], 1)
    windows = spans(b, b.shape_of(x), arguments["size"], arguments)
    border = border_of(b, arguments)
    wide = extended_all(b, x, windows, border, LOWEST if border == "ignore" else 0.0)
    rows = [b.reshape(p, (1, count(b.shape_of(p)))) for p in _positions(b, wide, windows)]
    shape = tuple(w.output for w in windows)
    together = joined(b, rows, 0)
    found = b.operator("ARGMAX", [together], (count(shape),), types.i32, axis=0, nan_mode="PROPAGATE")
    return b.reshape(found, shape)


def _at(b: NnefWriter, index: Tensor, position: int, value: Tensor) -> Tensor:
    """`value` where the index is the position, else 0."""
    same = compared(b, "EQUAL", index, number(b, position, index))
    return chosen(b, same, value, number(b, 0.0, value))


def sample(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    x, index = b.value(arguments["input"], 1), b.value(arguments["index"], 1)
    windows = spans(b, b.shape_of(x), arguments["size"], arguments)
    border = border_of(b, arguments)
    if b.shape_of(index) != tuple(w.output for w in windows):
        raise b.error(f"'index' of shape {list(b.shape_of(index))}, wanted {[w.output for w in windows]}")
    total = None
    for position, values in enumerate(_positions(b, extended_all(b, x, windows, border), windows)):
        term = _at(b, index, position, values)
        total = term if total is None else b.within(b.binary("ADD", total, term), x)  # one term isn't 0
    assert total is not None
    return total


def desample(b: NnefWriter, operation: Operation) -> Tensor:
    """Each position's values, with zeros in between, at their place among the outputs; what overlaps is added up."""
    arguments = operation.arguments
    x, index = b.value(arguments["input"], 1), b.value(arguments["index"], 1)
    shape, wanted = b.shape_of(x), arguments["output_shape"]
    border_of(b, arguments)
    if b.shape_of(index) != shape:
        raise b.error(f"'index' of shape {list(b.shape_of(index))}, wanted {list(shape)}")
    windows = reverse_spans(b, shape, arguments["size"], arguments, wanted)
    if math.prod(w.size for w in windows) > MOST_POSITIONS:
        raise b.unsupported(f"a window of {math.prod(w.size for w in windows)} elements; at most {MOST_POSITIONS}")
    total, apart = None, all(w.stride > (w.size - 1) * w.dilation for w in windows)
    for position, place in enumerate(itertools.product(*(range(w.size) for w in windows))):
        term = _at(b, index, position, x)
        for axis, (j, w) in enumerate(zip(place, windows, strict=True)):
            term = _placed(b, spread(b, term, axis, w.stride), axis, j * w.dilation - w.before, w.output)
        total = term if total is None else b.binary("ADD", total, term)
        total = b.within(total, x) if apart else total  # where windows don't overlap, one term isn't 0
    assert total is not None
    return total


def _placed(b: NnefWriter, x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """The axis at `start` of an axis of `size` zeros; what lies outside is cut off."""
    extent = b.shape_of(x)[axis]
    first, end = max(0, -start), min(extent, size - start)
    if end <= first:
        zeros = list(b.shape_of(x))
        zeros[axis] = size
        return b.const(np.zeros(zeros), x.dtype, "zeros")
    inside = part(b, x, axis, first, end - first)
    at = start + first
    return extended(b, inside, axis, at, size - at - (end - first), "constant")


def max_pool_with_index(b: NnefWriter, operation: Operation) -> list[Tensor]:
    return [pool("MAX_POOL2D", b, operation), argmax_pool(b, operation)]


MAPPERS: Final[Mapping[str, Mapper]] = {
    "max_pool": partial(pool, "MAX_POOL2D"),
    "avg_pool": partial(pool, "AVG_POOL2D"),
    "box": box,
    "debox": debox,
    "argmax_pool": argmax_pool,
    "sample": sample,
    "desample": desample,
    "max_pool_with_index": max_pool_with_index,
}
