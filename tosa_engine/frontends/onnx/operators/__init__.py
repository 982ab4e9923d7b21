"""One function for each operator: it checks the arguments and calls `tosa_engine.lower`.

A function takes a `Call` and gives its results: tensors, values, or arrays that are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import (
    activation,
    control,
    conversion,
    convolution,
    elementwise,
    indexing,
    integer_products,
    integers,
    layout,
    linear,
    normalization,
    pooling,
    quantization,
    recurrent,
    reductions,
    resize,
    rounding,
    sampling,
    sequences,
)
from .contrib import FLOATING
from .contrib_quantized import QUANTIZED
from .impossible import IMPOSSIBLE
from .learning import OPERATORS as LEARNING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..call import Call

    Operator = Callable[[Call], Any]

OPERATORS: Final[Mapping[tuple[str, str], Operator]] = {
    ("", name): operator
    for family in (
        activation, control, conversion, convolution, elementwise, indexing, integer_products, integers, layout, linear,
        normalization, pooling, quantization, recurrent, reductions, resize, rounding, sampling, sequences,
    )
    for name, operator in family.OPERATORS.items()
} | {**FLOATING, **QUANTIZED, **LEARNING}  # fmt: skip

__all__ = ["IMPOSSIBLE", "OPERATORS"]
