"""Regions of interest (section 4.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....lower import regions
from ....lower.views import shape_of
from ....types import count
from .resize import method_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def _operands(b: NnefWriter, operation: Operation) -> tuple[Tensor, Tensor, Sequence[int]]:
    """The feature maps of the regions' batch items [N, C, ...], the regions [N, 2 * M], and the output's extents."""
    arguments = operation.arguments
    x, rois, items = (b.value(arguments[name]) for name in ("input", "rois", "batch_index"))
    size, spatial = arguments["output_size"], len(shape_of(x)) - 2
    number_of = shape_of(rois)[0] if shape_of(rois) else 0
    if spatial < 1 or len(size) != spatial or min(size, default=0) < 1:
        raise b.error(f"'output_size' needs {spatial} positive items, got {list(size)}")
    if shape_of(rois) != (number_of, 2 * spatial) or count(shape_of(items)) != number_of:
        wrong = f"'rois' of shape {list(shape_of(rois))} and 'batch_index' of shape {list(shape_of(items))}"
        raise b.error(f"{wrong}; wanted [N, {2 * spatial}] and [N, 1]")
    return regions.maps_of(b, x, items), rois, size


def avg_roi_pool(b: NnefWriter, operation: Operation) -> Tensor:
    return regions.averages(b, *_operands(b, operation))


def max_roi_pool(b: NnefWriter, operation: Operation) -> Tensor:
    return regions.maxima(b, *_operands(b, operation))


def roi_resample(b: NnefWriter, operation: Operation) -> Tensor:
    return regions.resampled(b, *_operands(b, operation), method_of(b, operation.arguments["method"]))


MAPPERS: Final[Mapping[str, Mapper]] = {
    "avg_roi_pool": avg_roi_pool,
    "max_roi_pool": max_roi_pool,
    "roi_resample": roi_resample,
}
