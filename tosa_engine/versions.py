"""Versions of the TOSA specification, and which of them the engine knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Version(NamedTuple):
    """A version of the specification without its patch number, which changes no rule."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{'-draft' if self == V1_1 else ''}"


V1_0: Final = Version(1, 0)
V1_1: Final = Version(1, 1)
VERSIONS: Final[Mapping[str, Version]] = {str(version): version for version in (V1_0, V1_1)}
NEWEST: Final = max(VERSIONS.values())
