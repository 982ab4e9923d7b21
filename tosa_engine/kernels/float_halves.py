"""fp16 and bf16 in compiled loops, which widen what they read and round what they store: see `float_halves_emit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from ._jit import JIT
from .work import flat

if JIT:
    from .float_halves_emit import make_widened

if TYPE_CHECKING:
    from ..types import Array

CODES = {types.fp16.storage: np.int16, types.bf16.storage: np.uint16}


def coded(array: Array) -> Array:
    """An array of floats in one dimension as loops take it: of fp16 and bf16, the bits."""
    code = CODES.get(array.dtype)
    line = flat(array)
    return line if code is None else line.view(code)


def itself(x: Any) -> Any:
    """Only vector code has narrow arrays."""
    return x


widened: Any = make_widened() if JIT else itself
