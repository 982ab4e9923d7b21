"""An engine for TOSA graphs: exact integers, bit by bit as the specification says.

`Session(path_or_graph)` runs a graph. It is imported when first used, so that importing the package loads neither
numpy nor numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .run import Session

__all__ = ["Session"]


def __getattr__(name: str) -> Any:
    if name != "Session":
        raise AttributeError(f"module 'tosa_engine' has no attribute '{name}'")
    from .run import Session

    globals()[name] = Session
    return Session
