"""Rows of a tensor replaced by others, or combined with them, at places that indices say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from .elementary import chosen, compared
from .problems import Misfit, Unlowered
from .views import shape_of

if TYPE_CHECKING:
    from ..graph import Tensor
    from .writer import Writer

REDUCTIONS: Final = {"add": "ADD", "mul": "MUL", "max": "MAXIMUM", "min": "MINIMUM"}
MOST_UPDATES: Final = 4096  # that are combined one after the other


def scattered(g: Writer, values: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """SCATTER: values [N, K, C], updates [N, W, C] at places [N, W], each of which occurs once."""
    if values.dtype is not types.bool_:
        return g.operator("SCATTER", [values, places, updates], shape_of(values))
    narrow = [g.operator("CAST", [t], shape_of(t), types.i8) for t in (values, updates)]  # TOSA scatters no bool
    found = g.operator("SCATTER", [narrow[0], places, narrow[1]], shape_of(values))
    return g.operator("CAST", [found], shape_of(found), types.bool_)


def combined(g: Writer, values: Tensor, places: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """Updates [1, W, C] added to values [1, K, C] (multiplied, or the larger or lesser), one after the other: places
    [1, W] may occur several times.
    """
    if reduction not in REDUCTIONS:
        raise Misfit(f"the reduction '{reduction}'")
    count, rows = shape_of(updates)[1], shape_of(values)[1]
    if count > MOST_UPDATES:
        raise Unlowered(f"{count} updates with a reduction; {MOST_UPDATES} at most are done one after the other")
    counter = g.const(np.arange(rows).reshape(1, rows, 1), types.i32)
    for i in range(count):
        here = compared(g, "EQUAL", counter, g.reshape(g.section(places, 1, i, 1), (1, 1, 1)))
        changed = g.binary(REDUCTIONS[reduction], values, g.section(updates, 1, i, 1))
        values = chosen(g, here, changed, values)
    return values
