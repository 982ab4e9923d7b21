"""The windows of sliding-window operations (section 4.3): padding, extents, borders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....types import Shape
    from ..build import NnefWriter

BORDERS: Final = ("ignore", "constant", "replicate", "reflect", "reflect-even")
FILLED: Final = BORDERS[1:]


@dataclass(frozen=True, slots=True)
class Span:
    """The window along one axis: `before` and `after` are padding where positive, cut-off input where negative.

    `output` is the down-scaled extent of basic operations, the up-scaled extent of reverse ones.
    """

    size: int
    stride: int
    dilation: int
    before: int
    after: int
    output: int

    @property
    def padded(self) -> bool:
        return self.before > 0 or self.after > 0

    @property
    def reach(self) -> int:
        """The extent that a window covers."""
        return (self.size - 1) * self.dilation + 1

    @property
    def trivial(self) -> bool:
        """Every element is its own window."""
        return (self.size, self.stride, self.before, self.after) == (1, 1, 0, 0)


UNIT: Final = Span(1, 1, 1, 0, 0, 1)  # over an axis of extent 1


def span(b: NnefWriter, extent: int, size: int, stride: int, dilation: int, padding: tuple[int, int] | None) -> Span:
    """Output extent and padding of a basic operation, automatic where `padding` is None.

    NNEF rounds the number of positions down; what the last one leaves over is taken off the end here.
    """
    _positive(b, size, stride, dilation)
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


def reverse_span(
    b: NnefWriter,
    extent: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int] | None,
    wanted: int | None,
) -> Span:
    """Output extent and padding of a reverse operation. `wanted` is the extent in `output_shape`, if there is one.

    With automatic padding and without `output_shape` the extent grows by the stride.
    """
    _positive(b, size, stride, dilation)
    reach = (size - 1) * dilation + 1
    if padding is None:
        output = wanted if wanted is not None else extent * stride
        total = max((extent - 1) * stride + reach - output, 0)
        before, after = total // 2, total - total // 2
        fits = -(-output // stride) == extent
    else:
        before, after = padding
        output = wanted if wanted is not None else (extent - 1) * stride + reach - before - after
        room = before + output + after - reach
        fits = room >= 0 and room // stride + 1 == extent
    if output < 1 or not fits:
        raise b.error(f"an extent of {extent} can't come from {output} with padding ({before}, {after})")
    return Span(size, stride, dilation, before, after, output)


def _positive(b: NnefWriter, size: int, stride: int, dilation: int) -> None:
    if min(size, stride, dilation) < 1:
        raise b.error(f"size {size}, stride {stride} and dilation {dilation} must be positive")


def spans(b: NnefWriter, extents: Shape, size: Sequence[int], arguments: Mapping[str, Any]) -> list[Span]:
    """One span for each of `extents`, for a basic operation."""
    return [span(b, *numbers) for numbers in zip(extents, *_numbers(b, len(extents), size, arguments), strict=True)]


def reverse_spans(
    b: NnefWriter, extents: Shape, size: Sequence[int], arguments: Mapping[str, Any], wanted: Sequence[int]
) -> list[Span]:
    """One span for each of `extents`, for a reverse operation; `wanted`: their extents in `output_shape`, or none."""
    sizes: Sequence[int | None] = wanted or (None,) * len(extents)
    numbers = zip(extents, *_numbers(b, len(extents), size, arguments), sizes, strict=True)
    return [reverse_span(b, *one) for one in numbers]


def _numbers(b: NnefWriter, rank: int, size: Sequence[int], arguments: Mapping[str, Any]) -> tuple[Sequence[Any], ...]:
    if len(size) != rank:
        raise b.error(f"'size' needs {rank} items, got {len(size)}")
    for name in ("padding", "stride", "dilation"):
        if len(arguments[name]) not in (0, rank):
            raise b.error(f"'{name}' needs {rank} items or none, got {len(arguments[name])}")
    stride = arguments["stride"] or (1,) * rank
    dilation = arguments["dilation"] or (1,) * rank
    padding: Sequence[Any] = arguments["padding"] or (None,) * rank
    return size, stride, dilation, padding


def border_of(b: NnefWriter, arguments: Mapping[str, Any], allowed: Sequence[str] = BORDERS) -> str:
    """The argument `border`, one of those that the operation allows."""
    border: str = arguments["border"]
    if border not in allowed:
        raise b.error(f"unknown border '{border}'; choose from: {', '.join(allowed)}")
    return border
