"""Groups of operators that a module spells out, and that become better integers whole: softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import types
from ...lower.composites import grouped
from ...lower.views import shape_of

if TYPE_CHECKING:
    from ...graph import Operator, Tensor
    from .writer import HloWriter

VIEWS = ("RESHAPE", "IDENTITY")


def softmax(g: HloWriter, x: Tensor, total: Tensor) -> Tensor | None:
    """x / total, where x is exp(a - max(a)) and total its sum along one axis; None for anything else."""
    exponential, summed = g.producers.get(x.name), _behind_views(g, total)
    if exponential is None or summed is None or (exponential.op, summed.op) != ("EXP", "REDUCE_SUM"):
        return None
    axis = summed.attributes["axis"]
    less = g.producers.get(exponential.inputs[0])
    if x.dtype is not types.fp32 or summed.inputs[0] != x.name or less is None or less.op != "SUB":
        return None
    a, most = (g.block.tensors[name] for name in less.inputs)
    greatest = _behind_views(g, most)
    if greatest is None or greatest.op != "REDUCE_MAX" or greatest.inputs[0] != a.name:
        return None
    kept = tuple(1 if i == axis else n for i, n in enumerate(shape_of(a)))
    same = (
        greatest.attributes["axis"] == axis and shape_of(most) == kept == shape_of(total) and shape_of(a) == shape_of(x)
    )
    return grouped(g, "softmax", a, axis=axis) if same else None


def _behind_views(g: HloWriter, x: Tensor) -> Operator | None:
    """The operator that computes a tensor, whatever shapes it has had since."""
    found = g.producers.get(x.name)
    while found is not None and found.op in VIEWS:
        found = g.producers.get(found.inputs[0])
    return found
