"""Checking the data of a document: tensor files and quantization, the last step of chapter 6."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Problems, TosaEngineError, raise_all
from .build import with_axis
from .files.names import QUANT
from .files.variables import read_stored
from .mapping import Shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from .files.quantfile import Quantization
    from .language.flat import Document


def check_data(document: Document, quantization: Callable[[], Quantization], shaped: bool) -> str:
    """What the step found. `quantization` reads the document's own and puts its operations in place; where shapes are
    known (`shaped`), its numbers must fit the tensors.

    Raises DataError for tensor files that are missing, damaged or in conflict with the document; ParseError for lines
    of `graph.quant` that are wrong, or whose tensor it doesn't have; Problems with several of them.
    """
    problems: list[TosaEngineError] = []
    size = lines = 0
    for operation in document.variables.values():
        try:
            stored, _ = read_stored(document, operation)
            size += stored.array.nbytes
        except TosaEngineError as problem:
            problems.append(problem)
    assert document.container is not None
    if document.container.has(QUANT):
        try:
            found = quantization()
            lines = len(found.lines)
            _check_axes(document, found if shaped else None)
        except TosaEngineError as problem:
            problems += problem.problems if isinstance(problem, Problems) else [problem]
    raise_all(problems, f"{document.text.file}: {len(problems)} problems")
    return f"{len(document.variables)} variables of {size} bytes, {lines} quantized tensors"


def _check_axes(document: Document, found: Quantization | None) -> None:
    if found is None:
        return
    shapes = Shapes(document)
    problems: list[TosaEngineError] = []
    for name, quant in found.items():
        try:
            with_axis(quant, name, shapes(name))
        except TosaEngineError as problem:
            line = found.lines.get(name)
            problems.append(line.error(problem.message) if line else problem)
    raise_all(problems, f"{found.file}: {len(problems)} problems")
