"""Sliding windows: how many positions there are along an axis, and what lies before and after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .problems import Misfit, Unlowered

if TYPE_CHECKING:
    from collections.abc import Sequence

    Padding = Sequence[tuple[int, int] | None]  # before and after each axis; None: as much as gives extent / stride


@dataclass(frozen=True, slots=True)
class Window:
    """The window along one axis: `before` and `after` are padding where positive, cut-off input where negative.

    `output` is the extent of the result: the number of positions, or of a transposed window what they are spread over.
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

    def inside(self) -> Window:
        """The window over an input that has its padding already."""
        return replace(self, before=0, after=0)

    def cut(self) -> Window:
        """What is cut off the input, without the padding."""
        return replace(self, before=min(self.before, 0), after=min(self.after, 0))

    def grown(self) -> Window:
        """The padding, without what is cut off the input."""
        return replace(self, before=max(self.before, 0), after=max(self.after, 0))


UNIT: Final = Window(1, 1, 1, 0, 0, 1)  # over an axis of extent 1


def windows(
    extents: Sequence[int], sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: Padding
) -> list[Window]:
    """A window over each of `extents`. Raises Misfit, or Unlowered where padding leaves nothing."""
    return [_window(*numbers) for numbers in zip(extents, sizes, strides, dilations, padding, strict=True)]


def transposed_windows(
    extents: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Padding,
    outputs: Sequence[int] = (),
) -> list[Window]:
    """A window over the result of each axis, whose positions are `extents`; `outputs`: the result's extents, if known.

    With automatic padding and without `outputs` an extent grows by its stride. Raises Misfit.
    """
    wanted: Sequence[int | None] = outputs or (None,) * len(extents)
    numbers = zip(extents, sizes, strides, dilations, padding, wanted, strict=True)
    return [_transposed_window(*one) for one in numbers]


def _window(extent: int, size: int, stride: int, dilation: int, padding: tuple[int, int] | None) -> Window:
    """The number of positions is rounded down; what the last one leaves over is taken off the end here."""
    _positive(size, stride, dilation)
    reach = (size - 1) * dilation + 1
    if padding is None:
        output = -(-extent // stride)
        total = max((output - 1) * stride + reach - extent, 0)
        padding = total // 2, total - total // 2
    before, after = padding
    room = before + extent + after - reach
    if room < 0:
        raise Misfit(f"a window of {reach} doesn't fit into {before} + {extent} + {after}")
    after -= room % stride
    if extent + min(before, 0) + min(after, 0) < 1:
        raise Unlowered(f"padding {list(padding)} leaves nothing of the extent {extent}")
    return Window(size, stride, dilation, before, after, room // stride + 1)


def _transposed_window(
    extent: int, size: int, stride: int, dilation: int, padding: tuple[int, int] | None, wanted: int | None
) -> Window:
    _positive(size, stride, dilation)
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
        raise Misfit(f"an extent of {extent} can't come from {output} with padding ({before}, {after})")
    return Window(size, stride, dilation, before, after, output)


def _positive(size: int, stride: int, dilation: int) -> None:
    if min(size, stride, dilation) < 1:
        raise Misfit(f"size {size}, stride {stride} and dilation {dilation} must be positive")
