"""The format TFLite: its names and its options; what it takes to read a model is imported when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...formats import SHAPE, Format, Source

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES: Final = (".tflite",)
OPTIONS: Final = (SHAPE,)


def _open(path: Path, **options: Any) -> Source:
    from .source import ModelSource

    return ModelSource(path, **options)


FORMAT: Final = Format("TFLite", "a .tflite file", SUFFIXES, _open, options=OPTIONS)
