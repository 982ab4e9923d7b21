"""What comparisons give (specification 2.8). NaN is neither equal to anything nor greater or less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def equal(call: Call, input1: Array, input2: Array) -> Array:
    return np.asarray(input1 == input2)


def greater(call: Call, input1: Array, input2: Array) -> Array:
    return np.asarray(input1 > input2)


def greater_equal(call: Call, input1: Array, input2: Array) -> Array:
    return np.asarray(input1 >= input2)


ORACLES = {"EQUAL": equal, "GREATER": greater, "GREATER_EQUAL": greater_equal}
