"""What elementwise ternary operators give (specification 2.7). Shapes of one rank broadcast along 1s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def select(call: Call, input1: Array, input2: Array, input3: Array) -> Array:
    """input2 where input1 is true, input3 elsewhere."""
    return np.where(input1, input2, input3)


ORACLES = {"SELECT": select}
