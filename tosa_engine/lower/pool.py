"""Windows that sum, average, or find the largest of values, over any axes; windows are one for each axis.

Over two spatial axes averages and maxima are AVG_POOL2D and MAX_POOL2D. Sums and maxima are separable: over other axes
they are done one axis at a time, as pools or depthwise convolutions of a height.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import types
from .axes import FLAT, back, channels_last, channels_second, each_repeated, every, spread, three
from .borders import CLEAR, extended, extended_all
from .views import shape_of
from .windows import UNIT, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from .writer import Writer

LOWEST: Final = -math.inf


def max_pool(g: Writer, x: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    """The largest value of each window; with border 'ignore' of those that lie inside."""
    return _pool2d(g, "MAX_POOL2D", x, windows, border) if _is_2d(windows) else _maxima(g, x, windows, border)


def average_pool(g: Writer, x: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    """Sums over the volume; with border 'ignore' over the number of values that a window meets."""
    return _pool2d(g, "AVG_POOL2D", x, windows, border) if _is_2d(windows) else _mean(g, x, windows, border)


def sum_pool(g: Writer, x: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    """Window by window along each axis, as a depthwise convolution with ones."""
    for axis, w in enumerate(windows):
        if w.trivial:
            continue
        x = extended(g, x, axis, w.before, w.after, border)
        x = every(g, x, axis, 0, w.stride, w.output) if w.size == 1 else _sum_axis(g, x, axis, w)
    return x


def transposed_sum_pool(
    g: Writer, x: Tensor, windows: Sequence[Window], border: str, *, normalize: bool = False
) -> Tensor:
    """Every value to all places of its window, where they are added up; `normalize`: divided by the volume.

    Each axis: the element that an output meets where windows neither overlap nor leave gaps; else the sums of the
    input with zeros between its elements.
    """
    rank = len(shape_of(x))
    for axis, w in enumerate(windows):
        extent = shape_of(x)[axis]
        if w.trivial and w.output == extent:
            continue
        if (w.size, w.dilation, w.before, w.output) == (w.stride, 1, 0, extent * w.stride):
            x = each_repeated(g, x, axis, w.stride)
            continue
        low = max(0, -((w.before - w.reach + 1) // w.stride)) if border not in CLEAR else 0
        high = max(0, (w.output - 1 + w.before) // w.stride - (extent - 1)) if low or border not in CLEAR else 0
        wide = spread(g, extended(g, x, axis, low, high, border), axis, w.stride)
        before = w.reach - 1 - w.before - low * w.stride
        after = w.output + w.reach - 1 - before - shape_of(wide)[axis]
        x = sum_pool(g, wide, _only(axis, rank, replace(w, stride=1, before=before, after=after)), "constant")
    if normalize:
        x = g.binary("MUL", x, g.scalar(1.0 / math.prod(w.size for w in windows), rank=rank))
    return x


def _is_2d(windows: Sequence[Window]) -> bool:
    """Whether MAX_POOL2D and AVG_POOL2D have the windows: over [N, C, W] or [N, C, H, W], without dilation."""
    spatial = len(windows) in (3, 4) and all(w.trivial for w in windows[:2])
    return spatial and all(w.dilation == 1 or w.size == 1 for w in windows)


def _pool2d(g: Writer, op: str, x: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    """Border 'ignore' is TOSA's own padding, where it is less than the window; with others the border takes part."""
    shape = shape_of(x)
    cut = [w.cut() for w in windows]
    own = border == "ignore" and all(max(w.before, w.after) < w.size for w in windows)
    if border == "ignore" and not own:
        return _maxima(g, x, windows, border) if op == "MAX_POOL2D" else _mean(g, x, windows, border)
    x = extended_all(g, x, cut if own else windows, border)
    windows = [w.grown() if own else w.inside() for w in windows]
    flat = len(shape) == 3
    image = channels_last(g, g.reshape(x, (*shape[:2], 1, shape_of(x)[2])) if flat else x)
    vertical, horizontal = (UNIT, windows[2]) if flat else windows[2:]
    result = channels_second(g, _pooling(g, op, image, vertical, horizontal))
    return g.reshape(result, (*shape[:2], horizontal.output)) if flat else result


def _pooling(g: Writer, op: str, x: Tensor, vertical: Window, horizontal: Window) -> Tensor:
    shape, zero = shape_of(x), g.scalar(0.0)
    inputs = [x] if op == "MAX_POOL2D" else [x, zero, zero]
    last: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op == "MAX_POOL2D" else {"acc_type": types.fp32}
    return g.operator(
        op, inputs, (shape[0], vertical.output, horizontal.output, shape[3]),
        kernel=(vertical.size, horizontal.size), stride=(vertical.stride, horizontal.stride),
        pad=(vertical.before, vertical.after, horizontal.before, horizontal.after), **last,
    )  # fmt: skip


def _maxima(g: Writer, x: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    for axis, w in enumerate(windows):
        if w.trivial:
            continue
        x = extended(g, x, axis, w.before, w.after, border, LOWEST if border == "ignore" else 0.0)
        if w.size == 1:
            x = every(g, x, axis, 0, w.stride, w.output)
        elif w.dilation == 1:
            x = _pool_axis(g, x, axis, w)
        else:
            steps = [every(g, x, axis, j * w.dilation, w.stride, w.output) for j in range(w.size)]
            x = steps[0]
            for step in steps[1:]:
                x = g.binary("MAXIMUM", x, step)
    return x


def _pool_axis(g: Writer, x: Tensor, axis: int, w: Window) -> Tensor:
    before, extent, behind = shape_of(three(g, x, axis))
    image = g.reshape(x, (before, extent, 1, behind))
    return back(g, _pooling(g, "MAX_POOL2D", image, w.inside(), UNIT), x, axis)


def _sum_axis(g: Writer, x: Tensor, axis: int, w: Window) -> Tensor:
    before, extent, behind = shape_of(three(g, x, axis))
    image, zero = g.reshape(x, (before, extent, 1, behind)), g.scalar(0.0)
    ones = g.const(np.ones((w.size, 1, behind, 1), np.float32), types.fp32, "ones")
    how = {**FLAT, "stride": (w.stride, 1), "dilation": (w.dilation, 1)}
    total = g.operator("DEPTHWISE_CONV2D", [image, ones, zero, zero, zero], (before, w.output, 1, behind), **how)
    return back(g, total, x, axis)


def _mean(g: Writer, x: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    extents, rank = shape_of(x), len(shape_of(x))
    total = sum_pool(g, x, windows, border)
    if border != "ignore" or not any(w.padded for w in windows):
        return g.binary("MUL", total, g.scalar(1.0 / math.prod(w.size for w in windows), rank=rank))
    met = np.ones((1,) * rank)
    for axis, (extent, w) in enumerate(zip(extents, windows, strict=True)):
        at = np.arange(w.output)[:, None] * w.stride + np.arange(w.size) * w.dilation - w.before
        counts = ((at >= 0) & (at < extent)).sum(axis=1)
        met = met * counts.reshape([-1 if i == axis else 1 for i in range(rank)])
    return g.binary("MUL", total, g.const(1.0 / np.maximum(met, 1), types.fp32, "reciprocals"))


def _only(axis: int, rank: int, window: Window) -> list[Window]:
    return [window if i == axis else UNIT for i in range(rank)]
