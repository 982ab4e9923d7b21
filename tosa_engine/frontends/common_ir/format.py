"""The format Common IR: its names and its options; what it takes to read a model is imported when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...formats import Bridge, Format, Option, Source
from ..onnx.format import OPTIONS as OF_SHAPES

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX: Final = ".cir.json"
FETCH: Final = Option("fetch", "of a Common IR model: libraries with http and https addresses are fetched")


def _open(path: Path, **options: Any) -> Source:
    from .source import CommonIrSource

    return CommonIrSource(path, **options)


def _to_onnx(source: Source, path: Path) -> str:
    from .convert import write_onnx

    return write_onnx(source, path)


def _from_onnx(source: Source, path: Path) -> str:
    from .convert import write_common_ir

    return write_common_ir(source, path)


def _bundle(source: Source, path: Path) -> str:
    from .convert import write_bundle

    return write_bundle(source, path)


FORMAT: Final = Format(
    "Common IR", f"a {SUFFIX} file", (SUFFIX,), _open, options=(*OF_SHAPES, FETCH),
    bridges=(
        Bridge("Common IR", ".onnx", _to_onnx), Bridge("ONNX", SUFFIX, _from_onnx),
        Bridge("Common IR", SUFFIX, _bundle),
    ),
)  # fmt: skip
