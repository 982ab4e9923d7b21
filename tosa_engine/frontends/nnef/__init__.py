"""NNEF 1.0.4: folders and archives with `graph.nnef`, tensor files and an optional `graph.quant`.

`load` gives a TOSA-FP graph, `load_document` the checked document in flat form, which `save` writes, `parse_quant` the
lines of a quantization file. What it takes is imported when it is first used: `format` is read by every command.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .document import load_document
    from .files.container import open_container
    from .files.dat import read_dat, write_dat
    from .files.quantfile import Quantization, read_quantization
    from .language.flat import Document
    from .language.parser import format_literal, parse_document, parse_quant
    from .language.syntax import QuantLine
    from .mapping import map_document
    from .quantized import own_quantization
    from .source import load
    from .writer import format_document, save

__all__ = [
    "Document", "QuantLine", "Quantization", "format_document", "format_literal", "load", "load_document",
    "map_document", "open_container", "own_quantization", "parse_document", "parse_quant", "read_dat",
    "read_quantization", "save", "write_dat",
]  # fmt: skip

_HOMES: Final = {
    "document": ("load_document",),
    "files.container": ("open_container",),
    "files.dat": ("read_dat", "write_dat"),
    "files.quantfile": ("Quantization", "read_quantization"),
    "language.flat": ("Document",),
    "language.parser": ("format_literal", "parse_document", "parse_quant"),
    "language.syntax": ("QuantLine",),
    "mapping": ("map_document",),
    "quantized": ("own_quantization",),
    "source": ("load",),
    "writer": ("format_document", "save"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
