"""Computing nodes whose inputs are all known: what makes shapes, and constants.

Each rule is the operator's definition in numpy. Integers wrap and divide as the definition says. A result that would
fill the memory is refused. An operator without a rule is mapped with constants as its tensors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import GraphError, Unsupported
from .elements import BY_CODE, BY_STORAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...types import Array
    from .call import Call

    Rule = Callable[[Call, Sequence[Array]], "Array | list[Array]"]

MOST_BYTES: Final = 1 << 31


def evaluate(call: Call, domain: str) -> list[Array] | None:
    """The results of a node whose inputs are known; None where they aren't, or no rule says what it computes.

    Raises GraphError for arguments that don't fit, Unsupported for a result that would be too large.
    """
    rule = RULES.get(call.op) if domain == "" else None
    if call.op in SHAPES and domain == "":
        return [SHAPES[call.op](call)]
    if rule is None or not all(value is None or value.is_known for value in call.inputs):
        return None
    given = [value.data if value is not None else None for value in call.inputs]
    try:
        with np.errstate(all="ignore"):
            found = rule(call, given)  # type: ignore[arg-type]
    except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError) as problem:
        raise GraphError(f"its arguments don't fit: {problem}") from None
    return [np.asarray(one) for one in (found if isinstance(found, list) else [found])]


def bounded(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """A shape whose array fits the memory. Raises Unsupported, GraphError."""
    extents = tuple(int(extent) for extent in shape)
    if min(extents, default=0) < 0:
        raise GraphError(f"a result of shape {list(extents)}")
    if math.prod(extents) * itemsize > MOST_BYTES:
        raise Unsupported(f"a constant of shape {list(extents)} would be too large")
    return extents


def _shape(call: Call) -> Array:
    shape = call.shape(0)
    return np.array(shape[slice(call.attribute("start", 0), call.attribute("end"))], np.int64)


def _eye_like(call: Call) -> Array:
    element = BY_CODE.get(call.attribute("dtype", 0), call.element(0))
    rows, columns = bounded(call.shape(0), element.storage.itemsize)
    return np.eye(rows, columns, k=call.attribute("k", 0)).astype(element.storage)


SHAPES: Final[Mapping[str, Callable[[Call], Array]]] = {  # of any value, which needs not be known
    "Shape": _shape,
    "EyeLike": _eye_like,
    "Size": lambda call: np.array(math.prod(call.shape(0)), np.int64),
}


def _binary(compute: Callable[[Array, Array], Any]) -> Rule:
    def rule(call: Call, given: Sequence[Array]) -> Array:
        a, b = given
        bounded(np.broadcast_shapes(a.shape, b.shape), a.itemsize)
        found = np.asarray(compute(a, b))
        return found if found.dtype == bool else found.astype(a.dtype)

    return rule


def _unary(compute: Callable[[Array], Any]) -> Rule:
    return lambda call, given: np.asarray(compute(given[0])).astype(given[0].dtype)


def _many(compute: Callable[[Array, Array], Any]) -> Rule:
    def rule(call: Call, given: Sequence[Array]) -> Array:
        bounded(np.broadcast_shapes(*(one.shape for one in given)), given[0].itemsize)
        found = given[0]
        for one in given[1:]:
            found = np.asarray(compute(found, one)).astype(given[0].dtype)
        return found

    return rule


def _div(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    if not b.all():
        raise GraphError("division by zero")
    return _towards_zero(a, b)


def _towards_zero(a: Array, b: Array) -> Array:
    quotient = np.floor_divide(a, b)
    return np.where((a % b != 0) & ((a < 0) != (b < 0)), quotient + 1, quotient)


def _mod(call: Call, given: Sequence[Array]) -> Array:
    a, b = given
    if a.dtype.kind in "iu" and not b.all():
        raise GraphError("division by zero")
    return np.asarray(np.fmod(a, b) if call.attribute("fmod", 0) else np.mod(a, b)).astype(a.dtype)


def _cast(call: Call, given: Sequence[Array]) -> Array:
    code = call.attribute("to")
    element = call.element(1) if call.op == "CastLike" else BY_CODE.get(code)
    if element is None or np.dtype(object) in (element.storage, given[0].dtype):
        raise Unsupported(f"a cast to the element type {element or code}")
    return given[0].astype(element.storage)


def _gather(call: Call, given: Sequence[Array]) -> Array:
    data, indices = given
    axis = call.axis(call.attribute("axis", 0), data.ndim)
    bounded(data.shape[:axis] + indices.shape + data.shape[axis + 1 :], data.itemsize)
    return np.asarray(np.take(data, indices, axis))


def _concat(call: Call, given: Sequence[Array]) -> Array:
    return np.concatenate(given, call.axis(call.attribute("axis", 1), given[0].ndim))


def _constant(call: Call, given: Sequence[Array]) -> Array:
    for name, storage in (
        ("value_float", np.float32), ("value_floats", np.float32), ("value_int", np.int64), ("value_ints", np.int64)
    ):  # fmt: skip
        if name in call.attributes:
            return np.array(call.attributes[name], storage)
    for name in ("value", "sparse_value"):
        if name in call.attributes:
            return np.asarray(call.attributes[name])
    raise Unsupported("a constant of strings")


def _constant_of_shape(call: Call, given: Sequence[Array]) -> Array:
    value = np.asarray(call.attribute("value", np.zeros(1, np.float32)))
    return np.full(bounded(given[0].tolist(), value.itemsize), value.reshape(-1)[0], value.dtype)


def _expand(call: Call, given: Sequence[Array]) -> Array:
    data, shape = given
    wanted = np.broadcast_shapes(data.shape, tuple(int(n) for n in shape))
    return np.broadcast_to(data, bounded(wanted, data.itemsize)).copy()


def _range(call: Call, given: Sequence[Array]) -> Array:
    start, limit, delta = (one.reshape(-1)[0] for one in given)
    if not delta:
        raise GraphError("a range with steps of 0")
    count = max(math.ceil((float(limit) - float(start)) / float(delta)), 0)
    bounded((count,), given[0].itemsize)
    found: Array = start + np.arange(count, dtype=given[0].dtype) * delta
    return found.astype(given[0].dtype)


def target_shape(call: Call, shape: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """The shape that Reshape makes: 0 keeps an extent, -1 is what is left. Raises GraphError."""
    zero = bool(call.attribute("allowzero", 0))
    if not zero and any(n == 0 and i >= len(shape) for i, n in enumerate(wanted)):
        raise GraphError(f"shape {list(shape)} can't become {list(wanted)}")
    extents = [shape[i] if n == 0 and not zero else n for i, n in enumerate(wanted)]
    if extents.count(-1) == 1:
        rest = math.prod(n for n in extents if n != -1)
        whole = math.prod(shape)
        extents[extents.index(-1)] = whole // rest if rest else 0
    if math.prod(extents) != math.prod(shape) or min(extents, default=0) < 0:
        raise GraphError(f"shape {list(shape)} can't become {list(wanted)}")
    return tuple(int(n) for n in extents)


def _reshape(call: Call, given: Sequence[Array]) -> Array:
    wanted = call.attributes["shape"] if "shape" in call.attributes else [int(n) for n in given[1]]
    return given[0].reshape(target_shape(call, given[0].shape, wanted))


def squeezed(call: Call, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape without axes of extent 1. Raises GraphError."""
    axes = call.integers_of("axes", 1)
    gone = [i for i, n in enumerate(shape) if n == 1] if axes is None else call.axes(axes, len(shape))
    if any(shape[i] != 1 for i in gone):
        raise GraphError(f"axes {axes} of shape {list(shape)} aren't all 1")
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def unsqueezed(call: Call, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape with new axes of extent 1. Raises GraphError."""
    axes = call.integers_of("axes", 1) or []
    rank = len(shape) + len(axes)
    new, old = call.axes(axes, rank), iter(shape)
    return tuple(1 if i in new else next(old) for i in range(rank))


def sections(call: Call, shape: Sequence[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Axes, first elements, steps and numbers of elements that Slice takes. Raises GraphError."""
    starts, ends = call.integers_of("starts", 1) or [], call.integers_of("ends", 2) or []
    axes = call.integers_of("axes", 3)
    steps = (call.integers(4, "'steps'") if call.has(4) else None) or [1] * len(starts)
    axes = list(range(len(starts))) if axes is None else [call.axis(axis, len(shape)) for axis in axes]
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise GraphError("starts, ends, axes and steps don't go together")
    ranges = [range(shape[a])[slice(s, e, t)] for a, s, e, t in zip(axes, starts, ends, steps, strict=True)]
    return axes, [r.start for r in ranges], steps, [len(r) for r in ranges]


def _slice(call: Call, given: Sequence[Array]) -> Array:
    data = given[0]
    for axis, start, step, count in zip(*sections(call, data.shape), strict=True):
        data = np.take(data, [start + step * i for i in range(count)], axis)
    return data


def parts(call: Call, extent: int, outputs: int) -> list[int]:
    """The sizes that Split makes of an axis. Raises GraphError."""
    sizes = call.integers_of("split", 1)
    if sizes is None:
        count = call.attribute("num_outputs") or outputs
        size = -(-extent // count)
        sizes = [size] * (count - 1) + [extent - size * (count - 1)]
    if sum(sizes) != extent or min(sizes, default=0) < 0:
        raise GraphError(f"parts of {sizes} don't make an axis of {extent}")
    return sizes


def _split(call: Call, given: Sequence[Array]) -> list[Array]:
    axis = call.axis(call.attribute("axis", 0), given[0].ndim)
    sizes = parts(call, given[0].shape[axis], len(call.outputs))
    return np.split(given[0], np.cumsum(sizes)[:-1], axis)


def _reduce(compute: Callable[..., Any]) -> Rule:
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


def _extreme(compute: Callable[..., Any], *, largest: bool) -> Callable[..., Any]:
    """Of no elements the extreme is the other end of the type."""

    def extreme(data: Array, **axes: Any) -> Any:
        if BY_STORAGE[data.dtype].is_float:
            return compute(data, initial=-np.inf if largest else np.inf, **axes)
        if data.dtype == bool:
            return np.any(data, **axes) if largest else np.all(data, **axes)
        limits = np.iinfo(data.dtype)
        return compute(data, initial=limits.min if largest else limits.max, **axes)

    return extreme


def _where(call: Call, given: Sequence[Array]) -> Array:
    bounded(np.broadcast_shapes(*(one.shape for one in given)), given[1].itemsize)
    return np.where(*given).astype(given[1].dtype)


def _transpose(call: Call, given: Sequence[Array]) -> Array:
    perm = call.attribute("perm")
    return given[0].transpose(perm if perm is not None else None)


def _tile(call: Call, given: Sequence[Array]) -> Array:
    data, repeats = given
    bounded([n * int(r) for n, r in zip(data.shape, repeats, strict=True)], data.itemsize)
    return np.tile(data, repeats)


def _clip(call: Call, given: Sequence[Array]) -> Array:
    data = given[0]
    low = call.attributes.get("min", given[1] if len(given) > 1 else None)
    high = call.attributes.get("max", given[2] if len(given) > 2 else None)
    if low is not None:
        data = np.maximum(data, low)
    return np.asarray(data if high is None else np.minimum(data, high)).astype(given[0].dtype)


def _flatten(call: Call, given: Sequence[Array]) -> Array:
    axis = call.attribute("axis", 1)
    axis = axis + given[0].ndim if axis < 0 else axis
    return given[0].reshape(math.prod(given[0].shape[:axis]), -1)


def _cum_sum(call: Call, given: Sequence[Array]) -> Array:
    data, axis = given[0], call.axis(int(given[1].reshape(-1)[0]), given[0].ndim)
    turned = np.flip(data, axis) if call.attribute("reverse", 0) else data
    found = np.cumsum(turned, axis, dtype=data.dtype)
    if call.attribute("exclusive", 0):
        found = found - turned
    return (np.flip(found, axis) if call.attribute("reverse", 0) else found).astype(data.dtype)


def _trilu(call: Call, given: Sequence[Array]) -> Array:
    k = int(given[1].reshape(-1)[0]) if len(given) > 1 and given[1] is not None else 0
    return np.triu(given[0], k) if call.attribute("upper", 1) else np.tril(given[0], k)


def _mel_weights(call: Call, given: Sequence[Array]) -> Array:
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


def _scatter_nd(call: Call, given: Sequence[Array]) -> Array:
    if call.attribute("reduction", "none") != "none":
        raise Unsupported("a reduction of constants")
    found = given[0].copy()
    found[tuple(np.moveaxis(given[1], -1, 0))] = given[2]
    return found


BINARY: Final[Mapping[str, Callable[[Array, Array], Any]]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _div, "Pow": np.power, "Equal": np.equal,
    "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less, "LessOrEqual": np.less_equal,
    "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor, "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor,
}  # fmt: skip
UNARY: Final[Mapping[str, Callable[[Array], Any]]] = {
    "Neg": np.negative, "Abs": np.abs, "Floor": np.floor, "Ceil": np.ceil, "Sqrt": np.sqrt, "Exp": np.exp,
    "Log": np.log, "Not": np.logical_not, "Sign": np.sign, "Round": np.round, "Reciprocal": np.reciprocal,
    "Sin": np.sin, "Cos": np.cos, "BitwiseNot": np.invert, "Erf": np.vectorize(math.erf, otypes=[float]),
    "Relu": lambda x: np.maximum(x, 0),
}  # fmt: skip
MANY: Final[Mapping[str, Callable[[Array, Array], Any]]] = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}
RULES: Final[Mapping[str, Rule]] = {
    "Identity": lambda call, given: given[0],
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Cast": _cast,
    "CastLike": _cast,
    "Gather": _gather,
    "Concat": _concat,
    "Expand": _expand,
    "Range": _range,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": lambda call, given: given[0].reshape(squeezed(call, given[0].shape)),
    "Unsqueeze": lambda call, given: given[0].reshape(unsqueezed(call, given[0].shape)),
    "Slice": _slice,
    "Split": _split,
    "Transpose": _transpose,
    "Tile": _tile,
    "Where": _where,
    "Clip": _clip,
    "CumSum": _cum_sum,
    "Trilu": _trilu,
    "ScatterND": _scatter_nd,
    "NonZero": lambda call, given: np.array(np.nonzero(given[0]), np.int64),
    "MelWeightMatrix": _mel_weights,
    "Mod": _mod,
    "ReduceSum": _reduce(np.sum),
    "ReduceProd": _reduce(np.prod),
    "ReduceMax": _reduce(_extreme(np.max, largest=True)),
    "ReduceMin": _reduce(_extreme(np.min, largest=False)),
    "ReduceMean": _reduce(np.mean),
    **{name: _binary(compute) for name, compute in BINARY.items()},
    **{name: _unary(compute) for name, compute in UNARY.items()},
    **{name: _many(compute) for name, compute in MANY.items()},
}
