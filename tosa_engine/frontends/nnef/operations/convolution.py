"""Convolution and deconvolution (section 4.3.1) with one, two or three spatial axes. TOSA wants NHWC (NDHWC)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from .along import MAX_CONCAT, extended, extended_all, reversed_, spread
from .linear import bias_of
from .spans import FILLED, UNIT, Span, border_of, reverse_spans, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper

    Convolve = Callable[[Tensor, Tensor, Tensor, int], Tensor]

MOST_SPATIAL: Final = 3


def to_last(b: NnefWriter, x: Tensor) -> Tensor:
    """Channels from axis 1 to the end."""
    rank = len(b.shape_of(x))
    return b.transpose(x, (0, *range(2, rank), 1))


def to_second(b: NnefWriter, x: Tensor) -> Tensor:
    """Channels from the end to axis 1."""
    rank = len(b.shape_of(x))
    return b.transpose(x, (0, rank - 1, *range(1, rank - 1)))


def conv(b: NnefWriter, operation: Operation) -> Tensor:
    """CONV2D or CONV3D; DEPTHWISE_CONV2D when each group has one input channel; else one convolution per group."""
    arguments = operation.arguments
    x, weight = _operands(b, arguments)
    shape, filter_shape = b.shape_of(x), b.shape_of(weight)
    groups = arguments["groups"] or shape[1]
    if groups < 0 or filter_shape[0] % groups or filter_shape[1] * groups != shape[1]:
        message = f"filter of shape {list(filter_shape)} doesn't fit {shape[1]} channels in {groups} groups"
        raise b.error(message)
    windows = spans(b, shape[2:], filter_shape[2:], arguments)
    border = border_of(b, arguments, FILLED)
    bias = _bias(b, arguments, filter_shape[0], len(shape), weight)
    return _convolved(b, x, weight, bias, windows, groups, border)


def deconv(b: NnefWriter, operation: Operation) -> Tensor:
    """TRANSPOSE_CONV2D where it fits; else a convolution of the input with zeros in between, by the turned filter."""
    arguments = operation.arguments
    x, weight = _operands(b, arguments)
    shape, filter_shape, wanted = b.shape_of(x), b.shape_of(weight), arguments["output_shape"]
    groups = arguments["groups"] or (wanted[1] if wanted else shape[1])
    if groups < 1 or filter_shape[0] % groups or filter_shape[0] != shape[1]:
        message = f"filter of shape {list(filter_shape)} doesn't fit {shape[1]} channels in {groups} groups"
        raise b.error(message)
    channels = filter_shape[1] * groups
    if wanted and (len(wanted) != len(shape) or tuple(wanted[:2]) != (shape[0], channels)):
        raise b.error(f"'output_shape' {list(wanted)} doesn't fit batch {shape[0]} and {channels} channels")
    windows = reverse_spans(b, shape[2:], filter_shape[2:], arguments, wanted[2:])
    border = border_of(b, arguments, FILLED)
    bias = _bias(b, arguments, channels, len(shape), weight)
    if border != "constant":
        x, windows = _with_border(b, x, windows, border)
    if groups == 1 and len(windows) == 2 and all(_transposable(window) for window in windows):
        return _transpose_conv2d(b, x, weight, bias, windows)
    return _by_convolution(b, x, weight, bias, windows, groups)


def _operands(b: NnefWriter, arguments: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    x, weight = b.value(arguments["input"]), b.value(arguments["filter"])
    rank = len(b.shape_of(x))
    message = f"input of shape {list(b.shape_of(x))} and filter of shape {list(b.shape_of(weight))}"
    if rank != len(b.shape_of(weight)):
        raise b.error(message)
    if not 3 <= rank <= 2 + MOST_SPATIAL:
        raise b.unsupported(f"{message}; one to three spatial axes are supported")
    return x, weight


def _bias(b: NnefWriter, arguments: Mapping[str, Any], outputs: int, rank: int, weight: Tensor) -> Tensor:
    return bias_of(b, arguments["bias"], outputs, axis=1, rank=rank, constant=weight.data is not None)


def _convolved(
    b: NnefWriter, x: Tensor, weight: Tensor, bias: Tensor, windows: Sequence[Span], groups: int, border: str
) -> Tensor:
    """The convolution of NCHW `x` with a filter [outputs, inputs of a group, ...]."""
    if border != "constant" or any(min(w.before, w.after) < 0 for w in windows):
        cut = [w if border != "constant" else _negative(w) for w in windows]
        x = extended_all(b, x, cut, border, first=2)
        windows = [_inside(w) if border != "constant" else _positive(w) for w in windows]
    rank, channels = len(b.shape_of(x)), b.shape_of(x)[1]
    image, kernel = to_last(b, _with_height(b, x)), _with_height(b, weight)
    flat = [UNIT, *windows] if rank == 3 else list(windows)
    if groups > 1 and groups == channels and rank < 5:
        result = _depthwise(b, image, kernel, bias, flat)
    else:
        result = _groups(b, image, to_last(b, kernel), bias, flat, groups)
    result = to_second(b, result)
    return result if rank > 3 else b.reshape(result, (*b.shape_of(result)[:2], windows[0].output))


def _with_height(b: NnefWriter, x: Tensor) -> Tensor:
    """One spatial axis becomes two."""
    shape = b.shape_of(x)
    return b.reshape(x, (*shape[:2], 1, *shape[2:])) if len(shape) == 3 else x


def _negative(w: Span) -> Span:
    return Span(w.size, w.stride, w.dilation, min(w.before, 0), min(w.after, 0), w.output)


def _positive(w: Span) -> Span:
    return Span(w.size, w.stride, w.dilation, max(w.before, 0), max(w.after, 0), w.output)


def _inside(w: Span) -> Span:
    return Span(w.size, w.stride, w.dilation, 0, 0, w.output)


def _operator(b: NnefWriter, op: str, tensors: Sequence[Tensor], channels: int, windows: Sequence[Span]) -> Tensor:
    zero = b.scalar(0.0)
    shape = (b.shape_of(tensors[0])[0], *(w.output for w in windows), channels)
    return b.operator(
        op, [*tensors, zero, zero], shape, types.fp32,
        pad=tuple(n for w in windows for n in (w.before, w.after)), stride=tuple(w.stride for w in windows),
        dilation=tuple(w.dilation for w in windows), acc_type=types.fp32, local_bound=False,
    )  # fmt: skip


def _depthwise(b: NnefWriter, x: Tensor, weight: Tensor, bias: Tensor, windows: Sequence[Span]) -> Tensor:
    """`weight` is [channels * multiplier, 1, height, width]."""
    outputs, _, height, width = b.shape_of(weight)
    channels = b.shape_of(x)[3]
    last = b.transpose(weight, (2, 3, 0, 1))
    tensors = [x, b.reshape(last, (height, width, channels, outputs // channels)), bias]
    return _operator(b, "DEPTHWISE_CONV2D", tensors, outputs, windows)


def _groups(b: NnefWriter, x: Tensor, weight: Tensor, bias: Tensor, windows: Sequence[Span], groups: int) -> Tensor:
    """`x` and `weight` have their channels last."""
    op = "CONV2D" if len(windows) == 2 else "CONV3D"
    outputs = b.shape_of(weight)[0] // groups

    def convolve(part: Tensor, kernel: Tensor, share: Tensor, channels: int) -> Tensor:
        return _operator(b, op, [part, kernel, share], channels, windows)

    return _in_groups(b, x, weight, bias, groups, outputs, convolve)


def _in_groups(
    b: NnefWriter, x: Tensor, weight: Tensor, bias: Tensor, groups: int, outputs: int, convolve: Convolve
) -> Tensor:
    """Each group's input channels (the last axis of `x`) with its part of the first axis of `weight`."""
    if groups == 1:
        return convolve(x, weight, bias, outputs)
    last = len(b.shape_of(x)) - 1
    inputs, kernels = b.shape_of(x)[last] // groups, b.shape_of(weight)[0] // groups
    parts = []
    for group in range(groups):
        share = bias if b.shape_of(bias) == (1,) else b.section(bias, 0, group * outputs, outputs)
        part = b.section(x, last, group * inputs, inputs)
        parts.append(convolve(part, b.section(weight, 0, group * kernels, kernels), share, outputs))
    while len(parts) > 1:
        parts = [b.concat(parts[i : i + MAX_CONCAT], last) for i in range(0, len(parts), MAX_CONCAT)]
    return parts[0]


