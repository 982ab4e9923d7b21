"""What several formats say about themselves: a flag that they share, and what follows flags."""

from __future__ import annotations

from typing import Final

from .format import Option


def pair(text: str) -> tuple[str, str]:
    """`NAME=VALUE`. Raises ValueError."""
    name, equals, value = text.rpartition("=")
    if not (name and equals and value):
        raise ValueError(text)
    return name, value


def shape_of_input(text: str) -> tuple[str, tuple[int, ...]]:
    """`NAME=1,3,192,192`; `NAME=` followed by `scalar` is a shape without axes. Raises ValueError."""
    name, value = pair(text)
    extents = () if value == "scalar" else tuple(int(word) for word in value.split(","))
    if min(extents, default=1) < 1:
        raise ValueError(text)
    return name, extents


SHAPE: Final = Option(
    "shape", "of ONNX, Common IR, TFLite: an input's shape for the declared one; may be given several times",
    parse=shape_of_input, metavar="INPUT=N,N,...", repeated=True,
)  # fmt: skip
