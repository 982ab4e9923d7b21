"""Floats that TOSA has few operators for are computed in fp32 and rounded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .... import types

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....graph import Tensor
    from ..call import Call
    from ..elements import Element


def is_small(element: Element) -> bool:
    """Whether a float format has 8 bits, which TOSA only moves and multiplies."""
    return element.carrier in (types.fp8e4m3, types.fp8e5m2)


def in_fp32(call: Call, function: Callable[..., Tensor], *given: Tensor, small: bool = True) -> Tensor:
    """A function of floats: in their own format, or in fp32. `small`: formats of 16 bits have its operators, too."""
    dtype = given[0].dtype
    if dtype is types.fp32 or (small and dtype in (types.fp16, types.bf16)):
        return function(*given)
    return call.cast(function(*(call.cast(x, types.fp32) for x in given)), dtype)
