"""Quantization hints through changes of view: what becomes of the axis of QParams when a tensor is transposed, reshaped
or cut. Values don't change, so scales and zero points don't either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..types import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import QParams, Tensor
    from ..types import Shape


def shape_of(x: Tensor) -> Shape:
    """The shape of a tensor that has one."""
    assert x.shape is not None
    return x.shape


def transposed(quant: QParams | None, perms: Sequence[int]) -> QParams | None:
    """The hint of TRANSPOSE(tensor, perms)."""
    if quant is None or quant.axis is None:
        return quant
    return replace(quant, axis=list(perms).index(quant.axis))


def reshaped(quant: QParams | None, old: Shape, new: Shape) -> QParams | None:
    """The hint of a tensor of shape `old` reshaped to `new`.

    An axis that the reshape splits is named by the first of its parts and keeps one scale per index of all parts
    together, in row-major order (a filter's output channels C*M in DEPTHWISE_CONV2D's [KH,KW,C,M]). None when the new
    shape has no such axis: a hint per index of a merged axis can't be kept.
    """
    if quant is None or quant.axis is None:
        return quant
    before, extent = count(old[: quant.axis]), old[quant.axis]
    for axis, size in enumerate(new):
        if count(new[:axis]) == before and (size > 1 or extent == 1):
            last = axis + 1
            while count(new[axis:last]) < extent:
                last += 1
            return replace(quant, axis=axis) if count(new[axis:last]) == extent else None
    return None


def section(quant: QParams | None, axis: int, start: int, size: int) -> QParams | None:
    """The hint of a range of one axis."""
    if quant is None or quant.axis != axis:
        return quant
    zero_point = quant.zero_point if len(quant.zero_point) == 1 else quant.zero_point[start : start + size]
    return replace(quant, scale=quant.scale[start : start + size], zero_point=zero_point)


def per_tensor(x: Tensor) -> QParams | None:
    """The hint of what has values of `x` only, but not its axes."""
    return x.quant if x.quant is None or x.quant.axis is None else None


def within(tensor: Tensor, x: Tensor) -> Tensor:
    """`tensor`, none of whose values is beyond those of `x` and 0: it takes over the hint of `x`."""
    if tensor.quant is None and x.quant is not None and x.quant.axis is None and tensor.data is None:
        tensor.quant = x.quant
    return tensor
