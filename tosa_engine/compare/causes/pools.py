"""AVG_POOL2D's zero points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial


@hypothesis("average's zero point", "AVG_POOL2D")
def zero_points(trial: Trial, call: Call) -> Iterator[tuple[str, Array | None]]:
    for side, words in (("input_zp", "not subtracted"), ("output_zp", "not added")):
        zero = trial.array(call, side)
        if zero.any():
            name = side.removesuffix("_zp")
            yield f"{name} zero point {zero[0]} {words}", trial.again(call, **{side: np.zeros_like(zero)})
