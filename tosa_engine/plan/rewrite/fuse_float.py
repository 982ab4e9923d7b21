"""A CLAMP behind sums of floats, or behind an elementwise operator, becomes a part of their step, with the same bits.

Where results are rounded to fp16 or bf16, the CLAMP is of the rounded ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...kernels import KERNELS
from ...numerics.float_formats import round_to
from ..steps import Step
from .dynamic_constants import unknown

if TYPE_CHECKING:
    from ...spec.table import Call
    from .fuse import Fusion


def clipped(fusion: Fusion, call: Call) -> Step | None:
    """The step of an operator of floats with the CLAMP behind it.

    Left out are a CLAMP that ignores NaN, and one whose upper bound is a zero: the kernels' clip lets a zero of the
    other sign pass.
    """
    assert call.row is not None
    kernel = KERNELS[call.spec.name, call.row.key]
    if not kernel.clips or unknown(kernel, call):
        return None
    clamp = fusion.next(call.operator.outputs[0], "CLAMP")
    if clamp is None or clamp.nan_mode != "PROPAGATE":
        return None
    bounds = np.array([clamp.min_val, clamp.max_val], np.float64)
    with np.errstate(over="ignore"):
        low, high = (float(np.float32(bound)) for bound in round_to(bounds, clamp.in_out_t))
    if high == 0.0:
        return None
    work = kernel.prepare(call, (low, high))
    return Step((call, clamp), tuple(call.operator.inputs), (clamp.operator.outputs[0],), work)
