"""Kernels of scatter and gather, on rows of C values, after the indices were tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .work import Kernel, Loop, Work, bits, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def gather(call: Call) -> Work:
    """A unit is one row [n, w] of the output."""
    from .layout import loops as layout_loops

    N, K, C, W = (int(call[letter]) for letter in "NKCW")

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        values, indices, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)
        return Loop(layout_loops.gather, bits(values), indices, K, C, W, bits(out))

    return Work(N * W, (4.0 + 0.1 * C) * N * W, bind)


def scatter(call: Call) -> Work:
    """A unit is one batch. Which of two equal indices is the second one is for the oracle to say."""
    from .layout import loops as layout_loops

    N, K, C, W = (int(call[letter]) for letter in "NKCW")

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        values, source, out = (bits(flat(array)) for array in (inputs[0], inputs[2], outputs[0]))
        return Loop(layout_loops.scatter, values, flat(inputs[1]), source, K, C, W, out)

    return Work(N, N * (0.1 * K * C + (4.0 + 0.1 * C) * W), bind, ((np.dtype(np.uint8), K),))


ROWS = tuple(f"{t}_i32" for t in ("i8", "i16", "i32", "fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32"))
KERNELS = {("GATHER", key): Kernel(gather) for key in ROWS} | {("SCATTER", key): Kernel(scatter) for key in ROWS}
