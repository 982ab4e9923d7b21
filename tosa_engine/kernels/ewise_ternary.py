"""Kernels of the elementwise ternary operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .ewise_binary import by_numpy
from .work import Kernel, Work

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def select(call: Call) -> Work:
    def function(condition: Array, a: Array, b: Array, out: Array) -> None:
        np.copyto(out, b)
        np.copyto(out, a, where=condition)

    return by_numpy(call.shape_of("output"), 1.5, function)


KERNELS = {("SELECT", key): Kernel(select) for key in ("bool", "i8", "i16", "i32", "fp32")}
