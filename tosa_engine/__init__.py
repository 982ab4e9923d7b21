"""An engine for TOSA graphs: exact integers, bit by bit as the specification says.

`Session(path_or_graph)` runs a graph; `load(path)` reads one. Both are imported when first used, so that importing the
package stays free of numpy and numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .load import load
    from .run import Session

_LAZY: Final = {"Session": ".run", "load": ".load"}

__all__ = ["Session", "load"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'tosa_engine' has no attribute '{name}'")
    found = getattr(importlib.import_module(_LAZY[name], __name__), name)
    globals()[name] = found
    return found
