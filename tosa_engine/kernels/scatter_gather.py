"""Kernels of scatter and gather, on rows of C values, after the indices were tested. SCATTER is numpy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .work import DONE, Kernel, Loop, Work, bits, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def first_outside(indices: Array, K: int) -> int:
    """The position of the first index that is not in 0 .. K - 1; -1 when there is none."""
    outside = (indices < 0) | (indices >= K)
    return int(np.argmax(outside)) if outside.any() else -1


def gather(call: Call) -> Work:
    """A unit is one row [n, w] of the output."""
    from . import layout_loops

    N, K, C, W = (int(call[letter]) for letter in "NKCW")

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        values, indices, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)
        return Loop(layout_loops.gather, bits(values), indices, K, C, W, bits(out))

    return Work(N * W, (4.0 + 0.1 * C) * N * W, bind)


def scatter(call: Call) -> Work:
    """A unit is one batch. Which of two equal indices is the second one is for the oracle to say."""
    N, K, C, W = (int(call[letter]) for letter in "NKCW")

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        values, indices, source = inputs
        out = outputs[0]

        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            for n in range(low, high):
                rows = indices[n]
                if first_outside(rows, K) >= 0:
                    return n * K * C
                written = np.zeros(K, np.bool_)
                written[rows] = True
                if np.count_nonzero(written) < W:
                    return n * K * C
                np.copyto(out[n], values[n])
                out[n][rows] = source[n]
            return DONE

        return run

    return Work(N, (6.0 + 0.3 * C) * N * (K + W), bind)


ROWS = ("i8_i32", "i16_i32", "i32_i32", "fp32_i32")
KERNELS = {("GATHER", key): Kernel(gather) for key in ROWS} | {("SCATTER", key): Kernel(scatter) for key in ROWS}
