"""NNEF 1.0.4: folders and archives with `graph.nnef`, tensor files and an optional `graph.quant`.

`load` gives a TOSA-FP graph, `load_document` the checked document in flat form, which `save` writes, `parse_quant` the
lines of a quantization file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...passes import run_pipeline
from .document import Document, load_document, without_collector
from .files.container import QUANT, open_container, read_text
from .files.dat import read_dat, write_dat
from .files.quantfile import Quantization, read_quantization
from .files.writer import format_document, save
from .language.parser import format_literal, parse_document, parse_quant
from .language.syntax import QuantLine
from .mapping import map_document
from .quantized import as_integers, checked, quantized

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ...graph import Graph, QParams

__all__ = [
    "Document", "QuantLine", "Quantization", "format_document", "format_literal", "load", "load_document",
    "map_document", "open_container", "own_quantization", "parse_document", "parse_quant", "quantized",
    "read_dat", "read_quantization", "save", "write_dat",
]  # fmt: skip


def load(
    path: str | os.PathLike[str],
    quant: Mapping[str, QParams] | None = None,
    *,
    strict: bool = False,
    inverted_scales: bool | None = None,
    for_integers: bool = False,
) -> Graph:
    """The TOSA-FP graph of an NNEF folder or archive.

    Inputs and outputs keep the document's names, shapes and layout; inside the graph is NHWC. A tensor that holds the
    value of an NNEF tensor (perhaps in another layout) has its name as `source.name`, and `quant[name]` as its hint.
    An axis of a hint is the NNEF tensor's own; where scales come without one, it is the first axis of their number.

    `quant`: the quantization in place of the document's own graph.quant (None); nothing in it: none. What bends the
    standard but has a clear meaning is in the graph's `warnings`, or, with `strict`, an error. `inverted_scales` says
    whether the scales of the document's graph.quant are upside down (None: refuse what looks like it).
    `for_integers`: to be quantized, with hints in place of the linear quantize operations of the graph.

    Raises DataError, ParseError, Unsupported, UsageError (`quant` names tensors that don't exist), or Problems with
    several of them.
    """
    with without_collector():
        document = load_document(path, strict)
        if quant is None:
            quant = own_quantization(document, inverted_scales)
        document, hints = quantized(document, quant)
        return run_pipeline(map_document(as_integers(document) if for_integers else document, hints))


def own_quantization(document: Document, inverted_scales: bool | None = None) -> Quantization:
    """The graph.quant of a document's container, without a line when there is none.

    Raises ParseError, or Problems, for what is wrong in it: lines of tensors that the document doesn't have, and scales
    that look upside down while `inverted_scales` is None.
    """
    container = document.container
    if container is None or not container.has(QUANT):
        return Quantization()
    file = f"{container.label}/{QUANT}"
    return checked(
        document, read_quantization(read_text(container, QUANT), file, bool(inverted_scales)), inverted_scales
    )
