"""The steps of checking a document, in the order of chapter 6. The first step that finds a problem is the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...errors import TosaEngineError, raise_all
from .build import Builder
from .container import GRAPH, QUANT, open_container, read_text
from .document import evaluate
from .mapping import map_operations
from .parser import parse_document, parse_quant
from .semantics import analyse
from .variables import read_stored

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from .flat import Document


class Step(NamedTuple):
    """A step that found no problem; the last one has the document."""

    name: str
    found: str
    document: Document | None = None


def steps(path: str | os.PathLike[str]) -> Iterator[Step]:
    """The steps of checking the document at `path`; each raises what it finds.

    1. syntax: ParseError, Unsupported for extensions
    2. semantics: ParseError
    3. arguments: ParseError; Unsupported for operations that this engine lacks. Without operations that the document
       only declares, shapes are checked too.
    4. data: DataError for tensor files that are missing, damaged or in conflict with the document, and for lines of
       `graph.quant` whose tensor it doesn't have
    """
    container = open_container(path)
    file = f"{container.label}/{GRAPH}"
    tree = parse_document(read_text(container, GRAPH), file)
    yield Step("syntax", f"{len(tree.graph.body)} statements, {len(tree.fragments)} fragments")
    checker = analyse(tree)
    yield Step("semantics", f"{len(checker.warnings)} warnings")
    document = evaluate(tree, checker)
    document.container = container
    custom = sorted({op.name for op in document.operations if not op.declaration.standard})
    if custom:
        yield Step("arguments", f"{len(document.operations)} operations; no shapes, because of {', '.join(custom)}")
    else:
        map_operations(Builder(document, {}, with_data=False), document.operations)
        yield Step("arguments", f"{len(document.operations)} operations")
    yield Step("data", _check_data(document), document)


def _check_data(document: Document) -> str:
    problems: list[TosaEngineError] = []
    size = 0
    for operation in document.variables.values():
        try:
            stored, _ = read_stored(document, operation)
            size += stored.array.nbytes
        except TosaEngineError as problem:
            problems.append(problem)
    assert document.container is not None
    lines = 0
    if document.container.has(QUANT):
        name = f"{document.container.label}/{QUANT}"
        text = read_text(document.container, QUANT)
        known = set(document.tensors)
        for line in parse_quant(text, name):
            lines += 1
            if line.tensor not in known:
                problems.append(line.error(f"the document has no tensor '{line.tensor}'"))
    raise_all(problems, f"{document.text.file}: {len(problems)} problems")
    return f"{len(document.variables)} variables of {size} bytes, {lines} quantized tensors"
