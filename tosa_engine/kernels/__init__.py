"""The kernels: what operators compute, fast. `KERNELS[op, row key]` is the one implementation of a row, `FORMS[op, row
key]` are the steps that take operators around it, too, the preferred ones first.

This is all that planners know of kernels, next to the words of `work` and `forms`.

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
from .depthwise import sliced
from .elementwise import chain as chains
from .forms import Form, Match
from .in_place import then_in_place
from .layout.copies import copy_work
from .reductions import scaled as scaled_sums
from .scale import alone, between
from .scale.behind import forms_behind
from .small.program import can_be_small, small_work
from .table import scaled as scaled_tables
from .work import Epilogue, Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Mapping

FAMILIES: Final = (
    tensor_ops, convolution, fft, activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, reduction,
    data_layout, scatter_gather, image, type_conversion, data_nodes, custom, control_flow, variable,
    shape,
)  # fmt: skip
KERNELS: Final[Mapping[tuple[str, str], Kernel]] = {key: k for family in FAMILIES for key, k in family.KERNELS.items()}

FUSED: Final = (between, scaled_sums, scaled_tables, alone, sliced)
_FUSED: Final = {key: forms for family in FUSED for key, forms in family.FORMS.items()}
FORMS: Final[Mapping[tuple[str, str], tuple[Form, ...]]] = {
    key: (*_FUSED.get(key, ()), *forms_behind(kernel)) for key, kernel in KERNELS.items()
}

__all__ = [
    "FORMS", "KERNELS", "Epilogue", "Form", "Kernel", "Match", "Work", "can_be_small", "chains", "copy_work",
    "small_work",
    "then_in_place",
]  # fmt: skip
