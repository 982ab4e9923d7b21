"""Reading documents: from a folder, an archive or a text to the flat document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph import without_collector
from .files.container import open_container, read_text
from .files.names import GRAPH
from .flattening import evaluate
from .language.parser import parse_document
from .language.semantics import analyse
from .mapping import Shapes

if TYPE_CHECKING:
    import os

    from .language.flat import Document


def load_document(path: str | os.PathLike[str], strict: bool = False) -> Document:
    """Read, parse and check the `graph.nnef` of a folder or archive; tensor files aren't opened.

    What bends the standard but has a clear meaning is among the document's warnings, or, with `strict`, an error.

    Raises DataError, ParseError, Unsupported, or Problems with several of them.
    """
    container = open_container(path)
    with without_collector():
        document = parse_text(read_text(container, GRAPH), f"{container.label}/{GRAPH}", strict)
    document.container = container
    return document


def parse_text(text: str, file: str, strict: bool = True) -> Document:
    """A checked document from its text, without tensor files."""
    tree = parse_document(text, file)
    return evaluate(tree, analyse(tree, strict), Shapes)
