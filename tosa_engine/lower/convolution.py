"""Convolution and transposed convolution with one, two or three spatial axes, in any number of groups.

Tensors are [N, C, spatial axes ...], filters [outputs, inputs of a group, ...], those of transposed convolutions
[inputs, outputs of a group, ...], a bias is [outputs] or [1]. TOSA wants channels last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..types import count
from .axes import channels_last, channels_second, joined, reversed_, spread
from .borders import extended, extended_all
from .linear import sums_of
from .problems import Misfit, Unlowered
from .views import shape_of
from .windows import UNIT, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..graph import Tensor
    from .writer import Writer

    Convolve = Callable[[Tensor, Tensor, Tensor, int], Tensor]

MOST_SPATIAL: Final = 3


def check_ranks(x: Tensor, weight: Tensor) -> None:
    """Raises Misfit, or Unlowered for more than three spatial axes."""
    rank = len(shape_of(x))
    message = f"input of shape {list(shape_of(x))} and filter of shape {list(shape_of(weight))}"
    if rank != len(shape_of(weight)):
        raise Misfit(message)
    if not 3 <= rank <= 2 + MOST_SPATIAL:
        raise Unlowered(f"{message}; one to three spatial axes are supported")


def check_groups(x: Tensor, weight: Tensor, groups: int, *, transposed: bool = False) -> None:
    """Raises Misfit where the channels of `x` and the filter don't make `groups` groups."""
    channels, (outer, inner) = shape_of(x)[1], shape_of(weight)[:2]
    fits = groups > 0 and outer % groups == 0 and (outer if transposed else inner * groups) == channels
    if not fits:
        filters = list(shape_of(weight))
        raise Misfit(f"filter of shape {filters} doesn't fit {channels} channels in {groups} groups")


def convolution(
    g: Writer,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    windows: Sequence[Window],
    groups: int = 1,
    border: str = "constant",
    zero_points: Sequence[Tensor] = (),
) -> Tensor:
    """CONV2D or CONV3D; DEPTHWISE_CONV2D when each group has one input channel; else one convolution per group.

    `zero_points` of input and filter: 0 unless they are given.
    """
    if border != "constant" or any(min(window.before, window.after) < 0 for window in windows):
        cut = [window if border != "constant" else window.cut() for window in windows]
        x = extended_all(g, x, cut, border, first=2)
        windows = [window.inside() if border != "constant" else window.grown() for window in windows]
    rank, channels = len(shape_of(x)), shape_of(x)[1]
    image, kernel = channels_last(g, _with_height(g, x)), _with_height(g, weight)
    flat = [UNIT, *windows] if rank == 3 else list(windows)
    if groups > 1 and groups == channels and rank < 5:
        result = _depthwise(g, image, kernel, bias, flat, zero_points)
    else:
        result = _groups(g, image, channels_last(g, kernel), bias, flat, groups, zero_points)
    result = channels_second(g, result)
    return result if rank > 3 else g.reshape(result, (*shape_of(result)[:2], windows[0].output))


def transposed_convolution(
    g: Writer,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    windows: Sequence[Window],
    groups: int = 1,
    border: str = "constant",
) -> Tensor:
    """TRANSPOSE_CONV2D where it fits; else a convolution of the input with zeros in between, by the turned filter."""
    if border != "constant":
        x, windows = _with_border(g, x, windows, border)
    if groups == 1 and len(windows) == 2 and all(_transposable(window) for window in windows):
        return _transpose_conv2d(g, x, weight, bias, windows)
    return _by_convolution(g, x, weight, bias, windows, groups)


def _with_height(g: Writer, x: Tensor) -> Tensor:
    """One spatial axis becomes two."""
    shape = shape_of(x)
    return g.reshape(x, (*shape[:2], 1, *shape[2:])) if len(shape) == 3 else x


def _operator(
    g: Writer,
    op: str,
    tensors: Sequence[Tensor],
    channels: int,
    windows: Sequence[Window],
    zero_points: Sequence[Tensor] = (),
) -> Tensor:
    zeros = zero_points or [g.scalar(0, tensor.dtype) for tensor in tensors[:2]]
    shape = (shape_of(tensors[0])[0], *(w.output for w in windows), channels)
    output, accumulator = sums_of(tensors[0])
    return g.operator(
        op, [*tensors, *zeros], shape, output,
        pad=tuple(n for w in windows for n in (w.before, w.after)), stride=tuple(w.stride for w in windows),
        dilation=tuple(w.dilation for w in windows), acc_type=accumulator, local_bound=False,
    )  # fmt: skip


