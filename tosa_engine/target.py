"""Targets: which version, profiles, extensions and level graphs are checked against (specification 1.3 and 1.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .errors import UsageError
from .versions import NEWEST, VERSIONS, Version

PROFILES: Final = ("PRO-INT", "PRO-FP")
EXTENSIONS: Final = (
    "EXT-INT16", "EXT-INT4", "EXT-BF16", "EXT-FP8E4M3", "EXT-FP8E5M2", "EXT-FFT", "EXT-VARIABLE",
    "EXT-CONTROLFLOW", "EXT-DOUBLEROUND", "EXT-INEXACTROUND", "EXT-DYNAMIC",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """Limits of operator arguments; the field names are the specification's, in lower case."""

    name: str
    max_rank: int
    max_kernel: int
    max_stride: int
    max_scale: int
    max_log2_size: int
    max_nesting: int
    max_tensor_list_size: int

    @property
    def max_tensor_bytes(self) -> int:
        """Largest size of one tensor in bytes: (1 << (MAX_LOG2_SIZE + 1)) - 1."""
        return (1 << (self.max_log2_size + 1)) - 1

    @property
    def max_dimension(self) -> int:
        return (1 << self.max_log2_size) - 1


LEVEL_NONE: Final = Level("none", 32, 2147483647, 2147483647, 2048, 63, 256, 256)
LEVEL_8K: Final = Level("8K", 6, 8192, 8192, 256, 31, 6, 64)
LEVELS: Final = {level.name: level for level in (LEVEL_NONE, LEVEL_8K)}


@dataclass(frozen=True, slots=True)
class Target:
    """A version of the specification with a set of profiles and extensions and one level.

    The default accepts everything that any known version has.
    """

    profiles: frozenset[str] = field(default_factory=lambda: frozenset(PROFILES))
    extensions: frozenset[str] = field(default_factory=lambda: frozenset(EXTENSIONS))
    level: Level = LEVEL_8K
    version: Version = NEWEST

    @property
    def names(self) -> frozenset[str]:
        return self.profiles | self.extensions

    @classmethod
    def parse(cls, names: list[str] | None = None, level: str = "8K", version: str = str(NEWEST)) -> Target:
        """A target from the names of profiles and extensions; None means all of them."""
        if level not in LEVELS:
            raise UsageError(f"unknown level '{level}'; choose from: {', '.join(LEVELS)}")
        if version not in VERSIONS:
            raise UsageError(f"unknown version '{version}' of TOSA; choose from: {', '.join(VERSIONS)}")
        if names is None:
            return cls(level=LEVELS[level], version=VERSIONS[version])
        upper = [n.upper().removeprefix("TOSA-") for n in names]
        unknown = [n for n in upper if n not in PROFILES and n not in EXTENSIONS]
        if unknown:
            known = ", ".join((*PROFILES, *EXTENSIONS))
            raise UsageError(f"unknown profile or extension: {', '.join(unknown)}; choose from: {known}")
        profiles, extensions = (frozenset(n for n in upper if n in known) for known in (PROFILES, EXTENSIONS))
        return cls(profiles, extensions, LEVELS[level], VERSIONS[version])
