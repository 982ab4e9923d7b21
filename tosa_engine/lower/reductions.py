"""Reductions over any axes, which stay with an extent of 1, and the places of extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..types import count
from .composites import grouped
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from .writer import Writer


def reduced(g: Writer, op: str, x: Tensor, axes: Sequence[int]) -> Tensor:
    """A REDUCE_ operator axis by axis."""
    for axis in axes:
        x = g.reduce(op, x, axis)
    return x


def mean(g: Writer, x: Tensor, axes: Sequence[int]) -> Tensor:
    """The composite `mean`; over no axes the tensor itself."""
    return grouped(g, "mean", x, axes=tuple(axes)) if axes else x


def place_of_extreme(g: Writer, x: Tensor, axes: Sequence[int], *, least: bool = False) -> Tensor:
    """The first place of the largest (or least) value: ARGMAX over one axis that holds `axes`, in row-major order."""
    shape, axes = shape_of(x), sorted(axes)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    turned = g.transpose(x, (*kept, *axes))
    rows = g.reshape(turned, (count(tuple(shape[a] for a in kept)), count(tuple(shape[a] for a in axes))))
    if least:
        rows = g.negate(rows)
    found = g.operator("ARGMAX", [rows], shape_of(rows)[:1], types.i32, axis=1, nan_mode="PROPAGATE")
    return g.reshape(found, tuple(1 if axis in axes else n for axis, n in enumerate(shape)))
