"""What happens along one axis of a tensor: steps, repetition, reversal, products.

TOSA has no SLICE with a stride; these are views, slices and concatenations of at most four axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import types
from ..types import count
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from ..types import Array
    from .writer import Writer

MAX_CONCAT: Final = 64
FLAT: Final[dict[str, Any]] = {
    "pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": types.fp32, "local_bound": False,
}  # fmt: skip


def channels_last(g: Writer, x: Tensor) -> Tensor:
    """Channels from axis 1 to the end."""
    rank = len(shape_of(x))
    return g.transpose(x, (0, *range(2, rank), 1))


def channels_second(g: Writer, x: Tensor) -> Tensor:
    """Channels from the end to axis 1."""
    rank = len(shape_of(x))
    return g.transpose(x, (0, rank - 1, *range(1, rank - 1)))


def three(g: Writer, x: Tensor, axis: int) -> Tensor:
    """`x` as [axes before, axis, axes behind]."""
    shape = shape_of(x)
    return g.reshape(x, (count(shape[:axis]), shape[axis], count(shape[axis + 1 :])))


def back(g: Writer, x: Tensor, like: Tensor, axis: int) -> Tensor:
    """`x`, as `three` made it, with the other axes of `like`."""
    shape = list(shape_of(like))
    shape[axis] = shape_of(x)[1]
    return g.reshape(x, shape)


def joined(g: Writer, parts: Sequence[Tensor], axis: int) -> Tensor:
    """CONCAT of any number of tensors."""
    found = list(parts)
    while len(found) > 1:
        found = [g.concat(found[i : i + MAX_CONCAT], axis) for i in range(0, len(found), MAX_CONCAT)]
    return found[0]


def part(g: Writer, x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """Elements start to start + size - 1 of an axis; of a constant, a constant."""
    if (start, size) == (0, shape_of(x)[axis]):
        return x
    return g.section(x, axis, start, size)


def every(g: Writer, x: Tensor, axis: int, start: int, step: int, size: int) -> Tensor:
    """The `size` elements start, start + step, ... of an axis."""
    if step == 1 or size == 1:
        return part(g, x, axis, start, size)
    if x.data is not None:
        wanted = [slice(None)] * x.data.ndim
        wanted[axis] = slice(start, start + (size - 1) * step + 1, step)
        return g.const(x.data[tuple(wanted)], x.dtype, "every")
    flat, extent = three(g, x, axis), shape_of(x)[axis]
    whole = size if start + size * step <= extent else size - 1  # of the last block there may be only the first element
    blocks = g.reshape(part(g, flat, 1, start, whole * step), (shape_of(flat)[0], whole, step, shape_of(flat)[2]))
    chosen = g.reshape(part(g, blocks, 2, 0, 1), (shape_of(flat)[0], whole, shape_of(flat)[2]))
    if whole < size:
        chosen = g.concat([chosen, part(g, flat, 1, start + whole * step, 1)], 1)
    return back(g, chosen, x, axis)


def reversed_(g: Writer, x: Tensor, axis: int) -> Tensor:
    if shape_of(x)[axis] == 1:
        return x
    if x.data is not None:
        return g.const(np.flip(x.data, axis), x.dtype, "reversed")
    return g.operator("REVERSE", [x], shape_of(x), axis=axis)


def repeated(g: Writer, x: Tensor, axis: int, times: int) -> Tensor:
    """The axis `times` times, one after the other."""
    if times == 1:
        return x
    shape = list(shape_of(x))
    multiples = [times if i == axis else 1 for i in range(len(shape))]
    if x.data is not None:
        return g.const(np.tile(x.data, multiples), x.dtype, "tiled")
    shape[axis] *= times
    return g.operator("TILE", [x, g.dims(multiples)], tuple(shape))


def each_repeated(g: Writer, x: Tensor, axis: int, times: int) -> Tensor:
    """Every element of the axis `times` times."""
    if times == 1:
        return x
    flat = three(g, x, axis)
    before, extent, behind = shape_of(flat)
    tiled = repeated(g, g.reshape(flat, (before, extent, 1, behind)), 2, times)
    return back(g, g.reshape(tiled, (before, extent * times, behind)), x, axis)


def spread(g: Writer, x: Tensor, axis: int, step: int) -> Tensor:
    """`step` - 1 zeros between two elements of the axis."""
    if step == 1 or shape_of(x)[axis] == 1:
        return x
    flat = three(g, x, axis)
    before, extent, behind = shape_of(flat)
    if x.data is not None:
        wide = np.zeros((before, (extent - 1) * step + 1, behind), x.dtype.storage)
        wide[:, ::step] = flat.data
        return back(g, g.const(wide, x.dtype, "spread"), x, axis)
    padded = g.pad(g.reshape(flat, (before, extent, 1, behind)), (0, 0, 0, 0), (0, 0, step - 1, 0))
    whole = g.reshape(padded, (before, extent * step, behind))
    return back(g, part(g, whole, 1, 0, (extent - 1) * step + 1), x, axis)


def matrix(g: Writer, x: Tensor, axis: int, weights: Array) -> Tensor:
    """The axis multiplied by a constant matrix of shape [output, input]: a CONV2D with a 1x1 kernel."""
    shape = shape_of(x)
    outputs, inputs = weights.shape
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    turned = g.transpose(x, order)
    rows = g.reshape(turned, (count(shape) // inputs, 1, 1, inputs))
    zero, bias = g.scalar(0.0), g.scalar(0.0)
    kernel = g.const(np.asarray(weights, np.float32).reshape(outputs, 1, 1, inputs), types.fp32, "matrix")
    product = g.operator("CONV2D", [rows, kernel, bias, zero, zero], (count(shape) // inputs, 1, 1, outputs), **FLAT)
    whole = g.reshape(product, (*(shape[i] for i in order[:-1]), outputs))
    return g.transpose(whole, [order.index(i) for i in range(len(shape))])
