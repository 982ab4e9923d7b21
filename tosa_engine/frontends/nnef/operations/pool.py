"""Pooling, box filters, and positions in windows (sections 4.3.2, 4.3.3 and 4.9.3), over any axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ....lower import pool as pools
from ....lower import positions
from ....lower.views import shape_of
from .windows import border_of, reverse_windows_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....lower.windows import Window
    from ....lower.writer import Writer
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation

    Lowering = Callable[[Writer, Tensor, Sequence[Window], str], Tensor]


def _windows(b: NnefWriter, x: Tensor, arguments: Mapping[str, Any]) -> list[Window]:
    return windows_of(b, shape_of(x), arguments["size"], arguments)


def pool(lowering: Lowering, b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["input"], 1)
    windows = _windows(b, x, operation.arguments)
    return lowering(b, x, windows, border_of(b, operation.arguments))


def box(b: NnefWriter, operation: Operation) -> Tensor:
    return pool(pools.average_pool if operation.arguments["normalize"] else pools.sum_pool, b, operation)


def debox(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    x = b.value(arguments["input"], 1)
    shape, wanted = shape_of(x), arguments["output_shape"]
    if len(wanted) not in (0, len(shape)):
        raise b.error(f"'output_shape' needs {len(shape)} items or none, got {len(wanted)}")
    windows = reverse_windows_of(b, shape, arguments["size"], arguments, wanted)
    border = border_of(b, arguments)
    return pools.transposed_sum_pool(b, x, windows, border, normalize=arguments["normalize"])


def sample(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    x, index = b.value(arguments["input"], 1), b.value(arguments["index"], 1)
    windows = _windows(b, x, arguments)
    border = border_of(b, arguments)
    if shape_of(index) != tuple(w.output for w in windows):
        raise b.error(f"'index' of shape {list(shape_of(index))}, wanted {[w.output for w in windows]}")
    return positions.sampled(b, x, index, windows, border)


def desample(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    x, index = b.value(arguments["input"], 1), b.value(arguments["index"], 1)
    shape = shape_of(x)
    border_of(b, arguments)
    if shape_of(index) != shape:
        raise b.error(f"'index' of shape {list(shape_of(index))}, wanted {list(shape)}")
    windows = reverse_windows_of(b, shape, arguments["size"], arguments, arguments["output_shape"])
    return positions.put_back(b, x, index, windows)


max_pool = partial(pool, pools.max_pool)
argmax_pool = partial(pool, positions.places_of_maxima)


def max_pool_with_index(b: NnefWriter, operation: Operation) -> list[Tensor]:
    return [max_pool(b, operation), argmax_pool(b, operation)]


MAPPERS: Final[Mapping[str, Mapper]] = {
    "max_pool": max_pool,
    "avg_pool": partial(pool, pools.average_pool),
    "box": box,
    "debox": debox,
    "argmax_pool": argmax_pool,
    "sample": sample,
    "desample": desample,
    "max_pool_with_index": max_pool_with_index,
}
