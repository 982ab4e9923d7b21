"""Sliding windows: convolution and pooling (sections 4.3, 4.9.3). TOSA wants NHWC and windows that fit exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ... import types
from .map_linear import bias_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph import Tensor
    from ...types import Shape
    from .build import Builder
    from .document import Operation
    from .mapping import Mapper

TO_NHWC: Final = (0, 2, 3, 1)
TO_NCHW: Final = (0, 3, 1, 2)
MAX_CONCAT: Final = 64
BORDERS: Final = ("ignore", "constant", "replicate", "reflect", "reflect-even")


@dataclass(frozen=True, slots=True)
class Span:
    """The window along one axis: `before` and `after` are padding where positive, cut-off input where negative."""

    size: int
    stride: int
    dilation: int
    before: int
    after: int
    output: int

    @property
    def padded(self) -> bool:
        return self.before > 0 or self.after > 0


def span(b: Builder, extent: int, size: int, stride: int, dilation: int, padding: tuple[int, int] | None) -> Span:
    """Output extent and padding, automatic where `padding` is None (section 4.3).

    NNEF rounds the number of positions down; what the last one leaves over is taken off the end here.
    """
    if min(size, stride, dilation) < 1:
        raise b.error(f"size {size}, stride {stride} and dilation {dilation} must be positive")
    reach = (size - 1) * dilation + 1
    if padding is None:
        output = -(-extent // stride)
        total = max((output - 1) * stride + reach - extent, 0)
        padding = total // 2, total - total // 2
    before, after = padding
    room = before + extent + after - reach
    if room < 0:
        raise b.error(f"a window of {reach} doesn't fit into {before} + {extent} + {after}")
    after -= room % stride
    if extent + min(before, 0) + min(after, 0) < 1:
        raise b.unsupported(f"padding {list(padding)} leaves nothing of the extent {extent}")
    return Span(size, stride, dilation, before, after, room // stride + 1)


def spans(b: Builder, extents: Shape, size: Sequence[int], arguments: Mapping[str, Any]) -> list[Span]:
    rank = len(extents)
    for name in ("padding", "stride", "dilation"):
        if len(arguments[name]) not in (0, rank):
            raise b.error(f"'{name}' needs {rank} items or none, got {len(arguments[name])}")
    stride = arguments["stride"] or (1,) * rank
    dilation = arguments["dilation"] or (1,) * rank
    padding = arguments["padding"] or (None,) * rank
    return [span(b, *numbers) for numbers in zip(extents, size, stride, dilation, padding, strict=True)]


def border_of(b: Builder, arguments: Mapping[str, Any], padded: bool, supported: Sequence[str]) -> str:
    border: str = arguments["border"]
    if border not in BORDERS:
        raise b.error(f"unknown border '{border}'; choose from: {', '.join(BORDERS)}")
    if padded and border not in supported:
        raise b.unsupported(f"border '{border}' with padding; supported: {', '.join(supported)}")
    return border


def crop(b: Builder, x: Tensor, vertical: Span, horizontal: Span) -> Tensor:
    """NHWC input without what negative padding cuts off."""
    start, size = [0, 0, 0, 0], list(b.shape_of(x))
    for axis, along in ((1, vertical), (2, horizontal)):
        start[axis] = max(-along.before, 0)
        size[axis] += min(along.before, 0) + min(along.after, 0)
    return b.slice(x, start, size)


def pads(vertical: Span, horizontal: Span) -> tuple[int, int, int, int]:
    """TOSA's pad: top, bottom, left, right."""
    amounts = (vertical.before, vertical.after, horizontal.before, horizontal.after)
    return tuple(max(amount, 0) for amount in amounts)  # type: ignore[return-value]


# One-dimensional windows are two-dimensional ones over a height of 1.
FLAT: Final = Span(1, 1, 1, 0, 0, 1)


def with_height(b: Builder, x: Tensor) -> Tensor:
    shape = b.shape_of(x)
    return b.reshape(x, (*shape[:2], 1, *shape[2:])) if len(shape) == 3 else x


def conv(b: Builder, operation: Operation) -> Tensor:
    """CONV2D; DEPTHWISE_CONV2D when each group has one input channel; one CONV2D per group otherwise."""
    arguments = operation.arguments
    x, weight = b.value(arguments["input"]), b.value(arguments["filter"])
    shape, filter_shape = b.shape_of(x), b.shape_of(weight)
    if len(shape) not in (3, 4) or len(filter_shape) != len(shape):
        message = f"input of shape {list(shape)} and filter of shape {list(filter_shape)}"
        raise b.error(message) if len(shape) != len(filter_shape) else b.unsupported(message)
    groups = arguments["groups"] or shape[1]
    outputs = filter_shape[0]
    if groups < 0 or outputs % groups or filter_shape[1] * groups != shape[1]:
        message = f"filter of shape {list(filter_shape)} doesn't fit {shape[1]} channels in {groups} groups"
        raise b.error(message)
    windows = spans(b, shape[2:], filter_shape[2:], arguments)
    border_of(b, arguments, any(w.padded for w in windows), ("constant",))
    vertical, horizontal = windows if len(windows) == 2 else (FLAT, windows[0])
    bias = bias_of(b, arguments["bias"], outputs, axis=1, rank=len(shape), constant=weight.data is not None)
    image = crop(b, b.transpose(with_height(b, x), TO_NHWC), vertical, horizontal)
    weight = with_height(b, weight)
    if groups > 1 and groups == shape[1]:
        result = _depthwise(b, image, weight, bias, vertical, horizontal)
    else:
        result = _groups(b, image, weight, bias, groups, vertical, horizontal)
    result = b.transpose(result, TO_NCHW)
    return result if len(shape) == 4 else b.reshape(result, (*b.shape_of(result)[:2], horizontal.output))


