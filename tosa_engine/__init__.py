"""An engine for TOSA graphs: exact integers, bit by bit as the specification says.

`Session(path_or_graph)` runs a graph. It is imported when first used, so that importing the package loads neither
numpy nor numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .runtime.session import Session

__all__ = ["Session", "__version__"]


def __getattr__(name: str) -> Any:
    found: Any
    if name == "Session":
        from .runtime.session import Session

        found = Session
    elif name == "__version__":
        from importlib.metadata import version

        found = version("tosa-engine")
    else:
        raise AttributeError(f"module 'tosa_engine' has no attribute '{name}'")
    globals()[name] = found
    return found
