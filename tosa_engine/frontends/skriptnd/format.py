"""The format NNEF 2.0: its names and its options; what it takes to read a model is imported when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...formats import Format, Option, Source
from .names import MAIN

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES: Final = (".nnef2", ".nnef2.tgz", ".nnef2.tar", ".nnef2.tar.gz", ".sknd")


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


FORMAT: Final = Format(
    "SkriptND",
    "an .nnef2 folder or archive, a .sknd file",
    SUFFIXES,
    _open,
    folder=MAIN,
    options=OPTIONS,
    group="a SkriptND model",
)
