"""What scatter and gather give (specification 2.11): batch n has its own indices into its K rows of C values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import wide
from .requires import Requires

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def gather(call: Call, values: Array, indices: Array) -> Array:
    """Row `indices[n, w]` of `values` [N,K,C] as row w of the output [N,W,C]."""
    k = wide(indices)
    with Requires(call) as require:
        _require_inside(call, k, require)
    output: Array = values[np.arange(call.N)[:, None], k]
    return output


def scatter(call: Call, values_in: Array, indices: Array, input: Array) -> Array:
    """`values_in` [N,K,C] with row w of `input` [N,W,C] as its row `indices[n, w]`; violations are at [n, w, c]."""
    values_out = values_in.copy()
    output_modified = np.zeros((call.N, call.K), np.bool_)
    k = wide(indices)
    with Requires(call, "input") as require:
        inside = _require_inside(call, k, require)
        again = np.zeros(k.shape, np.bool_)
        for w in range(call.W):
            batches = np.flatnonzero(inside[:, w])
            rows = k[batches, w]
            again[batches, w] = output_modified[batches, rows]
            values_out[batches, rows] = input[batches, w]
            output_modified[batches, rows] = True
        require.holds("R2", ~again[..., None], "index {k} was written before", k=k[..., None])
    return values_out


def _require_inside(call: Call, k: Array, require: Requires) -> Array:
    """Where the indices [N,W] are in 0 .. K - 1; that they are is tested."""
    inside: Array = (k >= 0) & (k < call.K)
    require.holds("R1", inside[..., None], f"index {{k}} is not in 0 .. {call.K - 1}", k=k[..., None])
    return inside


ORACLES = {"GATHER": gather, "SCATTER": scatter}
