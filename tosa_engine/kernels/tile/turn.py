"""An image of one column lies in memory as an image of one row does, and is convolved as one.

Kernels go along rows: what a row costs beside its pixels, an image of one column would cost for each pixel.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...graph import Block
from ...spec import bind_operator
from ..work import constant

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Shape


def turn(call: Call) -> Call:
    """The operator with height and width exchanged where all widths are 1; else the operator itself."""
    if not call.has("stride_y") or call.has("stride_d") or not call.KW == call.IW == call.OW == 1 < call.IH:
        return call
    tensors = {argument.name: call.tensor(argument.name) for argument in (*call.spec.inputs, *call.spec.outputs)}
    for name in ("input", "weight", "output"):
        first = call.spec.axes(name, f"{LETTERS[name]}H", f"{LETTERS[name]}W")[0]
        tensors[name] = replace(tensors[name], shape=_exchanged(tensors[name].shape or (), first))
    weight = constant(call, "weight")
    tensors["weight"].data = weight.reshape(tensors["weight"].shape or ())
    top, bottom, left, right = call.pad
    attributes = {
        **call.operator.attributes,
        "pad": (left, right, top, bottom),
        "stride": (call.stride_x, call.stride_y),
        "dilation": (call.dilation_x, call.dilation_y),
    }
    block = Block("turned", tensors={t.name: t for t in tensors.values()})
    found = bind_operator(replace(call.operator, attributes=attributes), block, call.graph)
    found.proved = call.proved
    return found


def _exchanged(shape: Shape, first: int) -> Shape:
    """With an axis and the next one exchanged."""
    return (*shape[:first], shape[first + 1], shape[first], *shape[first + 2 :])


LETTERS = {"input": "I", "weight": "K", "output": "O"}
