"""The format StableHLO: its names and its options; what it takes to read a model is imported when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...formats import Format, Source
from ..onnx.format import OPTIONS

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES: Final = (".mlir", ".mlirbc", ".stablehlo", ".jax", ".hlo", ".pb")


def _open(path: Path, **options: Any) -> Source:
    from .source import ModuleSource

    return ModuleSource(path, **options)


FORMAT: Final = Format("StableHLO", "an .mlir, .mlirbc, .jax, .hlo or .pb file", SUFFIXES, _open, options=OPTIONS)
