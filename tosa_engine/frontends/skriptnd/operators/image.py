"""image and algo: what has no formula, and resizing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ....lower import grids, regions
from ....lower.axes import each_repeated
from ....lower.pool import average_pool, sum_pool
from ....lower.ranking import extremes
from ....lower.resize import resized, upsampled
from ....lower.views import shape_of
from ....lower.windows import Window, windows
from ....types import count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..writer import Call

_NEAREST: Final = {
    "FLOOR": "floor", "CEIL": "ceil", "ROUND_PREFER_FLOOR": "round_prefer_floor",
    "ROUND_PREFER_CEIL": "round_prefer_ceil",
}  # fmt: skip
_COORDINATES: Final = {"SYMMETRIC": "half_pixel", "ASYMMETRIC": "asymmetric", "ALIGNED": "align_corners"}


def top_k(c: Call) -> list[Tensor]:
    axis = c.axes("axis")[0]
    return list(extremes(c.b, c.x(), axis, c.shape[axis], largest=c["largest"]))


def roi_pool(lowering: Callable[..., Tensor], c: Call) -> Tensor:
    x, rois, index = c.x(0), c.x(1), c.x(2)
    return lowering(c.b, regions.maps_of(c.b, x, index), rois, c["output_size"])


def linear_upsample(c: Call) -> Tensor | None:
    factors = dict(zip(c.axes(), c["factor"], strict=True))
    rank = len(c.shape)
    if rank < 3 or any(factors.get(i, 1) != 1 for i in (0, 1)):
        return None
    method = "symmetric" if c["symmetric"] else "asymmetric"
    border = "replicate" if c["replicate_border"] else "constant"
    return upsampled(c.b, c.x(), [factors.get(i, 1) for i in range(2, rank)], method, border)


def resize(interpolation: str, c: Call) -> Tensor:
    """By whole factors of spatial axes as upsampling is; else by a matrix along each axis."""
    old, new = shape_of(c.x()), c.shape
    whole = len(new) > 2 and old[:2] == new[:2] and all(m % n == 0 for n, m in zip(old, new, strict=True))
    if interpolation == "linear" and whole:
        factors = [m // n for n, m in zip(old[2:], new[2:], strict=True)]
        return upsampled(c.b, c.x(), factors, c["coordinate_transform"].lower(), "replicate")
    scales = [m / n for n, m in zip(old, new, strict=True)]
    nearest = _NEAREST[c["rounding_method"]] if interpolation == "nearest" else "floor"
    return resized(c.b, c.x(), new, scales, _COORDINATES[c["coordinate_transform"]], interpolation, nearest)


def nearest_upsample(c: Call) -> Tensor:
    x = c.x()
    for axis, factor in zip(c.axes(), c["factor"], strict=True):
        x = each_repeated(c.b, x, axis, factor)
    return x


def nearest_downsample(c: Call) -> Tensor:
    """Windows of one element."""
    factors, extents = dict(zip(c.axes(), c["factor"], strict=True)), shape_of(c.x())
    one = (1,) * len(extents)
    strides = [factors.get(i, 1) for i in range(len(extents))]
    return sum_pool(c.b, c.x(), windows(extents, one, strides, one, ((0, 0),) * len(extents)), "constant")


def cubic_resize(c: Call) -> Tensor | None:
    if c["coeff_a"] != -0.75:
        return None
    old, new = shape_of(c.x()), c.shape
    scales = [m / n for n, m in zip(old, new, strict=True)]
    return resized(c.b, c.x(), new, scales, _COORDINATES[c["coordinate_transform"]], "cubic", "floor")


def cubic_grid_sample(c: Call) -> Tensor:
    """The grid's last axis has the coordinates of the last axis first."""
    x, grid = c.x(0), c.x(1)
    shape, places = shape_of(x), shape_of(grid)
    spatial, aligned = len(shape) - 2, c["aligned"]
    flat = c.b.reshape(grid, (places[0], count(places[1:-1]), spatial))
    at = [
        grids.unnormalized(
            c.b,
            c.b.reshape(c.b.section(flat, 2, spatial - 1 - i, 1), shape_of(flat)[:2]),
            shape[2 + i],
            aligned=aligned,
        )
        for i in range(spatial)
    ]
    padding = {"ZEROS": "zeros", "REFLECT": "reflection", "REPLICATE": "border"}[c["padding"]]
    return c.b.reshape(grids.sampled(c.b, x, at, "cubic", padding, aligned=aligned), c.shape)


def area_downsample(c: Call) -> Tensor:
    factors = dict(zip(c.axes(), c["factor"], strict=True))
    found = [Window(factors.get(i, 1), factors.get(i, 1), 1, 0, 0, n) for i, n in enumerate(c.shape)]
    return average_pool(c.b, c.x(), found, "constant")


MAPPERS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "algo.top_k": top_k,
    "image.max_roi_pool": partial(roi_pool, regions.maxima),
    "image.avg_roi_pool": partial(roi_pool, regions.averages),
    "image.linear_upsample": linear_upsample,
    "image.linear_resize": partial(resize, "linear"),
    "image.nearest_resize": partial(resize, "nearest"),
    "image.nearest_upsample": nearest_upsample,
    "image.nearest_downsample": nearest_downsample,
    "image.area_downsample": area_downsample,
    "image.cubic_resize": cubic_resize,
    "image._cubic_grid_sample": cubic_grid_sample,
}
