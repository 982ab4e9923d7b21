"""Kernels of the activation functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import types
from .ewise_binary import by_numpy, choose
from .work import Kernel, Loop, Work, blocks, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def clamp_int(call: Call) -> Work:
    from . import ewise_loops

    least, most, count = int(call.min_val), int(call.max_val), types.count(call.shape_of("output"))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(ewise_loops.clamp, flat(inputs[0]), least, most, outputs[0].reshape(-1), count=count)

    return Work(blocks(count), 0.05 * count, bind)


def clamp_fp32(call: Call) -> Work:
    """max with min_val, then min with max_val, as the specification orders them for NaN and signed zeros."""
    ignore = call.nan_mode == "IGNORE"
    with np.errstate(over="ignore"):
        low, high = np.float32(call.min_val), np.float32(call.max_val)

    def function(x: Array, out: Array) -> None:
        raised = np.empty_like(out)
        bounds = np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape)
        choose(x, bounds[0], x >= low, ignore, raised)
        choose(raised, bounds[1], raised < high, ignore, out)

    return by_numpy(call.shape_of("output"), 3, function)


KERNELS = {
    ("CLAMP", "i8"): Kernel(clamp_int),
    ("CLAMP", "i16"): Kernel(clamp_int),
    ("CLAMP", "fp32"): Kernel(clamp_fp32),
}
