"""The kernels: what operators compute, fast. `KERNELS[op, row key]` is the one implementation of a row.

Importing this package imports neither numba nor compiled code: the registry knows how to *prepare* work; compiled
loops (files named `*_loops.py`) are imported when the first operator that needs them is prepared, and compiled or read
from the cache on first use. `TOSA_ENGINE_JIT=0` runs them as plain Python, `TOSA_ENGINE_KERNELS` chooses the
vector unit (see `variants`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import (
    activation_funcs,
    comparison,
    control_flow,
    convolution,
    custom,
    data_layout,
    data_nodes,
    ewise_binary,
    ewise_ternary,
    ewise_unary,
    fft,
    image,
    reduction,
    scatter_gather,
    shape,
    tensor_ops,
    type_conversion,
    variable,
)
from .work import Epilogue, Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Mapping

FAMILIES: Final = (
    tensor_ops, convolution, fft, activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, reduction,
    data_layout, scatter_gather, image, type_conversion, data_nodes, custom, control_flow, variable,
    shape,
)  # fmt: skip
KERNELS: Final[Mapping[tuple[str, str], Kernel]] = {key: k for family in FAMILIES for key, k in family.KERNELS.items()}

__all__ = ["KERNELS", "Epilogue", "Kernel", "Work"]
