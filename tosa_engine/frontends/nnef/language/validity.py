"""The steps of checking a document, in the order of chapter 6. The first step that finds a problem is the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....errors import Problems, TosaEngineError, raise_all
from ..build import Builder, with_axis
from ..document import evaluate
from ..files.container import GRAPH, QUANT, open_container, read_text
from ..files.quantfile import Quantization, read_quantization
from ..files.variables import read_stored
from ..mapping import map_operations
from ..quantized import checked, quantized
from ..shapes import Shapes
from .parser import parse_document
from .semantics import analyse

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from .flat import Document


class Step(NamedTuple):
    """A step that found no problem; the last one has the document."""

    name: str
    found: str
    document: Document | None = None


def steps(path: str | os.PathLike[str], strict: bool = False, inverted_scales: bool | None = None) -> Iterator[Step]:
    """The steps of checking the document at `path`; each raises what it finds.

    1. syntax: ParseError, Unsupported for extensions
    2. semantics: ParseError
    3. arguments: ParseError; Unsupported for operations that this engine lacks. Without operations that the document
       only declares, shapes are checked too.
    4. data: DataError for tensor files that are missing, damaged or in conflict with the document; ParseError for lines
       of `graph.quant` that are wrong, or whose tensor it doesn't have

    `strict` and `inverted_scales` are those of `nnef.load`.
    """
    container = open_container(path)
    file = f"{container.label}/{GRAPH}"
    tree = parse_document(read_text(container, GRAPH), file)
    yield Step("syntax", f"{len(tree.graph.body)} statements, {len(tree.fragments)} fragments")
    checker = analyse(tree, strict)
    yield Step("semantics", f"{len(checker.warnings)} warnings")
    document = evaluate(tree, checker)
    document.container = container
    custom = sorted({op.name for op in document.operations if not op.declaration.standard})
    if custom:
        yield Step("arguments", f"{len(document.operations)} operations; no shapes, because of {', '.join(custom)}")
    else:
        map_operations(Builder(document, {}, with_data=False), document.operations)
        yield Step("arguments", f"{len(document.operations)} operations")
    yield Step("data", _check_data(document, inverted_scales, not custom), document)


def _check_data(document: Document, inverted_scales: bool | None, shaped: bool) -> str:
    problems: list[TosaEngineError] = []
    size = 0
    for operation in document.variables.values():
        try:
            stored, _ = read_stored(document, operation)
            size += stored.array.nbytes
        except TosaEngineError as problem:
            problems.append(problem)
    quantization = Quantization()
    try:
        quantization = _quantization(document, inverted_scales, shaped)
    except TosaEngineError as problem:
        problems += problem.problems if isinstance(problem, Problems) else [problem]
    raise_all(problems, f"{document.text.file}: {len(problems)} problems")
    return f"{len(document.variables)} variables of {size} bytes, {len(quantization.lines)} quantized tensors"


def _quantization(document: Document, inverted_scales: bool | None, shaped: bool) -> Quantization:
    """The document's quantization file, with its operations in place and, where shapes are known, its numbers fitting
    the tensors.
    """
    assert document.container is not None
    if not document.container.has(QUANT):
        return Quantization()
    file = f"{document.container.label}/{QUANT}"
    found = read_quantization(read_text(document.container, QUANT), file, bool(inverted_scales))
    checked(document, found, inverted_scales)
    quantized(document, found)
    shapes = Shapes(document)
    problems: list[TosaEngineError] = []
    for name, quant in found.items() if shaped else ():
        try:
            with_axis(quant, name, shapes(name))
        except TosaEngineError as problem:
            line = found.lines.get(name)
            problems.append(line.error(problem.message) if line else problem)
    raise_all(problems, f"{file}: {len(problems)} problems")
    return found
