"""Operators of the standard library as TOSA operators: one function each, which calls `lower/`.

A function gives a tensor, a list of them, or None where the general way through @lower or @compose has to do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import elementwise, image, layout, linear, nn, quant, reductions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..writer import Call

MAPPERS: Final[Mapping[str, Callable[[Call], Any]]] = {
    name: mapper
    for family in (elementwise, layout, linear, nn, reductions, image, quant)
    for name, mapper in family.MAPPERS.items()
}
