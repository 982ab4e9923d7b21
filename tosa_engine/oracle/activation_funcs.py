"""What activation functions compute (specification 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import apply_max_s, apply_min_s

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def clamp(call: Call, input: Array) -> Array:
    """The value, or the nearer bound where it lies beyond; NaN becomes min_val when NaN is ignored."""
    low = np.asarray(call.min_val, input.dtype)
    high = np.asarray(call.max_val, input.dtype)
    return apply_min_s(apply_max_s(input, low, call.nan_mode), high, call.nan_mode)


ORACLES = {"CLAMP": clamp}
