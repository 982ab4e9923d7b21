"""Multilinear interpolation: upsampling by whole factors (section 4.3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .along import matrix
from .convolution import to_last, to_second
from .spans import FILLED, border_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper

METHODS: Final = ("asymmetric", "symmetric", "aligned")
MAX_NUMERATOR: Final = 1 << 11  # of RESIZE, and its scale at level 8K
MAX_SCALE: Final = 256


def multilinear_upsample(b: NnefWriter, operation: Operation) -> Tensor:
    """RESIZE BILINEAR where the border is replicated and there are two spatial axes; else a matrix along each axis."""
    arguments = operation.arguments
    x, factors = b.value(arguments["input"]), arguments["factor"]
    shape, method = b.shape_of(x), method_of(b, arguments["method"])
    border = border_of(b, arguments, FILLED)
    if len(factors) != len(shape) - 2 or min(factors, default=1) < 1:
        raise b.error(f"'factor' needs {len(shape) - 2} positive items, got {list(factors)}")
    if len(factors) == 2 and (border == "replicate" or method == "aligned"):
        along = [_resize_numbers(n, f, method) for n, f in zip(shape[2:], factors, strict=True)]
        if all(n <= MAX_NUMERATOR and n <= MAX_SCALE * d for n, d, *_ in along):
            return _resize(b, x, along, [n * f for n, f in zip(shape[2:], factors, strict=True)])
    for axis, factor in enumerate(factors, 2):
        if factor != 1:
            x = matrix(b, x, axis, weights(b, shape[axis], factor, method, border))
    return x


def method_of(b: NnefWriter, method: str) -> str:
    if method not in METHODS:
        raise b.error(f"unknown method '{method}'; choose from: {', '.join(METHODS)}")
    return method


def _resize_numbers(extent: int, factor: int, method: str) -> tuple[int, int, int, int]:
    """RESIZE's numerator, denominator, offset and border along one axis."""
    if method == "aligned" and extent > 1:
        return extent * factor - 1, extent - 1, 0, 0
    if method == "symmetric":
        return 2 * factor, 2, 1 - factor, factor - 1
    return factor, 1, 0, factor - 1


def _resize(b: NnefWriter, x: Tensor, along: Sequence[tuple[int, int, int, int]], extents: Sequence[int]) -> Tensor:
    image = to_last(b, x)
    shape = b.shape_of(image)
    scale = b.dims([n for numerator, denominator, *_ in along for n in (numerator, denominator)])
    offset, border = b.dims([a[2] for a in along]), b.dims([a[3] for a in along])
    return to_second(
        b, b.operator("RESIZE", [image, scale, offset, border], (shape[0], *extents, shape[3]), mode="BILINEAR")
    )


def weights(b: NnefWriter, extent: int, factor: int, method: str, border: str) -> Array:
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
            raise b.error(f"border '{border}' has nothing to show beyond an extent of {extent}")
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


MAPPERS: Final[Mapping[str, Mapper]] = {"multilinear_upsample": multilinear_upsample}