# deconvolution


def _with_border(b: NnefWriter, x: Tensor, windows: Sequence[Span], border: str) -> tuple[Tensor, list[Span]]:
    """The input with all border values that a window meets, and windows over it."""
    found = []
    for axis, w in enumerate(windows, 2):
        extent = b.shape_of(x)[axis]
        before = max(0, -((w.before - w.reach + 1) // w.stride))
        after = max(0, (w.output - 1 + w.before) // w.stride - (extent - 1))
        x = extended(b, x, axis, before, after, border)
        more = w.before + before * w.stride
        total = (extent + before + after - 1) * w.stride + w.reach
        found.append(Span(w.size, w.stride, w.dilation, more, total - more - w.output, w.output))
    return x, found


def _transposable(w: Span) -> bool:
    """Whether TRANSPOSE_CONV2D has the window: out_pad must be more than minus the size, on both sides."""
    return w.dilation == 1 and w.before < w.size and w.stride > 0


def _transpose_conv2d(b: NnefWriter, x: Tensor, weight: Tensor, bias: Tensor, windows: Sequence[Span]) -> Tensor:
    """`weight` is [inputs, outputs, height, width]."""
    image, kernel = to_last(b, x), b.transpose(weight, (1, 2, 3, 0))
    shape, zero = b.shape_of(image), b.scalar(0.0)
    pads = []
    for w, extent in zip(windows, shape[1:3], strict=True):
        pads += [-w.before, w.output - ((extent - 1) * w.stride + w.size - w.before)]
    if any(pad <= -w.size for pad, w in zip(pads[1::2], windows, strict=True)):
        return _by_convolution(b, x, weight, bias, windows, 1)
    result = b.operator(
        "TRANSPOSE_CONV2D", [image, kernel, bias, zero, zero],
        (shape[0], *(w.output for w in windows), b.shape_of(kernel)[0]), types.fp32,
        out_pad=tuple(pads), stride=tuple(w.stride for w in windows), acc_type=types.fp32, local_bound=False,
    )  # fmt: skip
    return to_second(b, result)


def _by_convolution(
    b: NnefWriter, x: Tensor, weight: Tensor, bias: Tensor, windows: Sequence[Span], groups: int
) -> Tensor:
    """output[i] = sum over j of u[i + p - j * d] * filter[j]; u is the input with stride - 1 zeros between elements."""
    over = []
    for axis, w in enumerate(windows, 2):
        x = spread(b, x, axis, w.stride)
        weight = reversed_(b, weight, axis)
        before = w.reach - 1 - w.before
        after = w.output + w.reach - 1 - before - b.shape_of(x)[axis]
        over.append(Span(w.size, 1, w.dilation, before, after, w.output))
    return _convolved(b, x, _swapped(b, weight, groups), bias, over, groups, "constant")


def _swapped(b: NnefWriter, weight: Tensor, groups: int) -> Tensor:
    """[inputs, outputs of a group, ...] as [outputs, inputs of a group, ...]."""
    inputs, outputs, *rest = b.shape_of(weight)
    split = b.reshape(weight, (groups, inputs // groups, outputs, _volume(rest)))
    turned = b.transpose(split, (0, 2, 1, 3))
    return b.reshape(turned, (groups * outputs, inputs // groups, *rest))


def _volume(extents: Sequence[int]) -> int:
    return types.count(tuple(extents))


MAPPERS: Final[Mapping[str, Mapper]] = {"conv": conv, "deconv": deconv}
