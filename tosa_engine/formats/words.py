"""What follows the flags of several formats."""

from __future__ import annotations


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
