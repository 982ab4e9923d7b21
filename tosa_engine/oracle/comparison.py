"""What comparisons give (specification 2.8). NaN is neither equal to anything nor greater or less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import wide

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def equal(call: Call, input1: Array, input2: Array) -> Array:
    return np.asarray(wide(input1) == wide(input2))


def greater(call: Call, input1: Array, input2: Array) -> Array:
    return np.asarray(wide(input1) > wide(input2))


def greater_equal(call: Call, input1: Array, input2: Array) -> Array:
    return np.asarray(wide(input1) >= wide(input2))


ORACLES = {"EQUAL": equal, "GREATER": greater, "GREATER_EQUAL": greater_equal}
