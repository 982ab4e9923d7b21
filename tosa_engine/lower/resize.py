"""Interpolation and upsampling: RESIZE where it does, else a product with a constant matrix along each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .axes import channels_last, channels_second, matrix
from .problems import Misfit
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Tensor
    from ..types import Array
    from .writer import Writer

METHODS: Final = ("asymmetric", "symmetric", "aligned")
MAX_NUMERATOR: Final = 1 << 11  # of RESIZE, and its scale at level 8K
MAX_SCALE: Final = 256
CUBIC_SLOPE: Final = -0.75  # as PyTorch has it, and ONNX by default
MAX_EXTENT: Final = 1 << 14  # of an axis that is a product with a matrix


def upsampled(g: Writer, x: Tensor, factors: Sequence[int], method: str, border: str) -> Tensor:
    """Multilinear upsampling of the spatial axes of [N, C, ...] by whole factors; `method` is one of METHODS.

    RESIZE BILINEAR where the border is replicated and there are two spatial axes; else a matrix along each axis.
    """
    shape = shape_of(x)
    if len(factors) == 2 and (border == "replicate" or method == "aligned"):
        along = [_resize_numbers(n, f, method) for n, f in zip(shape[2:], factors, strict=True)]
        if all(n <= MAX_NUMERATOR and n <= MAX_SCALE * d for n, d, *_ in along):
            return _resize(g, x, along, [n * f for n, f in zip(shape[2:], factors, strict=True)])
    for axis, factor in enumerate(factors, 2):
        if factor != 1:
            x = matrix(g, x, axis, _upsampling(shape[axis], factor, method, border))
    return x


def _resize_numbers(extent: int, factor: int, method: str) -> tuple[int, int, int, int]:
    """RESIZE's numerator, denominator, offset and border along one axis."""
    if method == "aligned" and extent > 1:
        return extent * factor - 1, extent - 1, 0, 0
    if method == "symmetric":
        return 2 * factor, 2, 1 - factor, factor - 1
    return factor, 1, 0, factor - 1


def _resize(g: Writer, x: Tensor, along: Sequence[tuple[int, int, int, int]], extents: Sequence[int]) -> Tensor:
    image = channels_last(g, x)
    shape = shape_of(image)
    scale = g.dims([n for numerator, denominator, *_ in along for n in (numerator, denominator)])
    offset, border = g.dims([a[2] for a in along]), g.dims([a[3] for a in along])
    return channels_second(
        g, g.operator("RESIZE", [image, scale, offset, border], (shape[0], *extents, shape[3]), mode="BILINEAR")
    )


def _upsampling(extent: int, factor: int, method: str, border: str) -> Array:
    """[extent * factor, extent]: how much of every input is in every output."""
    outputs = np.arange(extent * factor, dtype=np.float64)
    if method == "aligned":
        at = outputs * (extent - 1) / max(extent * factor - 1, 1)
    else:
        at = (outputs - ((factor - 1) / 2 if method == "symmetric" else 0)) / factor
    low = np.floor(at).astype(np.int64)
    found = np.zeros((extent * factor, extent))
    for index, share in ((low, 1 - (at - low)), (low + 1, at - low)):
        inside = _reflected(index, extent, border)
        kept = (inside >= 0) & (inside < extent)
        if not kept[share > 0].all() and border != "constant":
            raise Misfit(f"border '{border}' has nothing to show beyond an extent of {extent}")
        np.add.at(found, (np.flatnonzero(kept), inside[kept]), share[kept])
    return found


def _reflected(index: Array, extent: int, border: str) -> Array:
    """The input that stands for an index outside of the input; still outside where the border is constant."""
    if border == "replicate":
        found: Array = np.clip(index, 0, extent - 1)
        return found
    if border == "constant":
        return index
    even = int(border == "reflect-even")
    below = np.where(index < 0, -index - even, index)
    above: Array = np.where(index >= extent, 2 * extent - 2 + even - index, below)
    return above


def resized(
    g: Writer,
    x: Tensor,
    extents: Sequence[int],
    scales: Sequence[float],
    coordinates: str,
    interpolation: str,
    nearest: str,
) -> Tensor:
    """Every axis with another extent: where output i looks at the input is what `coordinates` says (COORDINATES).

    `scales`: of every axis the new extent divided by the old one, before it was rounded; `interpolation`: 'linear',
    'cubic', or 'nearest' with `nearest` (NEAREST). Beyond its ends the input goes on unchanged.
    """
    shape = shape_of(x)
    for axis, (extent, scale) in enumerate(zip(extents, scales, strict=True)):
        if extent != shape[axis]:
            if not 1 <= extent <= MAX_EXTENT:
                raise Misfit(f"axis {axis} would have {extent} elements; 1 to {MAX_EXTENT} are possible")
            at = COORDINATES[coordinates](np.arange(extent, dtype=np.float64), scale, shape[axis], extent)
            x = matrix(g, x, axis, _interpolation(at, shape[axis], interpolation, nearest))
    return x


def _interpolation(at: Array, extent: int, interpolation: str, nearest: str) -> Array:
    """[outputs, extent]: how much of every input is in every output, which looks at the places `at`."""
    found, rows = np.zeros((at.size, extent)), np.arange(at.size)
    if interpolation == "nearest":
        found[rows, np.clip(NEAREST[nearest](at).astype(np.int64), 0, extent - 1)] = 1
        return found
    low = np.floor(at).astype(np.int64)
    reach = 2 if interpolation == "cubic" else 1
    for index in range(1 - reach, 1 + reach):
        distance = np.abs(at - (low + index))
        share = _cubic(distance) if interpolation == "cubic" else 1 - distance
        np.add.at(found, (rows, np.clip(low + index, 0, extent - 1)), share)
    return found


def _cubic(distance: Array) -> Array:
    """The cubic convolution kernel with the slope CUBIC_SLOPE at a distance of 1; 0 from 2 on."""
    a, d = CUBIC_SLOPE, distance
    inner = ((a + 2) * d - (a + 3)) * d * d + 1
    outer = ((d - 5) * d + 8) * d * a - 4 * a
    found: Array = np.where(d <= 1, inner, outer)
    return found


def _half_pixel(i: Array, scale: float, extent: int, wanted: int) -> Array:
    del extent, wanted
    return (i + 0.5) / scale - 0.5


def _pytorch_half_pixel(i: Array, scale: float, extent: int, wanted: int) -> Array:
    return _half_pixel(i, scale, extent, wanted) if wanted > 1 else i * 0


def _align_corners(i: Array, scale: float, extent: int, wanted: int) -> Array:
    del scale
    return i * ((extent - 1) / max(wanted - 1, 1))


def _asymmetric(i: Array, scale: float, extent: int, wanted: int) -> Array:
    del extent, wanted
    return i / scale


COORDINATES: Final[Mapping[str, Callable[[Array, float, int, int], Array]]] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
}
NEAREST: Final[Mapping[str, Callable[[Array], Array]]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}
INTERPOLATORS: Final = ("nearest", "linear", "cubic")
