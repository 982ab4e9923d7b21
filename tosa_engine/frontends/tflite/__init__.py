"""TFLite: `.tflite` files, converted by Arm's tools in processes of their own (extra `tflite`).

`load` gives a TOSA graph whose integers are those of the model.
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
