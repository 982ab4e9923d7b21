"""Ranges of the image operators (specification 2.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .interval import Interval, of_type

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts


def resize(call: Call, facts: Facts, input: Interval) -> Interval:
    """NEAREST copies; BILINEAR weighs four values with numbers from 0 on that add up to scale_y_n * scale_x_n."""
    if call.mode == "NEAREST":
        return input
    if not call.has("scale_y_n"):
        return of_type(call.out_t)
    unit = call.scale_y_n * call.scale_x_n
    return Interval(input.low * unit, input.high * unit)


TRANSFERS = {"RESIZE": resize}
