"""ONNX: `.onnx` files of operator sets 7 and up, with their external data.

`load` gives a TOSA-FP graph. It needs the package `onnx` (extra `onnx`), which is imported when a model is opened.
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
