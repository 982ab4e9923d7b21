"""Operations of tract_core (`vendor.nnef`) that choose elements by index or in order, or make indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....lower import layout
from ....lower.elementary import converted
from ....lower.problems import check_made
from ....lower.ranking import extremes
from ....lower.views import shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def gather(b: NnefWriter, operation: Operation) -> Tensor:
    """Constant indices may be negative, and may be numbers; others are integers that count from 0."""
    x, indices = b.value(operation.arguments["input"], 1), b.value(operation.arguments["indices"])
    (axis,) = b.axes((operation.arguments["axis"],), len(shape_of(x)))
    if indices.data is None or not b.with_data:
        return layout.gather(b, x, converted(b, indices, types.i32), axis)
    return layout.at_constant(b, x, indices.data, axis)


def gather_elements(b: NnefWriter, operation: Operation) -> Tensor:
    x, indices = b.value(operation.arguments["input"], 1), b.value(operation.arguments["indices"])
    (axis,) = b.axes((operation.arguments["axis"],), len(shape_of(x)))
    return layout.gather_elements(b, x, converted(b, indices, types.i32), axis)


def one_hot(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    x = b.value(arguments["input"])
    (axis,) = b.axes((arguments["axis"],), len(shape_of(x)) + 1)
    return layout.one_hot(b, x, axis, arguments["dim"], arguments["value_off"], arguments["value_on"])


def range_(b: NnefWriter, operation: Operation) -> Tensor:
    start, end, step = (int(operation.arguments[name]) for name in ("start", "end", "step"))
    if step == 0 or not range(start, end, step):
        raise b.error(f"from {start} to {end} in steps of {step} there are no elements")
    check_made(len(range(start, end, step)), "a range")
    return b.const(np.arange(start, end, step), types.i32)


def shape_of_(b: NnefWriter, operation: Operation) -> Tensor:
    return b.const(np.array(shape_of(b.value(operation.arguments["input"]))), types.i32)


def broadcast(b: NnefWriter, operation: Operation) -> Tensor:
    x, wanted = b.value(operation.arguments["input"]), operation.arguments["shape"]
    shape = (1,) * (len(wanted) - len(shape_of(x))) + shape_of(x)
    if len(shape) != len(wanted) or any(n not in (1, m) for n, m in zip(shape, wanted, strict=True)):
        raise b.error(f"shape {list(shape_of(x))} can't become {list(wanted)}")
    repeats = [m // n for n, m in zip(shape, wanted, strict=True)]
    return layout.tiled(b, b.reshape(x, shape), repeats)


def trilu(b: NnefWriter, operation: Operation) -> Tensor:
    x, upper = b.value(operation.arguments["input"]), operation.arguments["upper"]
    if len(shape_of(x)) < 2:
        raise b.error(f"needs a tensor of rank 2 or more, got shape {list(shape_of(x))}")
    return layout.triangle(b, x, int(operation.arguments["k"]), upper=upper)


def topk(b: NnefWriter, operation: Operation) -> list[Tensor]:
    """Values and indices, in order."""
    arguments = operation.arguments
    x = b.value(arguments["input"], 1)
    (axis,) = b.axes((arguments["axis"],), len(shape_of(x)))
    return list(extremes(b, x, axis, int(arguments["k"]), largest=arguments["largest"]))


MAPPERS: Final[Mapping[str, Mapper]] = {
    "tract_core_gather": gather,
    "tract_core_gather_elements": gather_elements,
    "tract_core_one_hot": one_hot,
    "tract_core_range": range_,
    "tract_core_shape_of": shape_of_,
    "tract_core_broadcast": broadcast,
    "tract_core_trilu": trilu,
    "tract_core_topk": topk,
}
