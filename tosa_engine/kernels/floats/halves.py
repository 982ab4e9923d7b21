"""fp16 and bf16 in compiled loops, which widen what they read and round what they store: see `halves_emit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import JIT

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled, Number

if JIT:
    from .halves_emit import make_widened


def itself(x: Array) -> Number:
    """Only vector code has narrow arrays."""
    return x


widened: Compiled = make_widened() if JIT else itself
