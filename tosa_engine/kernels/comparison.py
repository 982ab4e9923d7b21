"""Kernels of the comparison operators: numpy's, in which NaN is neither equal to anything nor greater or less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .ewise_binary import by_numpy
from .work import Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from ..types import Array


def comparison(ufunc: Callable[..., Any]) -> Callable[[Call], Work]:
    def function(a: Array, b: Array, out: Array) -> None:
        ufunc(a, b, out=out)

    return lambda call: by_numpy(call.shape_of("output"), 0.8, function)


OPERATORS = {"EQUAL": np.equal, "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal}
KERNELS = {(op, key): Kernel(comparison(f)) for op, f in OPERATORS.items() for key in ("i32_bool", "fp32_bool")}
