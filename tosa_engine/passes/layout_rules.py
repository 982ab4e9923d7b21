"""How operators work in another layout: one rule per operator that can.

A rule gets the walk of `layout` and an operator of the old block. It appends the operator on stand-ins, all in one
arrangement `perms`, or returns False to leave the operator in its own layout. Axis i of the old tensors is axis
perms[i] of the stand-ins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..graph import Composite
from ..lower.composites import BODIES, ELEMENTWISE, compose

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Operator, Tensor
    from ..types import Array
    from .layout import Perms, Walk

    Rule = Callable[[Walk, Operator], bool]


def _common(walk: Walk, names: Sequence[str]) -> Perms:
    """The arrangement for operands: that of the first transposed one that isn't constant."""
    perms = [walk.perms(n) for n in names if walk.old.tensors[n].data is None] or [walk.perms(names[0])]
    return next((p for p in perms if p != tuple(range(len(p)))), perms[0])


def _elementwise(count: int) -> Rule:
    """The first `count` inputs are arranged, the others (zero points, shifts) stay."""

    def rule(walk: Walk, operator: Operator) -> bool:
        if operator.attributes.get("per_channel"):
            return False  # RESCALE's channel is the last axis
        perms = _common(walk, operator.inputs[:count])
        inputs = [walk.arranged(n, perms) for n in operator.inputs[:count]]
        inputs += [walk.plain(n) for n in operator.inputs[count:]]
        walk.append(operator, inputs, perms, operator.attributes)
        return True

    return rule


def _along_axis(walk: Walk, operator: Operator) -> bool:
    """Reductions and CONCAT: all inputs are arranged, the attribute `axis` is renamed."""
    perms = _common(walk, operator.inputs)
    inputs = [walk.arranged(n, perms) for n in operator.inputs]
    walk.append(operator, inputs, perms, {**operator.attributes, "axis": perms[operator.attributes["axis"]]})
    return True


def _per_axis(width: int) -> Rule:
    """PAD and SLICE: constant shape inputs hold `width` entries per axis."""

    def rule(walk: Walk, operator: Operator) -> bool:
        perms = walk.perms(operator.inputs[0])
        amounts = operator.inputs[1:2] if operator.op == "PAD" else operator.inputs[1:]
        data = [walk.old.tensors[n].data for n in amounts]
        if any(d is None for d in data):
            return False
        inputs = [walk.arranged(operator.inputs[0], perms)]
        inputs += [walk.writer.dims(_arranged_rows(d, perms, width)) for d in data if d is not None]
        inputs += [walk.plain(n) for n in operator.inputs[1 + len(amounts) :]]
        walk.append(operator, inputs, perms, operator.attributes)
        return True

    return rule


def _arranged_rows(data: Array, perms: Perms, width: int) -> list[int]:
    rows = data.reshape(-1, width)
    return [int(v) for axis in range(len(perms)) for v in rows[perms.index(axis)]]


def _composite(walk: Walk, operator: Operator) -> bool:
    if not isinstance(operator, Composite):
        return False
    perms = walk.perms(operator.inputs[0])
    attributes: dict[str, Any] = dict(operator.attributes)
    if operator.op not in ELEMENTWISE:
        if "axes" in attributes:
            attributes["axes"] = tuple(perms[a] for a in attributes["axes"])
        else:
            attributes["axis"] = perms[attributes["axis"]]
    x = walk.arranged(operator.inputs[0], perms)
    walk.append(operator, [x], perms, attributes)
    _rebuild(walk, x)
    return True


def _rebuild(walk: Walk, x: Tensor) -> None:
    moved = walk.new.operators[-1]
    assert isinstance(moved, Composite)
    output = walk.new.tensors[moved.outputs[0]]
    moved.body = compose(moved.op, x, output, moved.attributes, moved.location).body


_UNARY: Final = ("ABS", "CAST", "CLAMP", "EXP", "IDENTITY", "NEGATE", "RECIPROCAL", "RESCALE", "TABLE")
_BINARY: Final = ("ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB")
RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(_UNARY, _elementwise(1)),
    **dict.fromkeys(_BINARY, _elementwise(2)),
    **dict.fromkeys(("CONCAT", "REDUCE_MAX", "REDUCE_SUM"), _along_axis),
    "PAD": _per_axis(2),
    "SLICE": _per_axis(1),
    **dict.fromkeys(BODIES, _composite),
}
