"""Feature maps at places that are data, pooled regions, patches put back, and Fourier transforms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....lower import elementary as lower
from ....lower import fourier, grids, rois
from ....lower.layout import gather
from ....lower.positions import overlaid
from ....lower.regions import maps_of
from ....lower.views import shape_of
from ....lower.windows import transposed_windows
from ..writer import value_of
from .windows import windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..values import Value

MODES: Final = {"bilinear": "linear", "bicubic": "cubic"}  # names before operator set 20


def grid_sample(call: Call) -> Value:
    """The last axis of the grid counts the spatial axes from the last one on."""
    g, shape, wanted = call.g, call.shape(0), call.shape(1)
    spatial, places = len(shape) - 2, math.prod(wanted[1:-1])
    if spatial < 1 or len(wanted) != len(shape) or wanted[0] != shape[0] or wanted[-1] != spatial:
        raise GraphError(f"a grid of shape {list(wanted)} for a tensor of shape {list(shape)}")
    mode = call.attribute("mode", "linear")
    mode, padding = MODES.get(mode, mode), call.attribute("padding_mode", "zeros")
    if mode not in grids.METHODS or padding not in grids.PADDING:
        raise GraphError(f"mode '{mode}', padding_mode '{padding}'")
    aligned = bool(call.attribute("align_corners", 0))
    grid = call.cast(g.reshape(call.tensor(1), (shape[0], places, spatial)), types.fp32)
    at = [
        grids.unnormalized(
            g, g.reshape(g.section(grid, 2, spatial - 1 - axis, 1), (shape[0], places)), extent, aligned=aligned
        )
        for axis, extent in enumerate(shape[2:])
    ]
    x = call.cast(call.tensor(0), types.fp32)
    found = grids.sampled(g, x, at, mode, padding, aligned=aligned)
    return value_of(call.cast(g.reshape(found, (*shape[:2], *wanted[1:-1])), call.tensor(0).dtype), call.element())


def deform_conv(call: Call) -> Value:
    """Every tap of the kernel looks beside its place, as far as its offset says."""
    g, shape = call.g, call.shape(0)
    x, weight, offsets = (call.cast(call.tensor(i), types.fp32) for i in range(3))
    sizes, spatial, parts = shape_of(weight)[2:], len(shape) - 2, call.attribute("offset_group", 1)
    if spatial != 2:
        raise Unsupported(f"{spatial} spatial axes")
    windows = windows_of(call, shape[2:], sizes)
    outputs = [w.output for w in windows]
    taps, positions = math.prod(sizes), math.prod(outputs)
    if call.shape(2) != (shape[0], parts * taps * 2, *outputs):
        raise GraphError(f"offsets of shape {list(call.shape(2))} for {taps} taps at {outputs} places")
    offsets = g.reshape(offsets, (shape[0], parts, taps, 2, positions))
    places = []
    for axis, window in enumerate(windows):
        steps = _regular(axis, window.size, window.dilation, outputs, window.stride, -window.before, sizes)
        beside = g.reshape(g.section(offsets, 3, axis, 1), (shape[0], parts, taps, positions))
        at = g.binary("ADD", beside, g.const(steps.reshape(1, 1, taps, positions), x.dtype, "places"))
        places.append(g.reshape(at, (shape[0], parts, taps * positions)))
    mask = (
        g.reshape(call.cast(call.tensor(4), types.fp32), (shape[0], parts, taps * positions)) if call.has(4) else None
    )
    found = grids.deformed_convolution(g, x, weight, places, mask, call.attribute("group", 1), positions)
    found = g.reshape(found, (shape[0], shape_of(weight)[0], *outputs))
    if call.has(3):
        bias = call.cast(call.tensor(3), types.fp32)
        found = g.binary("ADD", found, g.reshape(bias, (1, call.shape(3)[0], 1, 1)))
    return value_of(call.cast(found, call.tensor(0).dtype), call.element())


def _regular(
    axis: int, size: int, dilation: int, outputs: list[int], stride: int, start: int, sizes: tuple[int, ...]
) -> Any:
    """Where the taps look without offsets, along one of two axes: [taps, positions]."""
    taps = np.arange(size) * dilation
    steps = np.arange(outputs[axis]) * stride + start
    inner = [-1 if i == axis else 1 for i in range(2)]
    each = np.broadcast_to(taps.reshape(inner), sizes).reshape(-1, 1)
    return each + np.broadcast_to(steps.reshape(inner), outputs).reshape(1, -1)


def roi_align(call: Call) -> Value:
    """Corners are x, y, x, y. Before operator set 16 they are those of elements, not their middles."""
    g, x, corners = call.g, call.cast(call.tensor(0), types.fp32), call.cast(call.tensor(1), types.fp32)
    samples = call.attribute("sampling_ratio", 0)
    if samples <= 0:
        raise Unsupported("sampling_ratio 0: the number of samples depends on the regions")
    middles = call.version >= 16 and call.attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    scaled = lower.times(g, corners, call.attribute("spatial_scale", 1.0))
    scaled = lower.plus(g, scaled, -0.5) if middles else scaled
    regions = _rows_first(call, scaled)
    items = g.reshape(call.wide(2), (1, call.shape(2)[0]))
    cells = (call.attribute("output_height", 1), call.attribute("output_width", 1))
    smallest = -math.inf if middles else 1.0
    pool = rois.averages_of_samples if call.attribute("mode", "avg") == "avg" else rois.maxima_of_samples
    found = pool(g, maps_of(g, x, items), regions, cells, samples, smallest)
    return value_of(call.cast(found, call.tensor(0).dtype), call.element())


def _rows_first(call: Call, corners: Tensor) -> Tensor:
    """x, y, x, y as y, x, y, x."""
    return gather(call.g, corners, call.g.const(np.array([1, 0, 3, 2]), types.i32, "order"), 1)


def max_roi_pool(call: Call) -> Value:
    """Of each region its number in the batch, and x, y, x, y of its first and last element, before they are scaled."""
    g, x, given = call.g, call.cast(call.tensor(0), types.fp32), call.cast(call.tensor(1), types.fp32)
    scaled = lower.times(g, g.section(given, 1, 1, 4), call.attribute("spatial_scale", 1.0))
    ends = call.cast(lower.round_(g, _rows_first(call, scaled)), types.i32)
    items = g.reshape(call.cast(g.section(given, 1, 0, 1), types.i32), (1, call.shape(1)[0]))
    cells = call.attributes["pooled_shape"]
    found = rois.maxima_of_elements(g, maps_of(g, x, items), ends, cells)
    return value_of(call.cast(found, call.tensor(0).dtype), call.element())


def col2im(call: Call) -> Value:
    image, block = call.integers(1, "the shape of the image"), call.integers(2, "the shape of a block")
    windows, spatial = windows_of(call, image, block), len(image)
    n, columns, positions = call.shape(0)
    if columns % math.prod(block) or positions != math.prod(w.output for w in windows):
        raise GraphError(f"columns of shape {list(call.shape(0))} for blocks of {block} in an image of {image}")
    channels = columns // math.prod(block)
    outputs = [w.output for w in windows]
    pads = call.attribute("pads") or [0] * (2 * spatial)
    spread = transposed_windows(
        outputs, block, [w.stride for w in windows], [w.dilation for w in windows],
        [(pads[i], pads[i + spatial]) for i in range(spatial)], image,
    )  # fmt: skip
    x = call.g.reshape(call.tensor(0), (n, channels, math.prod(block), *outputs))
    return value_of(overlaid(call.g, x, spread), call.element())


def dft(call: Call) -> Value:
    """Real or complex numbers are the last axis. Of a one-sided inverse, the length is 2 * (frequencies - 1)."""
    g, x, shape = call.g, call.cast(call.tensor(0), types.fp32), call.shape(0)
    given = call.attribute("axis", 1) if call.version < 20 else -2
    if call.version >= 20 and call.has(2):
        given = call.integers(2, "the axis")[0]
    axis = call.axis(given, len(shape))
    inverse, half = bool(call.attribute("inverse", 0)), bool(call.attribute("onesided", 0))
    length = 2 * (shape[axis] - 1) if inverse and half else shape[axis]
    length = call.integers(1, "the length")[0] if call.has(1) else length
    found = fourier.transformed(g, x, axis, length, inverse=inverse, onesided=half)
    return value_of(call.cast(found, call.tensor(0).dtype), call.element())


def stft(call: Call) -> Value:
    g, shape = call.g, call.shape(0)
    x = g.reshape(call.cast(call.tensor(0), types.fp32), (*shape, 1) if len(shape) == 2 else shape)
    step = call.integers(1, "the step")[0]
    window = call.cast(call.tensor(2), types.fp32) if call.has(2) else None
    length = call.integers(3, "the length")[0] if call.has(3) else call.shape(2)[0] if call.has(2) else shape[1]
    if window is not None and shape_of(window) != (length,):
        raise GraphError(f"a window of shape {list(shape_of(window))} for frames of {length}")
    found = fourier.of_frames(g, x, length, step, window, onesided=bool(call.attribute("onesided", 1)))
    return value_of(call.cast(found, call.tensor(0).dtype), call.element())


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "Col2Im": col2im,
    "DFT": dft,
    "DeformConv": deform_conv,
    "GridSample": grid_sample,
    "MaxRoiPool": max_roi_pool,
    "RoiAlign": roi_align,
    "STFT": stft,
}
