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
    with Requires(call) as require:
        k = _indices(call, indices, require)
    output: Array = values[np.arange(call.N)[:, None], k]
    return output


def scatter(call: Call, values_in: Array, indices: Array, input: Array) -> Array:
    """`values_in` [N,K,C] with row w of `input` [N,W,C] as its row `indices[n, w]`; violations are at [n, w, c]."""
    values_out = values_in.copy()
    batches = np.arange(call.N)
    output_modified = np.zeros((call.N, call.K), np.bool_)
    again = np.zeros((call.N, call.W), np.bool_)
    with Requires(call, "input") as require:
        k = _indices(call, indices, require)
        for w in range(call.W):
            again[:, w] = output_modified[batches, k[:, w]]
            output_modified[batches, k[:, w]] = True
            values_out[batches, k[:, w]] = input[:, w]
        require.holds("R2", ~again[..., None], "index {k} was written before", k=k[..., None])
    return values_out


def _indices(call: Call, indices: Array, require: Requires) -> Array:
    """The indices [N,W], tested to be in 0 .. K - 1."""
    k = wide(indices)
    message = f"index {{k}} is not in 0 .. {call.K - 1}"
    require.holds("R1", ((k >= 0) & (k < call.K))[..., None], message, k=k[..., None])
    return np.clip(k, 0, call.K - 1)


ORACLES = {"GATHER": gather, "SCATTER": scatter}
