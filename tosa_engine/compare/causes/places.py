"""AVG_POOL2D's zero points, and the places that RESIZE reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]


@hypothesis("average's zero point", "AVG_POOL2D")
def pool_zero_points(trial: Trial, call: Call) -> Found:
    for side, words in (("input_zp", "not subtracted"), ("output_zp", "not added")):
        zero = trial.array(call, side)
        if zero.any():
            name = side.removesuffix("_zp")
            yield f"{name} zero point {zero[0]} {words}", trial.again(call, **{side: np.zeros_like(zero)})


@hypothesis("resize", "RESIZE")
def resize_places(trial: Trial, call: Call) -> Found:
    """The offset of an axis off by one step of its scale, or by a whole element of the input."""
    offset, border, scale = (trial.array(call, name) for name in ("offset", "border", "scale"))
    for axis, letter in enumerate("yx"):
        for amount, words in ((1, "one step"), (-1, "one step"), (int(scale[2 * axis]), "one element")):
            step = np.zeros_like(offset)
            step[axis] = amount
            where = "after" if amount > 0 else "before"
            text = f"places along {letter} are {words} {where} the right ones (offset off by {amount:+})"
            yield text, trial.again(call, offset=offset + step, border=border + step)
