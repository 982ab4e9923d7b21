"""What happens along one axis of a tensor: borders, steps, repetition. TOSA has no SLICE with a stride and PAD knows
constants only; both are views, slices and concatenations here, of at most four axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import types
from ....types import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..build import NnefWriter
    from .spans import Span

MAX_CONCAT = 64


def three(b: NnefWriter, x: Tensor, axis: int) -> Tensor:
    """`x` as [axes before, axis, axes behind]."""
    shape = b.shape_of(x)
    return b.reshape(x, (count(shape[:axis]), shape[axis], count(shape[axis + 1 :])))


def back(b: NnefWriter, x: Tensor, like: Tensor, axis: int) -> Tensor:
    """`x`, as `three` made it, with the other axes of `like`."""
    shape = list(b.shape_of(like))
    shape[axis] = b.shape_of(x)[1]
    return b.reshape(x, shape)


def joined(b: NnefWriter, parts: Sequence[Tensor], axis: int) -> Tensor:
    """CONCAT of any number of tensors."""
    found = list(parts)
    while len(found) > 1:
        found = [b.concat(found[i : i + MAX_CONCAT], axis) for i in range(0, len(found), MAX_CONCAT)]
    return found[0]


def part(b: NnefWriter, x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """Elements start to start + size - 1 of an axis; of a constant, a constant."""
    if (start, size) == (0, b.shape_of(x)[axis]):
        return x
    return b.section(x, axis, start, size)


def every(b: NnefWriter, x: Tensor, axis: int, start: int, step: int, size: int) -> Tensor:
    """The `size` elements start, start + step, ... of an axis."""
    if step == 1 or size == 1:
        return part(b, x, axis, start, size)
    if x.data is not None:
        wanted = [slice(None)] * x.data.ndim
        wanted[axis] = slice(start, start + (size - 1) * step + 1, step)
        return b.const(x.data[tuple(wanted)], x.dtype, "every")
    flat, extent = three(b, x, axis), b.shape_of(x)[axis]
    whole = size if start + size * step <= extent else size - 1  # of the last block there may be only the first element
    blocks = b.reshape(part(b, flat, 1, start, whole * step), (b.shape_of(flat)[0], whole, step, b.shape_of(flat)[2]))
    chosen = b.reshape(part(b, blocks, 2, 0, 1), (b.shape_of(flat)[0], whole, b.shape_of(flat)[2]))
    if whole < size:
        chosen = b.concat([chosen, part(b, flat, 1, start + whole * step, 1)], 1)
    return back(b, chosen, x, axis)


def reversed_(b: NnefWriter, x: Tensor, axis: int) -> Tensor:
    if b.shape_of(x)[axis] == 1:
        return x
    if x.data is not None:
        return b.const(np.flip(x.data, axis), x.dtype, "reversed")
    return b.operator("REVERSE", [x], b.shape_of(x), axis=axis)


def repeated(b: NnefWriter, x: Tensor, axis: int, times: int) -> Tensor:
    """The axis `times` times, one after the other."""
    if times == 1:
        return x
    shape = list(b.shape_of(x))
    multiples = [times if i == axis else 1 for i in range(len(shape))]
    if x.data is not None:
        return b.const(np.tile(x.data, multiples), x.dtype, "tiled")
    shape[axis] *= times
    return b.operator("TILE", [x, b.dims(multiples)], tuple(shape))


def each_repeated(b: NnefWriter, x: Tensor, axis: int, times: int) -> Tensor:
    """Every element of the axis `times` times."""
    if times == 1:
        return x
    flat = three(b, x, axis)
    before, extent, behind = b.shape_of(flat)
    tiled = repeated(b, b.reshape(flat, (before, extent, 1, behind)), 2, times)
    return back(b, b.reshape(tiled, (before, extent * times, behind)), x, axis)


def spread(b: NnefWriter, x: Tensor, axis: int, step: int) -> Tensor:
    """`step` - 1 zeros between two elements of the axis."""
    if step == 1 or b.shape_of(x)[axis] == 1:
        return x
    flat = three(b, x, axis)
    before, extent, behind = b.shape_of(flat)
    if x.data is not None:
        wide = np.zeros((before, (extent - 1) * step + 1, behind), x.dtype.storage)
        wide[:, ::step] = flat.data
        return back(b, b.const(wide, x.dtype, "spread"), x, axis)
    padded = b.pad(b.reshape(flat, (before, extent, 1, behind)), (0, 0, 0, 0), (0, 0, step - 1, 0))
    whole = b.reshape(padded, (before, extent * step, behind))
    return back(b, part(b, whole, 1, 0, (extent - 1) * step + 1), x, axis)


def extended(b: NnefWriter, x: Tensor, axis: int, before: int, after: int, border: str, value: float = 0.0) -> Tensor:
    """The axis with `before` and `after` more elements as `border` says (section 4.3); fewer where they are negative.

    `value` is what the border 'constant' has, and 'ignore', which has no value of its own.
    """
    extent = b.shape_of(x)[axis] + min(before, 0) + min(after, 0)
    if extent < 1:
        raise b.error(f"padding ({before}, {after}) leaves nothing of the extent {b.shape_of(x)[axis]}")
    if border not in ("constant", "ignore"):
        return _mirrored(b, x, axis, before, after, border)
    x = part(b, x, axis, max(-before, 0), extent)
    if before <= 0 and after <= 0:
        return x
    amounts = [[max(n, 0) if i == axis else 0 for i in range(len(b.shape_of(x)))] for n in (before, after)]
    return b.pad(x, amounts[0], amounts[1], value)


def _mirrored(b: NnefWriter, x: Tensor, axis: int, before: int, after: int, border: str) -> Tensor:
    """'replicate', 'reflect' and 'reflect-even' look at the whole input, also where the other end is cut off."""
    extent = b.shape_of(x)[axis]
    parts = [part(b, x, axis, max(-before, 0), extent + min(before, 0) + min(after, 0))]
    even = border == "reflect-even"
    most = extent if even else extent - 1
    if border != "replicate" and max(before, after) > most:
        raise b.error(f"padding ({before}, {after}) is more than '{border}' has to show of an extent of {extent}")
    if before > 0:
        edge = part(b, x, axis, 0 if even else 1, before) if border != "replicate" else None
        parts.insert(0, _edge(b, x, axis, 0, before) if edge is None else reversed_(b, edge, axis))
    if after > 0:
        edge = part(b, x, axis, extent - after - (not even), after) if border != "replicate" else None
        parts.append(_edge(b, x, axis, extent - 1, after) if edge is None else reversed_(b, edge, axis))
    return joined(b, parts, axis)


def _edge(b: NnefWriter, x: Tensor, axis: int, index: int, times: int) -> Tensor:
    return repeated(b, part(b, x, axis, index, 1), axis, times)


def extended_all(
    b: NnefWriter, x: Tensor, windows: Sequence[Span], border: str, value: float = 0.0, first: int = 0
) -> Tensor:
    """The borders of windows over the axes `first`, `first` + 1, ... added to `x`, or cut off."""
    for axis, window in enumerate(windows, first):
        if (window.before, window.after) != (0, 0):
            x = extended(b, x, axis, window.before, window.after, border, value)
    return x


def matrix(b: NnefWriter, x: Tensor, axis: int, weights: Array) -> Tensor:
    """The axis multiplied by a constant matrix of shape [output, input]: a CONV2D with a 1x1 kernel."""
    shape = b.shape_of(x)
    outputs, inputs = weights.shape
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    turned = b.transpose(x, order)
    rows = b.reshape(turned, (count(shape) // inputs, 1, 1, inputs))
    zero, bias = b.scalar(0.0), b.scalar(0.0)
    kernel = b.const(np.asarray(weights, np.float32).reshape(outputs, 1, 1, inputs), types.fp32, "matrix")
    product = b.operator("CONV2D", [rows, kernel, bias, zero, zero], (count(shape) // inputs, 1, 1, outputs), **FLAT)
    whole = b.reshape(product, (*(shape[i] for i in order[:-1]), outputs))
    return b.transpose(whole, [order.index(i) for i in range(len(shape))])


FLAT: dict[str, Any] = {
    "pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": types.fp32, "local_bound": False,
}  # fmt: skip
