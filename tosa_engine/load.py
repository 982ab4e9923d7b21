"""Any model file becomes a graph: `load` looks at what kind it is and asks the reader of that kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UsageError

if TYPE_CHECKING:
    import os

    from .graph import Graph

KINDS = "an .nnef folder, an .nnef.tgz or .tar, a .tosa or a .json file"
NNEF_ARCHIVES = (".nnef.tgz", ".nnef.tar.gz", ".nnef.tar", ".tar")


def is_nnef(path: Path) -> bool:
    """Whether a model is an NNEF document, by its name."""
    return path.is_dir() or path.name.endswith(NNEF_ARCHIVES)


def load(path: str | os.PathLike[str], *, inverted_scales: bool | None = None) -> Graph:
    """Read a model: an NNEF folder, `.nnef.tgz` or `.tar` as a TOSA-FP graph, `.tosa` and `.json` as they are.

    An NNEF model's own graph.quant is applied: its QParams are on the tensors, stored codes become real numbers.
    `inverted_scales` says whether its scales are upside down (None: what looks like it is refused).

    Raises FileNotFoundError, UsageError when the name tells no kind, DataError or ParseError when the content is
    damaged, Unsupported or Problems when it uses what this engine doesn't know.
    """
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(2, "no such model", str(path))
    if is_nnef(found):
        from .frontends import nnef

        return nnef.load(found, inverted_scales=inverted_scales)
    if found.suffix in (".tosa", ".json"):
        from . import serialize

        return serialize.read(found)
    raise UsageError(f"can't tell what '{found}' is by its name: a model is {KINDS}")
