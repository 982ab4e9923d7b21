"""Resize and Upsample: where each output looks at the input, and how much of every input it takes.

Whole factors are RESIZE where it does; everything else is a product with a constant matrix along each axis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....lower.axes import channels_last, channels_second, matrix
from ....lower.elementary import chosen
from ....lower.resize import upsampled
from ....lower.views import shape_of
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..call import Call
    from ..values import Value

METHODS: Final = {"half_pixel": "symmetric", "pytorch_half_pixel": "symmetric", "align_corners": "aligned",
                  "asymmetric": "asymmetric"}  # fmt: skip
ROUNDINGS: Final[Mapping[str, Callable[[Array], Array]]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}
LARGEST: Final = 1 << 14  # extent of an axis that is a product with a matrix


def resize(call: Call) -> Value:
    shape = call.shape(0)
    axes = [call.axis(axis, len(shape)) for axis in call.attribute("axes") or range(len(shape))]
    scales, extents = _targets(call, shape, axes)
    mode, coordinates = (
        call.attribute("mode", "nearest"),
        call.attribute("coordinate_transformation_mode", "half_pixel"),
    )
    if call.op == "Upsample" or call.version == 10:
        coordinates = "asymmetric"
    if call.op == "Upsample" and mode not in ("nearest", "linear"):
        mode = "linear"
    changed = [i for i, axis in enumerate(axes) if extents[i] != shape[axis] or coordinates == "tf_crop_and_resize"]
    x = call.tensor(0)
    whole = _by_whole_factors(call, x, mode, coordinates, [axes[i] for i in changed], [scales[i] for i in changed])
    if whole is not None:
        return value_of(whole, call.element())
    wide = call.cast(x, types.fp32) if x.dtype is not types.fp32 else x
    inside = np.ones(1, bool)
    for i in changed:
        axis = axes[i]
        places, within = _places(call, coordinates, i, axes, shape[axis], scales[i], extents[i])
        wide = matrix(call.g, wide, axis, _weights(call, mode, places, shape[axis], scales[i]))
        inside = inside & within.reshape((-1,) + (1,) * (len(shape) - axis - 1)) if not within.all() else inside
    if not inside.all():
        wide = _outside(call, wide, inside)
    return value_of(_back(call, wide), call.element())


def _back(call: Call, x: Tensor) -> Tensor:
    if call.element().is_integer:
        raise Unsupported(f"interpolation of {call.element()}")
    return call.cast(x, call.tensor(0).dtype)


def _outside(call: Call, x: Tensor, inside: Array) -> Tensor:
    g, shape = call.g, shape_of(x)
    mask = g.const(
        np.broadcast_to(inside, shape[-inside.ndim :]).reshape(
            (1,) * (len(shape) - inside.ndim) + shape[-inside.ndim :]
        ),
        types.bool_,
    )
    filling = g.scalar(call.attribute("extrapolation_value", 0.0), x.dtype, len(shape))
    return chosen(g, mask, x, filling)


def _targets(call: Call, shape: Sequence[int], axes: Sequence[int]) -> tuple[list[float], list[int]]:
    """The scale and the new extent of each of `axes`. Raises GraphError."""
    at = 1 if call.op == "Upsample" or call.version == 10 else 2
    if "scales" in call.attributes:
        given: list[float] = list(call.attributes["scales"])
    else:
        given = [float(one) for one in call.known(at, "the scales").reshape(-1)] if call.has(at) else []
    if given:
        if len(given) != len(axes):
            raise GraphError(f"{len(given)} scales for {len(axes)} axes")
        return given, [math.floor(shape[axis] * scale) for axis, scale in zip(axes, given, strict=True)]
    sizes = call.integers(3, "the sizes")
    if len(sizes) != len(axes):
        raise GraphError(f"{len(sizes)} sizes for {len(axes)} axes")
    scales = [size / shape[axis] for axis, size in zip(axes, sizes, strict=True)]
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return scales, sizes
    one = min(scales) if policy == "not_larger" else max(scales)
    return [one] * len(axes), [math.floor(one * shape[axis] + 0.5) for axis in axes]


def _by_whole_factors(
    call: Call, x: Tensor, mode: str, coordinates: str, axes: Sequence[int], scales: Sequence[float]
) -> Tensor | None:
    """RESIZE, for whole factors of the last two of four axes."""
    shape, g = shape_of(x), call.g
    if not axes:
        return x
    fits = len(shape) == 4 and set(axes) <= {2, 3} and all(float(s).is_integer() and s >= 1 for s in scales)
    if not fits or call.attribute("antialias", 0):
        return None
    factors = [1, 1]
    for axis, factor in zip(axes, scales, strict=True):
        factors[axis - 2] = int(factor)
    if max(factors) > 64:
        return None
    if mode == "linear" and coordinates in METHODS and x.dtype is types.fp32:
        if coordinates == "align_corners" and min(shape[2:]) < 2:
            return None
        return upsampled(g, x, factors, METHODS[coordinates], "replicate")
    rounding = call.attribute("nearest_mode", "round_prefer_floor")
    repeats = (coordinates == "asymmetric" and (rounding == "floor" or call.version < 11)) or (
        coordinates in ("half_pixel", "half_pixel_symmetric") and rounding.startswith("round")
    )
    if mode != "nearest" or not repeats:
        return None
    image = channels_last(g, x)
    n, h, w, c = shape_of(image)
    scale = g.dims([value for f in factors for value in (2 * f, 2)])
    offset, border = g.dims([1 - f for f in factors]), g.dims([f - 1 for f in factors])
    extents = (n, h * factors[0], w * factors[1], c)
    return channels_second(g, g.operator("RESIZE", [image, scale, offset, border], extents, mode="NEAREST"))


def _places(
    call: Call, how: str, index: int, axes: Sequence[int], extent: int, scale: float, wanted: int
) -> tuple[Array, Array]:
    """Where each output looks at an axis, and whether that is inside."""
    if not 1 <= wanted <= LARGEST or extent > LARGEST:
        raise Unsupported(f"an axis of {extent} that becomes one of {wanted}")
    i = np.arange(wanted, dtype=np.float64)
    everywhere = np.ones(wanted, bool)
    if how == "half_pixel":
        return (i + 0.5) / scale - 0.5, everywhere
    if how == "half_pixel_symmetric":
        exact = extent * scale
        return extent / 2 * (1 - wanted / exact) + (i + 0.5) / scale - 0.5, everywhere
    if how == "pytorch_half_pixel":
        return ((i + 0.5) / scale - 0.5 if wanted > 1 else i * 0), everywhere
    if how == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale, everywhere
    if how == "align_corners":
        return (i * ((extent - 1) / (extent * scale - 1)) if wanted > 1 else i * 0), everywhere
    if how == "asymmetric":
        return i / scale, everywhere
    if how == "tf_crop_and_resize":
        roi = call.known(1, "the region").reshape(-1)
        start, end = float(roi[index]), float(roi[index + len(axes)])
        found = start * (extent - 1) + (
            i * (end - start) * (extent - 1) / (wanted - 1)
            if wanted > 1
            else 0.5 * (end - start) * (extent - 1) + 0 * i
        )
        return found, (found >= 0) & (found <= extent - 1)
    raise Unsupported(f"coordinate_transformation_mode '{how}'")


def _weights(call: Call, mode: str, places: Array, extent: int, scale: float) -> Array:
    """[outputs, extent]: how much of every input is in every output."""
    rows = np.arange(places.size)
    found = np.zeros((places.size, extent))
    if mode == "nearest":
        rounding = ROUNDINGS[call.attribute("nearest_mode", "round_prefer_floor")]
        if call.op == "Upsample" or call.version == 10:
            rounding = ROUNDINGS["floor"]
        found[rows, np.clip(rounding(places).astype(np.int64), 0, extent - 1)] = 1
        return found
    shrink = min(scale, 1.0) if call.attribute("antialias", 0) else 1.0
    kernel, reach = (_triangle, 1) if mode == "linear" else (_cubic(call.attribute("cubic_coeff_a", -0.75)), 2)
    wide = math.ceil(reach / shrink) + 1
    base = np.floor(places).astype(np.int64)
    for step in range(1 - wide, wide + 1):
        index = base + step
        share = kernel((index - places) * shrink)
        kept = (index >= 0) & (index < extent)
        if call.attribute("exclude_outside", 0):
            share = np.where(kept, share, 0)
        np.add.at(found, (rows, np.clip(index, 0, extent - 1)), share)
    total = found.sum(1, keepdims=True)
    return np.asarray(found / np.where(total == 0, 1, total))


def _triangle(x: Array) -> Array:
    return np.asarray(np.maximum(1 - np.abs(x), 0))


def _cubic(a: float) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        d = np.abs(x)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.asarray(np.where(d <= 1, near, np.where(d < 2, far, 0)))

    return kernel


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {"Resize": resize, "Upsample": resize}
