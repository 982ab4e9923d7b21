"""The operations of StableHLO that TOSA can express, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import (
    arithmetic,
    calls,
    control,
    conversion,
    functions,
    indexing,
    layout,
    linear,
    logic,
    normalization,
    products,
    quantized,
    reductions,
    sorting,
    windows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..call import Call

FAMILIES: Final = (
    arithmetic, calls, control, conversion, functions, indexing, layout, linear, logic, normalization, products,
    quantized, reductions, sorting, windows,
)  # fmt: skip
OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    name: function for family in FAMILIES for name, function in family.OPERATORS.items()
}
# what may stand in a body that is computed for all elements of arrays at once
POINTWISE: Final = frozenset((
    *arithmetic.OPERATORS, *conversion.OPERATORS, *functions.OPERATORS, *logic.OPERATORS, "constant", "custom_call",
    "reshape", "broadcast_in_dim", "optimization_barrier",
))  # fmt: skip
REFUSED: Final[Mapping[str, str]] = {
    "rng": "it has no random numbers: make them of a key by threefry, or give them as an input",
    "rng_bit_generator": "it has no random numbers: make them of a key by threefry, or give them as an input",
    "complex": "it has no complex numbers", "imag": "it has no complex numbers", "real": "it has no complex numbers",
    "fft": "it has no complex numbers",
    "send": "it tells nothing to other devices", "recv": "it tells nothing to other devices",
    "collective_permute": "it tells nothing to other devices",
    "set_dimension_size": "its shapes are fixed",
}  # fmt: skip
