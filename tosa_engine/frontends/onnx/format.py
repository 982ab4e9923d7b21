"""The format ONNX: its names and its options; what it takes to read a model is imported when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...formats import SHAPE, Format, Option, Source, pair

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES: Final = (".onnx",)


def dimension(text: str) -> tuple[str, int]:
    """`NAME=1`. Raises ValueError."""
    name, value = pair(text)
    if int(value) < 1:
        raise ValueError(text)
    return name, int(value)


def interval(text: str) -> tuple[str, tuple[int, int]]:
    """`NAME=0,99`. Raises ValueError."""
    name, value = pair(text)
    low, high = value.split(",")
    return name, (int(low), int(high))


OPTIONS: Final = (
    SHAPE,
    Option(
        "dim", "of ONNX, Common IR, StableHLO: the extent of a dimension that has a name; may be given several times",
        parse=dimension, metavar="NAME=N", repeated=True,
    ),
    Option(
        "constant", "of ONNX, Common IR, StableHLO: an input is a constant, number or array; may be given often",
        parse=pair, metavar="INPUT=N|X.npy", repeated=True,
    ),
    Option(
        "within", "of ONNX, Common IR, StableHLO: the range of an integer, which runs test; may be given several times",
        parse=interval, metavar="NAME=LOW,HIGH", repeated=True,
    ),
)  # fmt: skip


def _open(path: Path, **options: Any) -> Source:
    from .source import ModelSource

    return ModelSource(path, **options)


FORMAT: Final = Format("ONNX", "an .onnx file", SUFFIXES, _open, article="an", options=OPTIONS)
