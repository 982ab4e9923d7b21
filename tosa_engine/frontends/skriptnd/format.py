"""The format NNEF 2.0: its names and its options; what it takes to read a model is imported when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...formats import Bridge, Format, Option, Source
from .names import ARCHIVES, FOLDER, MAIN, TEXT

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES: Final = (FOLDER, *ARCHIVES, TEXT)


def attribute(text: str) -> tuple[str, str]:
    """`NAME=VALUE`. Raises ValueError."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError(text)
    return name, value


OPTIONS: Final = (
    Option(
        "dialect", "branch (NNEF-Tools v2.0) or draft (revision 6), where the text doesn't tell",
        {"auto": None, "branch": "branch", "draft": "draft"},
    ),
    Option("graph", "the graph of that name instead of the first", parse=str, metavar="NAME"),
    Option(
        "attribute", "an attribute of the graph; may be given several times", parse=attribute,
        metavar="NAME=VALUE", repeated=True,
    ),
)  # fmt: skip


def _open(path: Path, **options: Any) -> Source:
    from .source import SkriptndSource

    return SkriptndSource(path, **options)


def _from_nnef(source: Source, path: Path) -> str:
    from .conversion.to_skriptnd import write_skriptnd

    return write_skriptnd(source, path)


def _to_nnef(source: Source, path: Path) -> str:
    from .conversion.to_nnef import write_nnef

    return write_nnef(source, path)


NNEF: Final = (".nnef", ".nnef.tgz", ".nnef.tar.gz", ".nnef.tar")
FORMAT: Final = Format(
    "SkriptND",
    "an .nnef2 folder or archive, a .sknd file",
    SUFFIXES,
    _open,
    folder=MAIN,
    options=OPTIONS,
    writes=SUFFIXES,
    bridges=(
        *(Bridge("NNEF", suffix, _from_nnef) for suffix in SUFFIXES),
        *(Bridge("SkriptND", suffix, _to_nnef, ("dialect", "graph", "attribute")) for suffix in NNEF),
    ),
    group="a SkriptND model",
)
