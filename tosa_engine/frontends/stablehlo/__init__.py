"""StableHLO and HLO: what JAX, TensorFlow and PyTorch/XLA write, as text, bytecode, `jax.export` files and protos.

`load` gives a TOSA graph. It needs the package `jaxlib` (extra `stablehlo`), which a process of its own imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .source import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .source import load

    return load
