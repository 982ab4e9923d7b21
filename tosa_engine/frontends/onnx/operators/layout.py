"""Operators that move values: shapes, axes, parts, borders. They take every element type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError
from ....lower import layout as lower
from ....lower.axes import joined
from ....lower.borders import padded
from ....lower.elementary import chosen
from ....lower.views import shape_of
from ..arguments import parts, sections, squeezed, target_shape, unsqueezed
from ..values import known
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..call import Call
    from ..values import Value

BORDERS: Final = {"reflect": "reflect", "edge": "replicate"}


def reshape(call: Call) -> Value:
    given = call.attributes["shape"] if "shape" in call.attributes else call.integers(1, "the shape")
    return _reshaped(call, target_shape(call, call.shape(0), given))


def _reshaped(call: Call, shape: tuple[int, ...]) -> Value:
    return value_of(call.g.reshape(call.tensor(0), shape), call.element())


def flatten(call: Call) -> Value:
    shape, axis = call.shape(0), call.attribute("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return _reshaped(call, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def transpose(call: Call) -> Value:
    rank = len(call.shape(0))
    perm = call.attribute("perm") or list(range(rank))[::-1]
    if sorted(perm) != list(range(rank)):
        raise GraphError(f"perm {list(perm)} isn't an order of {rank} axes")
    return value_of(call.g.transpose(call.tensor(0), perm), call.element())


def concat(call: Call) -> Value:
    used = [value for value in call.values() if 0 not in value.shape] or call.values()[:1]
    axis = call.axis(call.attribute("axis", 1), len(used[0].shape))
    return value_of(joined(call.g, [call.g.tensor_of(value) for value in used], axis), used[0].element)


def split(call: Call) -> list[Value]:
    axis = call.axis(call.attribute("axis", 0), len(call.shape(0)))
    shape = call.shape(0)
    sizes = parts(call, shape[axis], len(call.outputs))
    found = iter(lower.split(call.g, call.tensor(0), axis, [size for size in sizes if size]))
    return [value_of(next(found), call.element()) if size else _empty(call, axis) for size in sizes]


def _empty(call: Call, axis: int) -> Value:
    """No elements along an axis: known, as there are none."""
    shape = tuple(0 if i == axis else n for i, n in enumerate(call.shape(0)))
    return known(np.zeros(shape, call.element().storage))


def slice_(call: Call) -> Value:
    x = call.tensor(0)
    for axis, start, step, count in zip(*sections(call, shape_of(x)), strict=True):
        if not count:
            return _empty(call, axis)
        x = lower.stepped(call.g, x, axis, start, step, count) if step != 1 else call.g.section(x, axis, start, count)
    return value_of(x, call.element())


def expand(call: Call) -> Value:
    return broadcast(call, [int(n) for n in call.integers(1, "the shape")])


def broadcast(call: Call, wanted: list[int]) -> Value:
    """The first input repeated along axes of extent 1."""
    x, shape = call.tensor(0), call.shape(0)
    try:
        result = np.broadcast_shapes(shape, tuple(wanted))
    except ValueError:
        raise GraphError(f"shape {list(shape)} doesn't broadcast to {wanted}") from None
    full = (1,) * (len(result) - len(shape)) + shape
    repeats = [m // n for m, n in zip(result, full, strict=True)]
    return value_of(lower.tiled(call.g, call.g.reshape(x, full), repeats), call.element())


def tile(call: Call) -> Value:
    repeats = call.integers(1, "the repeats")
    if len(repeats) != len(call.shape(0)) or min(repeats, default=1) < 1:
        raise GraphError(f"repeats {repeats} for shape {list(call.shape(0))}")
    return value_of(lower.tiled(call.g, call.tensor(0), repeats), call.element())


def pad(call: Call) -> Value:
    """Amounts may be negative. 'wrap' goes on at the other end."""
    g, shape, mode = call.g, call.shape(0), call.attribute("mode", "constant")
    given = call.attributes.get("pads", call.attributes.get("paddings")) or call.integers(1, "the pads")
    axes = call.integers(3, "the axes") if call.has(3) else list(range(len(shape)))
    axes = [call.axis(axis, len(shape)) for axis in axes]
    if len(given) != 2 * len(axes):
        raise GraphError(f"{len(given)} pads for {len(axes)} axes")
    amounts = [(0, 0)] * len(shape)
    for i, axis in enumerate(axes):
        amounts[axis] = (given[i], given[i + len(axes)])
    x = call.tensor(0)
    if mode == "wrap":
        return value_of(_wrapped(call, amounts), call.element())
    if mode not in ("constant", *BORDERS):
        raise GraphError(f"mode '{mode}' is none of Pad's")
    if mode != "constant":
        return value_of(padded(g, x, amounts, BORDERS[mode]), call.element())
    filling: Any = call.attributes.get("value", 0)
    if "value" not in call.attributes and call.has(2):
        filling = call.scalar(2, "the filling")
    return value_of(padded(g, x, amounts, "constant", filling), call.element())


def _wrapped(call: Call, amounts: list[tuple[int, int]]) -> Any:
    x = call.tensor(0)
    for axis, (before, after) in enumerate(amounts):
        extent = shape_of(x)[axis]
        places = [i % extent for i in range(-before, extent + after)]
        runs: list[Any] = []
        start = 0
        while start < len(places):
            size = 1
            while start + size < len(places) and places[start + size] == places[start + size - 1] + 1:
                size += 1
            runs.append(call.g.section(x, axis, places[start], size))
            start += size
        x = joined(call.g, runs, axis)
    return x


def depth_to_space(call: Call) -> Value:
    n, c, h, w = call.shape(0)
    b = call.attributes["blocksize"]
    g, x = call.g, call.tensor(0)
    if call.attribute("mode", "DCR") == "DCR":
        x = g.transpose(g.reshape(x, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    else:
        x = g.transpose(g.reshape(x, (n, c // (b * b), b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return value_of(g.reshape(x, (n, c // (b * b), h * b, w * b)), call.element())


def space_to_depth(call: Call) -> Value:
    n, c, h, w = call.shape(0)
    b = call.attributes["blocksize"]
    g = call.g
    order = (0, 3, 5, 1, 2, 4) if call.attribute("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    x = g.transpose(g.reshape(call.tensor(0), (n, c, h // b, b, w // b, b)), order)
    return value_of(g.reshape(x, (n, c * b * b, h // b, w // b)), call.element())


def trilu(call: Call) -> Value:
    """Zeros below or above a diagonal."""
    shape = call.shape(0)
    k = int(call.scalar(1, "the diagonal")) if call.has(1) else 0
    ones = np.ones(shape[-2:], bool)
    keep = np.triu(ones, k) if call.attribute("upper", 1) else np.tril(ones, k)
    g, x = call.g, call.tensor(0)
    mask = g.reshape(g.const(keep, types.bool_), (1,) * (len(shape) - 2) + keep.shape)
    return value_of(chosen(g, mask, x, g.scalar(0, x.dtype, len(shape))), call.element())


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "Concat": concat,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Flatten": flatten,
    "Pad": pad,
    "Reshape": reshape,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": lambda call: _reshaped(call, squeezed(call, call.shape(0))),
    "Tile": tile,
    "Transpose": transpose,
    "Trilu": trilu,
    "Unsqueeze": lambda call: _reshaped(call, unsqueezed(call, call.shape(0))),
}
