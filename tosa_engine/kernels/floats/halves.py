"""fp16 and bf16 in compiled loops, which widen what they read and round what they store: see `float_halves_emit`."""

from __future__ import annotations

from typing import Any

from .._jit import JIT

if JIT:
    from .halves_emit import make_widened


def itself(x: Any) -> Any:
    """Only vector code has narrow arrays."""
    return x


widened: Any = make_widened() if JIT else itself
