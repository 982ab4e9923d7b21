"""NNEF 1.0.4: folders and archives with `graph.nnef`, tensor files and an optional `graph.quant`.

`load` gives a TOSA-FP graph, `load_document` the checked document in flat form, which `save` writes, `parse_quant` the
lines of a quantization file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...passes import run_pipeline
from .container import open_container
from .dat import read_dat, write_dat
from .document import Document, load_document, without_collector
from .mapping import map_document
from .parser import format_literal, parse_document, parse_quant
from .syntax import QuantLine
from .writer import format_document, save

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ...graph import Graph, QParams

__all__ = [
    "Document", "QuantLine", "format_document", "format_literal", "load", "load_document", "map_document",
    "open_container", "parse_document", "parse_quant", "read_dat", "save", "write_dat",
]  # fmt: skip


def load(path: str | os.PathLike[str], quant: Mapping[str, QParams] | None = None) -> Graph:
    """The TOSA-FP graph of an NNEF folder or archive.

    Inputs and outputs keep the document's names, shapes and layout; inside the graph is NHWC. A tensor that holds the
    value of an NNEF tensor (perhaps in another layout) has its name as `source.name`, and `quant[name]` as its hint.
    An axis of a hint is the NNEF tensor's own; where scales come without one, it is the first axis of their number.

    Raises DataError, ParseError, Unsupported, UsageError (`quant` names tensors that don't exist), or Problems with
    several of them.
    """
    with without_collector():
        return run_pipeline(map_document(load_document(path), quant))
