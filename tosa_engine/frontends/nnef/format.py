"""The format NNEF: its names and its options; what it takes to read a document is imported when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...formats import Format, HintFile, Option, Source
from .files.names import ARCHIVES, FOLDER, GRAPH, QUANT, READ

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...graph import QParams

OPTIONS: Final = (
    Option("strict", "what bends the NNEF standard is an error, even if its meaning is clear", verbs=("check",)),
    Option(
        "inverted_scales",
        "of an NNEF model's graph.quant: refuse scales that look upside down, or say whether they are",
        {"refuse": None, "yes": True, "no": False},
    ),
)
LISTING: Final = (
    Option("flat", "only print an NNEF model as a flat document: fragments expanded, expressions computed"),
    Option("primitive", "of --flat: expand the compounds of the NNEF standard, too", needs="flat"),
)
REWRITING: Final = (
    Option("primitive", "expand the compounds of the NNEF standard into primitives, too"),
)  # fmt: skip


def _open(path: Path, **options: Any) -> Source:
    from .source import DocumentSource

    return DocumentSource(path, **options)


def _read_hints(path: Path, *, inverted_scales: bool | None = None, strict: bool = False) -> Mapping[str, QParams]:
    from .files import graph_quant

    del strict
    return graph_quant.read(path, bool(inverted_scales))


def _write_hints(hints: Mapping[str, QParams], path: Path) -> None:
    from .files import graph_quant

    graph_quant.write(hints, path)


FORMAT: Final = Format(
    "NNEF", "an .nnef folder, an .nnef.tgz or .tar", READ, _open, article="an", folder=GRAPH, options=OPTIONS,
    writes=(FOLDER, *ARCHIVES), rewriting=REWRITING, listing=LISTING,
    hints=HintFile(QUANT, ".quant", _read_hints, _write_hints),
)  # fmt: skip
