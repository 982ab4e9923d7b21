"""What operators compute of known arrays, in numpy: the definition of each. Integers wrap and divide as it says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError, Unsupported
from .arguments import bounded, parts, sections, target_shape
from .elements import BY_CODE, BY_STORAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...types import Array
    from .call import Call

    Rule = Callable[[Call, Sequence[Array]], "Array | list[Array]"]


def shape_of_value(call: Call) -> Array:
    shape = call.shape(0)
    return np.array(shape[slice(call.attribute("start", 0), call.attribute("end"))], np.int64)


def eye_like(call: Call) -> Array:
    element = BY_CODE.get(call.attribute("dtype", 0), call.element(0))
    rows, columns = bounded(call.shape(0), element.storage.itemsize)
    return np.eye(rows, columns, k=call.attribute("k", 0)).astype(element.storage)


def binary(compute: Callable[[Array, Array], Any]) -> Rule:
    def rule(call: Call, given: Sequence[Array]) -> Array:
        a, b = given
        bounded(np.broadcast_shapes(a.shape, b.shape), a.itemsize)
        found = np.asarray(compute(a, b))
        return found if found.dtype == bool else found.astype(a.dtype)

    return rule


def unary(compute: Callable[[Array], Any]) -> Rule:
    return lambda call, given: np.asarray(compute(given[0])).astype(given[0].dtype)


def many(compute: Callable[[Array, Array], Any]) -> Rule:
    def rule(call: Call, given: Sequence[Array]) -> Array:
        bounded(np.broadcast_shapes(*(one.shape for one in given)), given[0].itemsize)
        found = given[0]
        for one in given[1:]:
            found = np.asarray(compute(found, one)).astype(given[0].dtype)
        return found

    return rule


def quotient(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    if not b.all():
        raise GraphError("division by zero")
    return _towards_zero(a, b)


def _towards_zero(a: Array, b: Array) -> Array:
    quotient = np.floor_divide(a, b)
    return np.where((a % b != 0) & ((a < 0) != (b < 0)), quotient + 1, quotient)


def remainder(call: Call, given: Sequence[Array]) -> Array:
    a, b = given
    if a.dtype.kind in "iu" and not b.all():
        raise GraphError("division by zero")
    return np.asarray(np.fmod(a, b) if call.attribute("fmod", 0) else np.mod(a, b)).astype(a.dtype)


def cast(call: Call, given: Sequence[Array]) -> Array:
    code = call.attribute("to")
    element = call.element(1) if call.op == "CastLike" else BY_CODE.get(code)
    if element is None or np.dtype(object) in (element.storage, given[0].dtype):
        raise Unsupported(f"a cast to the element type {element or code}")
    return given[0].astype(element.storage)


def gather(call: Call, given: Sequence[Array]) -> Array:
    data, indices = given
    axis = call.axis(call.attribute("axis", 0), data.ndim)
    bounded(data.shape[:axis] + indices.shape + data.shape[axis + 1 :], data.itemsize)
    return np.asarray(np.take(data, indices, axis))


def concat(call: Call, given: Sequence[Array]) -> Array:
    return np.concatenate(given, call.axis(call.attribute("axis", 1), given[0].ndim))


def constant(call: Call, given: Sequence[Array]) -> Array:
    for name, storage in (
        ("value_float", np.float32), ("value_floats", np.float32), ("value_int", np.int64), ("value_ints", np.int64)
    ):  # fmt: skip
        if name in call.attributes:
            return np.array(call.attributes[name], storage)
    for name in ("value", "sparse_value"):
        if name in call.attributes:
            return np.asarray(call.attributes[name])
    raise Unsupported("a constant of strings")


def constant_of_shape(call: Call, given: Sequence[Array]) -> Array:
    value = np.asarray(call.attribute("value", np.zeros(1, np.float32)))
    return np.full(bounded(given[0].tolist(), value.itemsize), value.reshape(-1)[0], value.dtype)


def expand(call: Call, given: Sequence[Array]) -> Array:
    data, shape = given
    wanted = np.broadcast_shapes(data.shape, tuple(int(n) for n in shape))
    return np.broadcast_to(data, bounded(wanted, data.itemsize)).copy()


def count_up(call: Call, given: Sequence[Array]) -> Array:
    start, limit, delta = (one.reshape(-1)[0] for one in given)
    if not delta:
        raise GraphError("a range with steps of 0")
    count = max(math.ceil((float(limit) - float(start)) / float(delta)), 0)
    bounded((count,), given[0].itemsize)
    found: Array = start + np.arange(count, dtype=given[0].dtype) * delta
    return found.astype(given[0].dtype)


def reshape(call: Call, given: Sequence[Array]) -> Array:
    wanted = call.attributes["shape"] if "shape" in call.attributes else [int(n) for n in given[1]]
    return given[0].reshape(target_shape(call, given[0].shape, wanted))


def section(call: Call, given: Sequence[Array]) -> Array:
    data = given[0]
    for axis, start, step, count in zip(*sections(call, data.shape), strict=True):
        data = np.take(data, [start + step * i for i in range(count)], axis)
    return data


def split(call: Call, given: Sequence[Array]) -> list[Array]:
    axis = call.axis(call.attribute("axis", 0), given[0].ndim)
    sizes = parts(call, given[0].shape[axis], len(call.outputs))
    return np.split(given[0], np.cumsum(sizes)[:-1], axis)


def reduce(compute: Callable[..., Any]) -> Rule:
    def rule(call: Call, given: Sequence[Array]) -> Array:
        data = given[0]
        axes = call.integers_of("axes", 1)
        if not axes:
            if call.attribute("noop_with_empty_axes", 0):
                return data
            axes = list(range(data.ndim))
        at = tuple(call.axes(axes, data.ndim))
        return np.asarray(compute(data, axis=at, keepdims=bool(call.attribute("keepdims", 1)))).astype(data.dtype)

    return rule


def extreme(compute: Callable[..., Any], *, largest: bool) -> Callable[..., Any]:
    """Of no elements the extreme is the other end of the type."""

    def extreme(data: Array, **axes: Any) -> Any:
        if BY_STORAGE[data.dtype].is_float:
            return compute(data, initial=-np.inf if largest else np.inf, **axes)
        if data.dtype == bool:
            return np.any(data, **axes) if largest else np.all(data, **axes)
        limits = np.iinfo(data.dtype)
        return compute(data, initial=limits.min if largest else limits.max, **axes)

    return extreme


def where(call: Call, given: Sequence[Array]) -> Array:
    bounded(np.broadcast_shapes(*(one.shape for one in given)), given[1].itemsize)
    return np.where(*given).astype(given[1].dtype)


def transpose(call: Call, given: Sequence[Array]) -> Array:
    perm = call.attribute("perm")
    return given[0].transpose(perm if perm is not None else None)


def tile(call: Call, given: Sequence[Array]) -> Array:
    data, repeats = given
    bounded([n * int(r) for n, r in zip(data.shape, repeats, strict=True)], data.itemsize)
    return np.tile(data, repeats)


def clip(call: Call, given: Sequence[Array]) -> Array:
    data = given[0]
    low = call.attributes.get("min", given[1] if len(given) > 1 else None)
    high = call.attributes.get("max", given[2] if len(given) > 2 else None)
    if low is not None:
        data = np.maximum(data, low)
    return np.asarray(data if high is None else np.minimum(data, high)).astype(given[0].dtype)


def flatten(call: Call, given: Sequence[Array]) -> Array:
    axis = call.attribute("axis", 1)
    axis = axis + given[0].ndim if axis < 0 else axis
    return given[0].reshape(math.prod(given[0].shape[:axis]), -1)


def cum_sum(call: Call, given: Sequence[Array]) -> Array:
    data, axis = given[0], call.axis(int(given[1].reshape(-1)[0]), given[0].ndim)
    turned = np.flip(data, axis) if call.attribute("reverse", 0) else data
    found = np.cumsum(turned, axis, dtype=data.dtype)
    if call.attribute("exclusive", 0):
        found = found - turned
    return (np.flip(found, axis) if call.attribute("reverse", 0) else found).astype(data.dtype)


def trilu(call: Call, given: Sequence[Array]) -> Array:
    k = int(given[1].reshape(-1)[0]) if len(given) > 1 and given[1] is not None else 0
    return np.triu(given[0], k) if call.attribute("upper", 1) else np.tril(given[0], k)


def mel_weights(call: Call, given: Sequence[Array]) -> Array:
    """Triangles over the bins of a spectrum, whose corners are equally far apart in mels."""
    bins, length, rate, low, high = (float(one.reshape(-1)[0]) for one in given)
    spectrum, count = int(length) // 2 + 1, int(bins)
    bounded((spectrum, count), 4)
    least, most = (2595 * np.log10(1 + hertz / 700) for hertz in (low, high))
    corners = np.arange(count + 2) * ((most - least) / (count + 2)) + least
    at = np.floor((length + 1) * (700 * (10 ** (corners / 2595) - 1)) / rate).astype(int)
    found = np.zeros((spectrum, count))
    for i in range(count):
        left, centre, right = at[i : i + 3]
        if centre == left:
            found[centre, i] = 1
        else:
            found[left : centre + 1, i] = (np.arange(left, centre + 1) - left) / (centre - left)
        if right > centre:
            found[centre:right, i] = (right - np.arange(centre, right)) / (right - centre)
    element = BY_CODE[call.attribute("output_datatype", 1)]
    return found.astype(element.storage)


def scatter_nd(call: Call, given: Sequence[Array]) -> Array:
    if call.attribute("reduction", "none") != "none":
        raise Unsupported("a reduction of constants")
    found = given[0].copy()
    found[tuple(np.moveaxis(given[1], -1, 0))] = given[2]
    return found
