"""How operators work in another layout: one rule for each kind of operators that can, which their traits tell.

A rule gets the walk of `layout` and an operator of the old block. It appends the operator on stand-ins, all in one
arrangement `perms`, or returns False to leave the operator in its own layout. Axis i of the old tensors is axis
perms[i] of the stand-ins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import Composite
from ..lower.composites import BODIES, ELEMENTWISE, compose
from ..spec import TABLE, traits_of
from ..spec.traits import AlongAxis, EachAxis
from ..types import bool_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Operator, Tensor
    from ..spec.traits import Elementwise
    from ..types import Array
    from .stand_ins import Perms, StandIns


def _common(walk: StandIns, names: Sequence[str]) -> Perms:
    """The arrangement for operands: that of the first transposed one that isn't constant."""
    perms = [walk.perms(n) for n in names if walk.old.tensors[n].data is None] or [walk.perms(names[0])]
    return next((p for p in perms if p != tuple(range(len(p)))), perms[0])


def _disagree(walk: StandIns, names: Sequence[str]) -> bool:
    """Whether computed operands have several arrangements."""
    return len({walk.perms(n) for n in names if walk.old.tensors[n].data is None}) > 1


def rearrange(walk: StandIns, operator: Operator) -> bool:
    """Append the operator in an arrangement of its inputs; False where its axes can't change places."""
    if operator.op in BODIES:
        return _composite(walk, operator)
    traits = traits_of(operator)
    if traits.elementwise is not None:
        return _elementwise(walk, operator, traits.elementwise)
    if isinstance(traits.axes, AlongAxis) and traits.axes.keeps_rank:
        return _along_axis(walk, operator, traits.axes.attribute)
    if isinstance(traits.axes, EachAxis) and not any(e.neutral == 1 for e in traits.axes.entries):
        return _each_axis(walk, operator, traits.axes)
    return False  # of what multiplies sizes, too: behind it a transpose has more to move


def _elementwise(walk: StandIns, operator: Operator, trait: Elementwise) -> bool:
    """The operands are arranged, the other inputs (zero points, shifts, tables) stay."""
    if operator.attributes.get(trait.by_channel):
        return False  # the channel is the last axis
    places = [TABLE[operator.op].position(name) for name in trait.operands]
    operands = [operator.inputs[i] for i in places]
    if _disagree(walk, operands) and any(walk.old.tensors[n].dtype is bool_ for n in (*operands, *operator.outputs)):
        return False  # a mask made in one layout for several operands in another would need a transpose for each
    perms = _common(walk, operands)
    inputs = [walk.arranged(n, perms) if i in places else walk.plain(n) for i, n in enumerate(operator.inputs)]
    walk.append(operator, inputs, perms, operator.attributes)
    return True


def _along_axis(walk: StandIns, operator: Operator, attribute: str) -> bool:
    """All inputs are arranged, the attribute that names the axis is renamed."""
    perms = _common(walk, operator.inputs)
    inputs = [walk.arranged(n, perms) for n in operator.inputs]
    axis = perms[operator.attributes[attribute]]
    walk.append(operator, inputs, perms, {**operator.attributes, attribute: axis})
    return True


def _each_axis(walk: StandIns, operator: Operator, trait: EachAxis) -> bool:
    """The first input is arranged, and so are the entries for each axis, which have to be constant."""
    perms, entry = walk.perms(operator.inputs[0]), TABLE[operator.op]
    widths = {entry.position(e.argument): e.width for e in trait.entries}
    data = {i: walk.old.tensors[operator.inputs[i]].data for i in widths}
    if any(d is None for d in data.values()):
        return False
    inputs = [walk.arranged(operator.inputs[0], perms)]
    for i, name in enumerate(operator.inputs[1:], 1):
        rows = data.get(i)
        inputs.append(walk.plain(name) if rows is None else walk.writer.dims(_arranged_rows(rows, perms, widths[i])))
    walk.append(operator, inputs, perms, operator.attributes)
    return True


def _arranged_rows(data: Array, perms: Perms, width: int) -> list[int]:
    rows = data.reshape(-1, width)
    return [int(v) for axis in range(len(perms)) for v in rows[perms.index(axis)]]


def _composite(walk: StandIns, operator: Operator) -> bool:
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


def _rebuild(walk: StandIns, x: Tensor) -> None:
    moved = walk.new.operators[-1]
    assert isinstance(moved, Composite)
    output = walk.new.tensors[moved.outputs[0]]
    moved.body = compose(moved.op, x, output, moved.attributes, moved.location).body
