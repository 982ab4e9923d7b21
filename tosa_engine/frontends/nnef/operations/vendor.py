"""Operations that aren't the standard's (`vendor.nnef`): the error function, resizing to any extent, rounding, Einstein
sums, products, exclusive or.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ....lower.einsum import einsum as einstein_sum
from ....lower.elementary import compared, round_even
from ....lower.reductions import reduced
from ....lower.resize import COORDINATES, INTERPOLATORS, NEAREST, resized
from ....lower.views import shape_of
from ..language.syntax import Name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def erf(b: NnefWriter, operation: Operation) -> Tensor:
    return b.unary("ERF", b.value(operation.arguments["x"]))


def resize(b: NnefWriter, operation: Operation) -> Tensor:
    """`tract_core_resize`, whose words are ONNX's."""
    arguments = operation.arguments
    x = b.value(arguments["input"])
    ways = {"coord_transformer": COORDINATES, "interpolator": INTERPOLATORS, "nearest_mode": NEAREST}
    for name, known in ways.items():
        if arguments[name] not in known:
            raise b.unsupported(f"{name} = '{arguments[name]}'; supported: {', '.join(known)}")
    extents, scales = _extents(b, operation, shape_of(x))
    return resized(b, x, extents, scales, *(arguments[name] for name in ways))


def _extents(b: NnefWriter, operation: Operation, shape: tuple[int, ...]) -> tuple[list[int], list[float]]:
    """Of every axis the new extent, and how many times the old one it is, from `scales` or `sizes`."""
    given = {name: operation.arguments[name] for name in ("scales", "sizes")}
    named = [name for name, value in given.items() if isinstance(value, Name)]
    if len(named) != 1:
        raise b.error("needs one tensor, scales or sizes")
    values = b.numbers(given[named[0]])
    if len(values) != len(shape) or not all(math.isfinite(v) and v > 0 for v in values):
        raise b.error(f"{named[0]} {values} don't fit an input of shape {list(shape)}")
    if named == ["sizes"]:
        return [int(v) for v in values], [v / n for v, n in zip(values, shape, strict=True)]
    return [math.floor(n * v) for v, n in zip(values, shape, strict=True)], values


def rounded(b: NnefWriter, operation: Operation) -> Tensor:
    return round_even(b, b.value(operation.arguments["input"]))


def einsum(b: NnefWriter, operation: Operation) -> Tensor:
    return einstein_sum(b, operation.arguments["expr"], [b.value(v) for v in operation.arguments["inputs"]])


def xor(b: NnefWriter, operation: Operation) -> Tensor:
    return compared(b, "LOGICAL_XOR", *b.operands(operation.arguments["x"], operation.arguments["y"]))


def product(b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["input"], 1)
    return reduced(b, "REDUCE_PRODUCT", x, b.axes(operation.arguments["axes"], len(shape_of(x))))


MAPPERS: Final[Mapping[str, Mapper]] = {
    "erf": erf,
    "tract_core_resize": resize,
    "tract_core_round_even": rounded,
    "tract_core_einsum": einsum,
    "tract_core_xor": xor,
    "tract_core_product_reduce": product,
}
