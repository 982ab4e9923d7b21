"""Operations that aren't the standard's (`vendor.nnef`): the error function, and resizing to any extent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..language.syntax import Name
from .along import matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ....types import Array
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper

MAX_EXTENT: Final = 1 << 14  # of a resized axis: it is a product with a matrix


def erf(b: NnefWriter, operation: Operation) -> Tensor:
    return b.unary("ERF", b.value(operation.arguments["x"]))


def resize(b: NnefWriter, operation: Operation) -> Tensor:
    """`tract_core_resize`: where output i looks at the input is what `coord_transformer` says, as ONNX names them."""
    arguments = operation.arguments
    x = b.value(arguments["input"])
    shape = b.shape_of(x)
    ways = {"coord_transformer": PLACES, "interpolator": INTERPOLATORS, "nearest_mode": NEAREST}
    for name, known in ways.items():
        if arguments[name] not in known:
            raise b.unsupported(f"{name} = '{arguments[name]}'; supported: {', '.join(known)}")
    for axis, (extent, scale) in enumerate(_extents(b, operation, shape)):
        if extent != shape[axis]:
            if not 1 <= extent <= MAX_EXTENT:
                raise b.error(f"axis {axis} would have {extent} elements; 1 to {MAX_EXTENT} are possible")
            x = matrix(b, x, axis, _weights(shape[axis], extent, scale, arguments))
    return x


def _extents(b: NnefWriter, operation: Operation, shape: tuple[int, ...]) -> list[tuple[int, float]]:
    """Of every axis the new extent, and how many times the old one it is, from `scales` or `sizes`."""
    given = {name: operation.arguments[name] for name in ("scales", "sizes")}
    named = [name for name, value in given.items() if isinstance(value, Name)]
    if len(named) != 1:
        raise b.error("needs one tensor, scales or sizes")
    values = b.numbers(given[named[0]])
    if len(values) != len(shape) or not all(math.isfinite(v) and v > 0 for v in values):
        raise b.error(f"{named[0]} {values} don't fit an input of shape {list(shape)}")
    if named == ["sizes"]:
        return [(int(v), v / n) for v, n in zip(values, shape, strict=True)]
    return [(math.floor(n * v), v) for v, n in zip(values, shape, strict=True)]


def _weights(extent: int, wanted: int, scale: float, how: Mapping[str, Any]) -> Array:
    """[wanted, extent]: how much of every input is in every output. Beyond its ends the input goes on unchanged."""
    at = PLACES[how["coord_transformer"]](np.arange(wanted, dtype=np.float64), scale, extent, wanted)
    found = np.zeros((wanted, extent))
    rows = np.arange(wanted)
    if how["interpolator"] == "nearest":
        nearest = NEAREST[how["nearest_mode"]](at).astype(np.int64)
        found[rows, np.clip(nearest, 0, extent - 1)] = 1
        return found
    low = np.floor(at).astype(np.int64)
    for index, share in ((low, 1 - (at - low)), (low + 1, at - low)):
        np.add.at(found, (rows, np.clip(index, 0, extent - 1)), share)
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


PLACES: Final[Mapping[str, Callable[[Array, float, int, int], Array]]] = {
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
INTERPOLATORS: Final = ("nearest", "linear")

MAPPERS: Final[Mapping[str, Mapper]] = {"erf": erf, "tract_core_resize": resize}