def _depthwise(
    g: Writer,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    windows: Sequence[Window],
    zero_points: Sequence[Tensor],
) -> Tensor:
    """`weight` is [channels * multiplier, 1, height, width]."""
    outputs, _, height, width = shape_of(weight)
    channels = shape_of(x)[3]
    last = g.transpose(weight, (2, 3, 0, 1))
    tensors = [x, g.reshape(last, (height, width, channels, outputs // channels)), bias]
    return _operator(g, "DEPTHWISE_CONV2D", tensors, outputs, windows, zero_points)


def _groups(
    g: Writer,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    windows: Sequence[Window],
    groups: int,
    zero_points: Sequence[Tensor],
) -> Tensor:
    """`x` and `weight` have their channels last."""
    op = "CONV2D" if len(windows) == 2 else "CONV3D"
    outputs = shape_of(weight)[0] // groups

    def convolve(part: Tensor, kernel: Tensor, share: Tensor, channels: int) -> Tensor:
        return _operator(g, op, [part, kernel, share], channels, windows, zero_points)

    return _in_groups(g, x, weight, bias, groups, outputs, convolve)


def _in_groups(
    g: Writer, x: Tensor, weight: Tensor, bias: Tensor, groups: int, outputs: int, convolve: Convolve
) -> Tensor:
    """Each group's input channels (the last axis of `x`) with its part of the first axis of `weight`."""
    if groups == 1:
        return convolve(x, weight, bias, outputs)
    last = len(shape_of(x)) - 1
    inputs, kernels = shape_of(x)[last] // groups, shape_of(weight)[0] // groups
    parts = []
    for group in range(groups):
        share = bias if shape_of(bias) == (1,) else g.section(bias, 0, group * outputs, outputs)
        part = g.section(x, last, group * inputs, inputs)
        parts.append(convolve(part, g.section(weight, 0, group * kernels, kernels), share, outputs))
    return joined(g, parts, last)


def _with_border(g: Writer, x: Tensor, windows: Sequence[Window], border: str) -> tuple[Tensor, list[Window]]:
    """The input with all border values that a window meets, and windows over it."""
    found = []
    for axis, w in enumerate(windows, 2):
        extent = shape_of(x)[axis]
        before = max(0, -((w.before - w.reach + 1) // w.stride))
        after = max(0, (w.output - 1 + w.before) // w.stride - (extent - 1))
        x = extended(g, x, axis, before, after, border)
        more = w.before + before * w.stride
        total = (extent + before + after - 1) * w.stride + w.reach
        found.append(Window(w.size, w.stride, w.dilation, more, total - more - w.output, w.output))
    return x, found


def _transposable(w: Window) -> bool:
    """Whether TRANSPOSE_CONV2D has the window: out_pad must be more than minus the size, on both sides."""
    return w.dilation == 1 and w.before < w.size and w.stride > 0


def _transpose_conv2d(g: Writer, x: Tensor, weight: Tensor, bias: Tensor, windows: Sequence[Window]) -> Tensor:
    """`weight` is [inputs, outputs, height, width]."""
    image, kernel = channels_last(g, x), g.transpose(weight, (1, 2, 3, 0))
    shape, zero = shape_of(image), g.scalar(0, x.dtype)
    output, accumulator = sums_of(x)
    pads = []
    for w, extent in zip(windows, shape[1:3], strict=True):
        pads += [-w.before, w.output - ((extent - 1) * w.stride + w.size - w.before)]
    if any(pad <= -w.size for pad, w in zip(pads[1::2], windows, strict=True)):
        return _by_convolution(g, x, weight, bias, windows, 1)
    result = g.operator(
        "TRANSPOSE_CONV2D", [image, kernel, bias, zero, zero],
        (shape[0], *(w.output for w in windows), shape_of(kernel)[0]), output,
        out_pad=tuple(pads), stride=tuple(w.stride for w in windows), acc_type=accumulator, local_bound=False,
    )  # fmt: skip
    return channels_second(g, result)


def _by_convolution(
    g: Writer, x: Tensor, weight: Tensor, bias: Tensor, windows: Sequence[Window], groups: int
) -> Tensor:
    """output[i] = sum over j of u[i + p - j * d] * filter[j]; u is the input with stride - 1 zeros between elements."""
    over = []
    for axis, w in enumerate(windows, 2):
        x = spread(g, x, axis, w.stride)
        weight = reversed_(g, weight, axis)
        before = w.reach - 1 - w.before
        after = w.output + w.reach - 1 - before - shape_of(x)[axis]
        over.append(Window(w.size, 1, w.dilation, before, after, w.output))
    return convolution(g, x, swapped(g, weight, groups), bias, over, groups, "constant")


def swapped(g: Writer, weight: Tensor, groups: int) -> Tensor:
    """[inputs, outputs of a group, ...] as [outputs, inputs of a group, ...]."""
    inputs, outputs, *rest = shape_of(weight)
    split = g.reshape(weight, (groups, inputs // groups, outputs, count(tuple(rest))))
    turned = g.transpose(split, (0, 2, 1, 3))
    return g.reshape(turned, (groups * outputs, inputs // groups, *rest))
