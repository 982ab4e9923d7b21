"""Any model file becomes a graph: `load` opens it by the format that its name tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .formats import open_model

if TYPE_CHECKING:
    import os

    from .graph import Graph


def load(path: str | os.PathLike[str], **options: Any) -> Graph:
    """The graph of a model of any of `tosa_engine.formats`, whose `options` of opening are taken by name.

    The model's own quantization is applied: its QParams are on the tensors, stored codes become real numbers.

    Raises FileNotFoundError, UsageError when the name tells no format or the format has no such option, DataError or
    ParseError when the content is damaged, Unsupported or Problems when it uses what this engine doesn't know.
    """
    return open_model(path, **options).graph()
