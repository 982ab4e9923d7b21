"""Windows over spatial axes, as the attributes of convolutions and pools say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import GraphError
from ....lower.windows import Window, transposed_windows, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..call import Call

SAME = ("SAME_UPPER", "SAME_LOWER")


def _listed(call: Call, name: str, spatial: int, default: int) -> list[int]:
    given = call.attribute(name) or [default] * spatial
    if len(given) != spatial:
        raise GraphError(f"{name} {list(given)} for {spatial} spatial axes")
    return list(given)


def _reaches(sizes: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """How many elements a window spans on each axis."""
    if len(sizes) != len(dilations) or min(sizes, default=1) < 1 or min(dilations, default=1) < 1:
        raise GraphError(f"a window of {list(sizes)} with dilations {list(dilations)}")
    return [(k - 1) * d + 1 for k, d in zip(sizes, dilations, strict=True)]


def _paddings(
    call: Call, extents: Sequence[int], reaches: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    """Padding before and after each axis. 'SAME' makes as many positions as extent / stride, rounded up."""
    spatial, how = len(extents), call.attribute("auto_pad", "NOTSET")
    if how in SAME:
        totals = [max((-(-n // s) - 1) * s + r - n, 0) for n, r, s in zip(extents, reaches, strides, strict=True)]
        return [(t - t // 2, t // 2) if how == "SAME_LOWER" else (t // 2, t - t // 2) for t in totals]
    if how not in ("NOTSET", "VALID"):
        raise GraphError(f"auto_pad '{how}' is none of ONNX's")
    pads = _listed(call, "pads", 2 * spatial, 0) if how != "VALID" else [0] * (2 * spatial)
    return [(pads[i], pads[i + spatial]) for i in range(spatial)]


def windows_of(call: Call, extents: Sequence[int], sizes: Sequence[int], *, round_up: bool = False) -> list[Window]:
    """The window over each spatial axis. `round_up`: positions that begin inside of input and padding count, too."""
    spatial = len(extents)
    strides, dilations = _listed(call, "strides", spatial, 1), _listed(call, "dilations", spatial, 1)
    reaches = _reaches(sizes, dilations)
    padding = _paddings(call, extents, reaches, strides)
    if round_up:
        padding = [
            (p, q + _missing(n, p, q, r, s)) for n, (p, q), r, s in zip(extents, padding, reaches, strides, strict=True)
        ]
    return windows(extents, sizes, strides, dilations, padding)


def padded_windows_of(
    call: Call, extents: Sequence[int], sizes: Sequence[int]
) -> tuple[list[tuple[int, int]], list[Window]]:
    """The padding that the node says, and windows over the padded axes, which may reach beyond them (ceil_mode)."""
    spatial = len(extents)
    strides, dilations = _listed(call, "strides", spatial, 1), _listed(call, "dilations", spatial, 1)
    reaches = _reaches(sizes, dilations)
    padding = _paddings(call, extents, reaches, strides)
    more = [0] * spatial
    if call.attribute("ceil_mode", 0):
        numbers = zip(extents, padding, reaches, strides, strict=True)
        more = [_missing(n, p, q, r, s) for n, (p, q), r, s in numbers]
    wide = [n + p + q for n, (p, q) in zip(extents, padding, strict=True)]
    return padding, windows(wide, sizes, strides, dilations, [(0, extra) for extra in more])


def _missing(extent: int, before: int, after: int, reach: int, stride: int) -> int:
    """How much more padding the last position needs, if it begins before the end of the input."""
    room = before + extent + after - reach
    count = -(-room // stride) + 1
    if (count - 1) * stride >= extent + before:
        count -= 1
    return max((count - 1) * stride - room, 0)


def transposed_windows_of(call: Call, extents: Sequence[int], sizes: Sequence[int]) -> list[Window]:
    """The window of ConvTranspose over each axis of its result."""
    spatial = len(extents)
    strides, dilations = _listed(call, "strides", spatial, 1), _listed(call, "dilations", spatial, 1)
    more = _listed(call, "output_padding", spatial, 0)
    reaches = _reaches(sizes, dilations)
    full = [(n - 1) * s + r + o for n, s, r, o in zip(extents, strides, reaches, more, strict=True)]
    how = call.attribute("auto_pad", "NOTSET")
    shape = call.attribute("output_shape")
    if shape or how in SAME:
        wanted = list(shape[-spatial:]) if shape else [n * s for n, s in zip(extents, strides, strict=True)]
        totals = [max(f - w, 0) for f, w in zip(full, wanted, strict=True)]
        padding = [(t // 2, t - t // 2) if how == "SAME_UPPER" else (t - t // 2, t // 2) for t in totals]
    else:
        pads = _listed(call, "pads", 2 * spatial, 0)
        padding = [(pads[i], pads[i + spatial]) for i in range(spatial)]
        wanted = [f - p - q for f, (p, q) in zip(full, padding, strict=True)]
    # what is added at the end is output without a window, which the padding after it stands for
    ends = [f - p - w - o for f, (p, _), w, o in zip(full, padding, wanted, more, strict=True)]
    return transposed_windows(
        extents, sizes, strides, dilations, [(p, e) for (p, _), e in zip(padding, ends, strict=True)], wanted
    )
