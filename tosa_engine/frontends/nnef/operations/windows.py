"""The arguments of sliding-window operations (section 4.3): size, padding, stride, dilation, border."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....lower.borders import BORDERS
from ....lower.windows import transposed_windows, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....lower.windows import Window
    from ....types import Shape
    from ..build import NnefWriter


def windows_of(b: NnefWriter, extents: Shape, size: Sequence[int], arguments: Mapping[str, Any]) -> list[Window]:
    """One window for each of `extents`, for a basic operation."""
    return windows(extents, *_numbers(b, len(extents), size, arguments))


def reverse_windows_of(
    b: NnefWriter, extents: Shape, size: Sequence[int], arguments: Mapping[str, Any], wanted: Sequence[int]
) -> list[Window]:
    """One window for each of `extents`, for a reverse operation; `wanted`: their extents in `output_shape`, or none."""
    return transposed_windows(extents, *_numbers(b, len(extents), size, arguments), wanted)


def _numbers(
    b: NnefWriter, rank: int, size: Sequence[int], arguments: Mapping[str, Any]
) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[tuple[int, int] | None]]:
    """Size, stride, dilation and padding of every axis; no padding: automatic (section 4.3.1)."""
    if len(size) != rank:
        raise b.error(f"'size' needs {rank} items, got {len(size)}")
    for name in ("padding", "stride", "dilation"):
        if len(arguments[name]) not in (0, rank):
            raise b.error(f"'{name}' needs {rank} items or none, got {len(arguments[name])}")
    one, automatic = (1,) * rank, (None,) * rank
    return size, arguments["stride"] or one, arguments["dilation"] or one, arguments["padding"] or automatic


def border_of(b: NnefWriter, arguments: Mapping[str, Any], allowed: Sequence[str] = BORDERS) -> str:
    """The argument `border`, one of those that the operation allows."""
    border: str = arguments["border"]
    if border not in allowed:
        raise b.error(f"unknown border '{border}'; choose from: {', '.join(allowed)}")
    return border
