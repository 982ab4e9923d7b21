"""An engine for TOSA graphs: exact integers, bit by bit as the specification says.

`Session(path_or_graph)` runs a graph, `from_jax(function, *example_arrays)` makes one. They are imported when first
used, so that importing the package loads neither numpy nor numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .frontends.stablehlo.from_jax import from_jax
    from .runtime.session import Session

__all__ = ["Session", "__version__", "from_jax"]


def __getattr__(name: str) -> Any:
    found: Any
    if name == "Session":
        from .runtime.session import Session

        found = Session
    elif name == "from_jax":
        from .frontends.stablehlo.from_jax import from_jax

        found = from_jax
    elif name == "__version__":
        from importlib.metadata import version

        found = version("tosa-engine")
    else:
        raise AttributeError(f"module 'tosa_engine' has no attribute '{name}'")
    globals()[name] = found
    return found
