"""The format TOSA: the flatbuffer `.tosa` and its JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...formats import FileSource, Format, Source

if TYPE_CHECKING:
    from pathlib import Path

    from ...graph import Graph

SUFFIXES: Final = (".tosa", ".json")


def _open(path: Path) -> Source:
    from ... import serialize

    return FileSource(path, serialize.read)


def _write(graph: Graph, path: Path) -> None:
    from ... import serialize

    serialize.write(graph, path)


FORMAT: Final = Format(
    "TOSA", "a .tosa or a .json file", SUFFIXES, _open, writes=SUFFIXES, write=_write
)  # fmt: skip
