"""What RESCALE with INEXACT_ROUND may give: an interval for each element (specification 2.13.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..spec.table import Call
    from ..types import Array


def as_numbers(array: Array, unsigned: bool) -> Array:
    """Elements as int64; tensors are signless."""
    if unsigned:
        return array.view(np.dtype(f"uint{array.dtype.itemsize * 8}")).astype(np.int64)
    return array.astype(np.int64)


def inexact_ends(call: Call, values: Mapping[str, Array]) -> tuple[Array, Array]:
    """The least and the greatest of every element, clipped to the output's range: `compare.rounding.inexact_interval`
    of all elements at once.
    """
    value = as_numbers(values[call.tensor("input").name], call.input_unsigned)
    zero_in, zero_out = (
        int(as_numbers(values[call.tensor(f"{side}_zp").name], call[f"{side}_unsigned"])[0])
        for side in ("input", "output")
    )
    multiplier, shift = (values[call.tensor(name).name].astype(np.int64) for name in ("multiplier", "shift"))
    if not call.per_channel:
        multiplier, shift = multiplier[0], shift[0]
    reference = np.ldexp(((value - zero_in) * multiplier).astype(np.float64), -shift)
    error = 0.5 + (3 * abs(reference) + abs(reference + zero_out)) * 2.0**-24
    low, high = call.out_t.minimum, call.out_t.maximum
    if call.output_unsigned:
        low, high = 0, (1 << call.out_t.bits) - 1
    least, most = np.ceil(reference - error + zero_out), np.floor(reference + error + zero_out)
    return np.clip(least, low, high).astype(np.int64), np.clip(most, low, high).astype(np.int64)
