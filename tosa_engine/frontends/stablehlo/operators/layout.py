"""What moves elements and computes nothing: shapes, parts, borders, tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.axes import every, joined, reversed_
from ....lower.elementary import chosen
from ....lower.views import shape_of
from ..elements import U32, is_wide
from ..values import Value, known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..call import Call
    from ..writer import HloWriter


def same(call: Call) -> list[Value]:
    """Operations that pass on what they get."""
    return call.inputs[: len(call.operation.results)]


def reshape(call: Call) -> Value:
    if call.pointwise:
        return call.inputs[0]
    value = call.inputs[0]
    kept = [n for n in value.shape if n != 1]
    if kept == [n for n in call.shape if n != 1]:  # extents of 1 come and go: what repeats still does
        lean = call.g.lean(value)
        rest = iter([m for m, n in zip(shape_of(lean), value.shape, strict=True) if n != 1])
        return call.result(call.g.reshape(lean, [1 if n == 1 else next(rest) for n in call.shape]), value.element)
    return call.result(call.g.reshape(call.full(0), call.shape), value.element)


def broadcast_in_dim(call: Call) -> Value:
    """Only views: what repeats has an extent of 1 until somebody needs all of it."""
    value = call.inputs[0]
    if call.pointwise:
        return value
    lean, places = call.g.lean(value), call.integers("broadcast_dimensions")
    extents = [1] * len(call.shape)
    for axis, place in enumerate(places):
        extents[place] = shape_of(lean)[axis]
    turned = call.g.transpose(lean, [int(i) for i in np.argsort(places, kind="stable")])
    return call.result(call.g.reshape(turned, extents), value.element)


def transpose(call: Call) -> Value:
    return call.result(call.g.transpose(call.lean(0), call.integers("permutation")), call.inputs[0].element)


def concatenate(call: Call) -> Value:
    """Operands without elements are left out."""
    axis = call.attribute("dimension")
    parts = [call.g.full(value) for value in call.inputs if 0 not in value.shape]
    return call.result(joined(call.g, parts, axis), call.inputs[0].element)


def reverse(call: Call) -> Value:
    x = call.full(0)
    for axis in call.integers("dimensions"):
        x = reversed_(call.g, x, axis)
    return call.result(x, call.inputs[0].element)


def slice_(call: Call) -> Value:
    starts, ends, steps = (call.integers(name) for name in ("start_indices", "limit_indices", "strides"))
    return call.result(sliced(call.g, call.full(0), starts, ends, steps), call.inputs[0].element)


def sliced(g: HloWriter, x: Tensor, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> Tensor:
    plain = [step == 1 for step in steps]
    shape = shape_of(x)
    begin = [start if one else 0 for start, one in zip(starts, plain, strict=True)]
    sizes = [end - start if one else n for start, end, one, n in zip(starts, ends, plain, shape, strict=True)]
    for axis, (start, size) in enumerate(zip(begin, sizes, strict=True)):
        if x.data is not None and (start, size) != (0, shape[axis]):
            x = g.section(x, axis, start, size)
    x = g.slice(x, begin, sizes) if x.data is None else x
    for axis, step in enumerate(steps):
        if step != 1:
            x = every(g, x, axis, starts[axis], step, -(-(ends[axis] - starts[axis]) // step))
    return x


def real_dynamic_slice(call: Call) -> Value:
    starts, ends, steps = ([int(n) for n in call.known(i, "where a slice lies").reshape(-1)] for i in (1, 2, 3))
    return call.result(sliced(call.g, call.full(0), starts, ends, steps), call.inputs[0].element)


def pad(call: Call) -> Value:
    amounts = [call.integers(name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    return call.result(padded(call, call.full(0), call.inputs[1], *amounts), call.inputs[0].element)


def dynamic_pad(call: Call) -> Value:
    amounts = [[int(n) for n in call.known(i, "the padding").reshape(-1)] for i in (2, 3, 4)]
    return call.result(padded(call, call.full(0), call.inputs[1], *amounts), call.inputs[0].element)


def padded(
    call: Call, x: Tensor, value: Value, low: Sequence[int], high: Sequence[int], inner: Sequence[int]
) -> Tensor:
    """With elements between the others, then at both ends; where negative, elements are cut off."""
    g = call.g
    if value.data is None:
        return _padded_by_data(call, x, value, low, high, inner)
    number: Any = value.data.reshape(-1)[0]
    if value.element is U32:
        number = number.view(np.int32)
    if is_wide(value.element) and not types.i32.minimum <= int(number) <= types.i32.maximum:
        raise Unsupported(f"{value.element} {int(number)} as padding doesn't fit int32")
    return _padded(g, x, number, low, high, inner)


def _padded(
    g: HloWriter, x: Tensor, number: float, low: Sequence[int], high: Sequence[int], inner: Sequence[int]
) -> Tensor:
    for axis, between in enumerate(inner):
        if between and shape_of(x)[axis] > 1:
            x = _spread(g, x, axis, between, number)
    starts = [max(-n, 0) for n in low]
    sizes = [n - start - max(-m, 0) for n, start, m in zip(shape_of(x), starts, high, strict=True)]
    if x.data is None:
        x = g.slice(x, starts, sizes)
    else:
        for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            x = g.section(x, axis, start, size) if (start, size) != (0, shape_of(x)[axis]) else x
    before, after = [max(n, 0) for n in low], [max(n, 0) for n in high]
    if not any(before) and not any(after):
        return x
    return _bordered(g, x, before, after, number)


def _bordered(g: HloWriter, x: Tensor, before: Sequence[int], after: Sequence[int], number: float) -> Tensor:
    return g.pad(x, before, after, number.item() if hasattr(number, "item") else number)


def _spread(g: HloWriter, x: Tensor, axis: int, between: int, number: float) -> Tensor:
    shape = shape_of(x)
    opened = g.reshape(x, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    nothing = [0] * (len(shape) + 1)
    after = [between if i == axis + 1 else 0 for i in range(len(shape) + 1)]
    wide = g.reshape(
        _bordered(g, opened, nothing, after, number),
        (*shape[:axis], shape[axis] * (between + 1), *shape[axis + 1 :]),
    )
    return g.section(wide, axis, 0, shape[axis] * (between + 1) - between)


def _padded_by_data(
    call: Call, x: Tensor, value: Value, low: Sequence[int], high: Sequence[int], inner: Sequence[int]
) -> Tensor:
    """Zeros, and where they are the value."""
    g = call.g
    found = _padded(g, x, 0, low, high, inner)
    there = np.ones(shape_of(x), np.bool_)
    wide = np.zeros([max(n + (n - 1) * k, 0) for n, k in zip(there.shape, inner, strict=True)], np.bool_)
    wide[tuple(slice(None, None, k + 1) for k in inner)] = True
    cut = wide[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, wide.shape, strict=True))]
    mask = np.pad(cut, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)])
    number = g.reshape(g.lean(value), (1,) * len(mask.shape))
    return chosen(g, g.const(mask, types.bool_, "inside"), found, number)


def counted(call: Call) -> Value:
    """dynamic_iota: its shape is known, whatever says it."""
    axis, shape = call.attribute("iota_dimension"), call.shape
    line = np.arange(shape[axis]).astype(call.element.storage)
    along = line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return known(call.element, np.broadcast_to(along, shape))


def dimension_size(call: Call) -> Value:
    extent = call.inputs[0].shape[call.attribute("dimension")]
    return known(call.element, np.asarray(extent, call.element.storage))


def tuple_(call: Call) -> Value:
    if not call.inputs:
        raise Unsupported("a tuple without elements")
    return Value(call.inputs[0].element, (), parts=tuple(call.inputs))


def element_of_tuple(call: Call) -> Value:
    parts = call.inputs[0].parts
    index = call.attribute("index")
    if parts is None or not 0 <= index < len(parts):
        raise Unsupported(f"element {index} of what is no such tuple")
    found: Value = parts[index]
    return found


def repeated(call: Call) -> Value:
    """broadcast: new axes in front."""
    sizes, value = call.integers("broadcast_sizes"), call.inputs[0]
    lean = call.g.lean(value)
    return call.result(call.g.reshape(lean, (1,) * len(sizes) + shape_of(lean)), value.element)


OPERATORS: Final[Mapping[str, Callable[[Call], Value | list[Value]]]] = {
    "broadcast": repeated, "broadcast_in_dim": broadcast_in_dim, "concatenate": concatenate,
    "dynamic_broadcast_in_dim": broadcast_in_dim, "dynamic_iota": counted, "dynamic_pad": dynamic_pad,
    "dynamic_reshape": reshape,
    "get_dimension_size": dimension_size, "get_tuple_element": element_of_tuple, "optimization_barrier": same,
    "pad": pad, "real_dynamic_slice": real_dynamic_slice, "reshape": reshape, "reverse": reverse, "slice": slice_,
    "transpose": transpose, "tuple": tuple_,
}  # fmt: skip