def _convolution(b: Builder, op: str, tensors: list[Tensor], channels: int, vertical: Span, horizontal: Span) -> Tensor:
    zero = b.scalar(0.0)
    shape = (b.shape_of(tensors[0])[0], vertical.output, horizontal.output, channels)
    return b.operator(
        op, [*tensors, zero, zero], shape, types.fp32,
        pad=pads(vertical, horizontal), stride=(vertical.stride, horizontal.stride),
        dilation=(vertical.dilation, horizontal.dilation), acc_type=types.fp32, local_bound=False,
    )  # fmt: skip


def _depthwise(b: Builder, x: Tensor, weight: Tensor, bias: Tensor, vertical: Span, horizontal: Span) -> Tensor:
    outputs, _, height, width = b.shape_of(weight)
    channels = b.shape_of(x)[3]
    last = b.transpose(weight, (2, 3, 0, 1))
    tensors = [x, b.reshape(last, (height, width, channels, outputs // channels)), bias]
    return _convolution(b, "DEPTHWISE_CONV2D", tensors, outputs, vertical, horizontal)


def _groups(
    b: Builder, x: Tensor, weight: Tensor, bias: Tensor, groups: int, vertical: Span, horizontal: Span
) -> Tensor:
    inputs, outputs = b.shape_of(x)[3] // groups, b.shape_of(weight)[0] // groups
    ohwi = b.transpose(weight, TO_NHWC)
    if groups == 1:
        return _convolution(b, "CONV2D", [x, ohwi, bias], outputs, vertical, horizontal)
    parts = []
    for group in range(groups):
        share = bias if b.shape_of(bias) == (1,) else b.section(bias, 0, group * outputs, outputs)
        part = [b.section(x, 3, group * inputs, inputs), b.section(ohwi, 0, group * outputs, outputs), share]
        parts.append(_convolution(b, "CONV2D", part, outputs, vertical, horizontal))
    while len(parts) > 1:
        parts = [b.concat(parts[i : i + MAX_CONCAT], 3) for i in range(0, len(parts), MAX_CONCAT)]
    return parts[0]


def pool(op: str, b: Builder, operation: Operation) -> Tensor:
    """Border 'ignore' is TOSA's own padding; with 'constant' zeros are padded first, and so take part."""
    arguments = operation.arguments
    x, size = b.value(arguments["input"]), arguments["size"]
    shape = b.shape_of(x)
    if len(size) != len(shape):
        raise b.error(f"'size' needs {len(shape)} items, got {len(size)}")
    windows = spans(b, shape, size, arguments)
    if len(shape) not in (3, 4) or any((w.size, w.stride, w.before, w.after) != (1, 1, 0, 0) for w in windows[:2]):
        raise b.unsupported(f"a window over batch or channels, or more than two spatial axes: size {list(size)}")
    if any(w.dilation != 1 and w.size != 1 for w in windows):
        raise b.unsupported(f"dilation {list(arguments['dilation'])}")
    border = border_of(b, arguments, any(w.padded for w in windows), ("constant", "ignore"))
    vertical, horizontal = windows[2:] if len(shape) == 4 else (FLAT, windows[2])
    image = crop(b, b.transpose(with_height(b, x), TO_NHWC), vertical, horizontal)
    pad = pads(vertical, horizontal)
    if border == "constant":
        image = b.pad(image, (0, pad[0], pad[2], 0), (0, pad[1], pad[3], 0))
        pad = (0, 0, 0, 0)
    elif max(pad[:2]) >= vertical.size or max(pad[2:]) >= horizontal.size:
        raise b.unsupported(f"padding {list(pad)} that reaches the size of the window with border 'ignore'")
    result = _pooling(b, op, image, vertical, horizontal, pad)
    result = b.transpose(result, TO_NCHW)
    return result if len(shape) == 4 else b.reshape(result, (*b.shape_of(result)[:2], horizontal.output))


def _pooling(
    b: Builder, op: str, x: Tensor, vertical: Span, horizontal: Span, pad: tuple[int, int, int, int]
) -> Tensor:
    shape = b.shape_of(x)
    zero = b.scalar(0.0)
    inputs = [x] if op == "MAX_POOL2D" else [x, zero, zero]
    last: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op == "MAX_POOL2D" else {"acc_type": types.fp32}
    return b.operator(
        op, inputs, (shape[0], vertical.output, horizontal.output, shape[3]),
        kernel=(vertical.size, horizontal.size), stride=(vertical.stride, horizontal.stride), pad=pad, **last,
    )  # fmt: skip


MAPPERS: Final[Mapping[str, Mapper]] = {
    "conv": conv,
    "max_pool": partial(pool, "MAX_POOL2D"),
    "avg_pool": partial(pool, "AVG_POOL2D"),
}
