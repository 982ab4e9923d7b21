"""NNEF 1.0.4: folders and archives with `graph.nnef`, tensor files and an optional `graph.quant`.

`load` gives a TOSA-FP graph, `load_document` the checked document, `parse_quant` the lines of a quantization file.
"""

from __future__ import annotations

from .container import open_container
from .dat import read_dat, write_dat
from .document import Document, load_document
from .parser import format_literal, parse_document, parse_quant
from .syntax import QuantLine

__all__ = [
    "Document", "QuantLine", "format_literal", "load_document", "open_container", "parse_document",
    "parse_quant", "read_dat", "write_dat",
]  # fmt: skip
