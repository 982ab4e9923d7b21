"""Comparing arrays, the tensors of models and of dumps, and finding what may have caused a difference.

Names are imported when first used: comparing arrays takes neither a model nor what runs one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreement import Agreement
    from .arrays import EXACT, Difference, Tolerance, WrongForm, accepting, compare, compare_all
    from .comparison import Comparison, compare_sides
    from .requirement import Require
    from .sides import Side, read_dump, read_model, run_model

__all__ = [
    "EXACT", "Agreement", "Comparison", "Difference", "Require", "Side", "Tolerance", "WrongForm", "accepting",
    "compare", "compare_all", "compare_sides", "read_dump", "read_model", "run_model",
]  # fmt: skip

_MODULES = {
    "Agreement": "agreement",
    **dict.fromkeys(("EXACT", "Difference", "Tolerance", "WrongForm", "accepting", "compare", "compare_all"), "arrays"),
    **dict.fromkeys(("Comparison", "compare_sides"), "comparison"),
    "Require": "requirement",
    **dict.fromkeys(("Side", "read_dump", "read_model", "run_model"), "sides"),
}

if not TYPE_CHECKING:  # the type checker knows the names above, and no other

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'tosa_engine.compare' has no attribute '{name}'")
        found = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        globals()[name] = found
        return found
