"""layout: shapes and places of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....lower import layout
from ....lower.axes import joined
from ....lower.borders import padded
from ....lower.problems import Unlowered, check_made
from ....lower.views import shape_of
from ....types import count
from ..writer import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..writer import Call

_BORDERS: Final = {"REFLECT": "reflect", "REPLICATE": "replicate", "SYMMETRIC": "reflect-even", "CONSTANT": "constant"}


def tensor(c: Call) -> Tensor:
    """A constant."""
    output = c.instance.outputs[0]
    check_made(count(output.shape), "a constant")
    same = c["same"]
    values = np.asarray(c["value"] if same is None else same, np.float64 if output.dtype == "real" else None)
    data = values.reshape(output.shape) if same is None else np.broadcast_to(values, output.shape)
    return c.b.const(data.astype(FORMATS[output.dtype].storage), FORMATS[output.dtype])


def uniform(c: Call) -> Tensor:
    shape = c.shape
    return layout.tiled(c.b, c.b.reshape(c.x(), (1,) * len(shape)), shape)


def reshaped(c: Call) -> Tensor:
    return c.b.reshape(c.x(), c.shape)


def concat(c: Call) -> Tensor:
    return joined(c.b, c.pack(), c.axes("axis", len(c.shape))[0])


def split(c: Call) -> list[Tensor] | None:
    if not all(c["sizes"]):
        return None
    return layout.split(c.b, c.x(), c.axes("axis")[0], c["sizes"])


def stack(c: Call) -> Tensor:
    axis = c.axes("axis", len(c.shape))[0]
    return joined(c.b, c.pack(), axis) if c["squeeze"] else layout.stacked(c.b, c.pack(), axis)


def unstack(c: Call) -> list[Tensor]:
    axis, x = c.axes("axis")[0], c.x()
    if c["squeeze"]:
        return layout.unstacked(c.b, x, axis)
    return layout.split(c.b, x, axis, [1] * shape_of(x)[axis])


def tile(c: Call) -> Tensor:
    repeats = dict(zip(c.axes(), c["repeats"], strict=True))
    return layout.tiled(c.b, c.x(), [repeats.get(i, 1) for i in range(len(c.shape))])


def broadcast(c: Call) -> Tensor:
    x = c.x()
    return layout.tiled(c.b, x, [m // n for n, m in zip(shape_of(x), c.shape, strict=True)])


def slice_(c: Call) -> Tensor:
    x = c.x()
    for axis, begin, step in zip(c.axes(), c["begin"], c["stride"], strict=True):
        x = layout.stepped(c.b, x, axis, begin, step, c.shape[axis])
    return x


def pad(c: Call) -> Tensor | None:
    value, x = c.optional(1), c.x()
    if (value is not None and value.data is None) or x.dtype is types.bool_:
        return None
    number = 0.0 if value is None or value.data is None else value.data.reshape(-1)[0].item()
    padding = list(zip(c["before"], c["after"], strict=True))
    method = c["method"]
    if (
        method != "CONSTANT"
        and any(max(p) > n - (method == "REFLECT") for p, n in zip(padding, shape_of(x), strict=True))
        and method != "REPLICATE"
    ):
        return None
    if method == "CONSTANT":
        c.b.scalar(number, x.dtype)  # stands before the PAD's shape, as from NNEF 1
    return padded(c.b, x, padding, _BORDERS[method], number)


def transpose(c: Call) -> Tensor:
    first = c["first"]
    return c.b.transpose(c.x(), (*range(first), *(first + p for p in c["order"])))


def gather(c: Call) -> Tensor:
    axis = c.axes("axis")[0]
    return layout.gather(c.b, c.x(0), c.x(1), axis)


def nonzero(c: Call) -> Tensor:
    raise Unlowered("the size of its result depends on the data")


MAPPERS: Final[Mapping[str, Callable[[Call], Any]]] = {
    f"layout.{name}": mapper
    for name, mapper in {
        "tensor": tensor,
        "constant": tensor,
        "uniform": uniform,
        "reshape": reshaped,
        "flatten": reshaped,
        "unflatten": reshaped,
        "squeeze": reshaped,
        "unsqueeze": reshaped,
        "concat": concat,
        "split": split,
        "stack": stack,
        "unstack": unstack,
        "tile": tile,
        "broadcast": broadcast,
        "slice": slice_,
        "pad": pad,
        "transpose": transpose,
        "gather": gather,
        "nonzero": nonzero,
    }.items()
}
