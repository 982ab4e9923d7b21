"""An NNEF document as a source: its files are read once, its text is parsed once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ...formats import Source, Step
from ...graph import without_collector
from ...passes import run_pipeline
from .build import NnefWriter, with_axis
from .files.container import open_container, read_text
from .files.names import GRAPH
from .files.quantfile import Quantization
from .files.variables import read_variable
from .flattening import evaluate, lower
from .language.parser import parse_document
from .language.semantics import analyse
from .language.syntax import Name
from .mapping import Shapes, map_document, map_operations
from .quantized import as_integers, checked, own_quantization, quantized
from .validity import check_data
from .writer import format_document, save

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...graph import Graph, QParams
    from ...types import Array
    from .language.flat import Document
    from .language.library import Declaration
    from .language.semantics import Checker
    from .language.syntax import SyntaxTree


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
    source = DocumentSource(Path(path), strict=strict, inverted_scales=inverted_scales)
    return source.graph(quant, for_integers=for_integers)


class DocumentSource(Source):
    """A folder or an archive. `strict` and `inverted_scales` are those of `load`.

    Raises DataError for a path that is neither.
    """

    def __init__(self, path: Path, *, strict: bool = False, inverted_scales: bool | None = None) -> None:
        super().__init__(path)
        self.strict, self.inverted_scales = strict, inverted_scales
        self.container = open_container(path)

    @cached_property
    def _tree(self) -> SyntaxTree:
        return parse_document(read_text(self.container, GRAPH), f"{self.container.label}/{GRAPH}")

    @cached_property
    def _checker(self) -> Checker:
        return analyse(self._tree, self.strict)

    @cached_property
    def document(self) -> Document:
        with without_collector():
            document = evaluate(self._tree, self._checker, Shapes)
        document.container = self.container
        return document

    @cached_property
    def quantization(self) -> Quantization:
        """The document's own graph.quant."""
        return own_quantization(self.document, self.inverted_scales)

    @cached_property
    def _quantized(self) -> tuple[Document, Mapping[str, QParams]]:
        return quantized(self.document, self.quantization)

    @property
    def warnings(self) -> Sequence[str]:
        return self.document.warnings

    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        with without_collector():
            document, hints = self._quantized if hints is None else quantized(self.document, hints)
            return run_pipeline(map_document(as_integers(document) if for_integers else document, hints))

    def hints(self) -> Mapping[str, QParams] | None:
        found = self.quantization
        operations = any(op.name.endswith("_quantize") for op in self.document.operations)
        return found if found.lines or operations else None

    def fitting(self, hints: Mapping[str, QParams]) -> Mapping[str, QParams]:
        return checked(self.document, hints, self.inverted_scales) if isinstance(hints, Quantization) else hints

    def filters(self) -> dict[str, Array]:
        """The filters of convolutions and linear layers."""
        used = [op.arguments.get("filter") for op in self.document.operations]
        names = dict.fromkeys(f.text for f in used if isinstance(f, Name))
        variables = self.document.variables
        document, hints = self._quantized
        shapes = {name: variables[name].arguments["shape"] for name in names if name in variables}
        decoders = self.quantization.decoders
        return {
            name: read_variable(document, variables[name], with_axis(hints.get(name), name, shape), decoders.get(name))
            for name, shape in shapes.items()
        }

    def steps(self) -> Iterator[Step]:
        """The steps of chapter 6; each raises what it finds, and the first that does is the last.

        1. syntax: ParseError, Unsupported for extensions
        2. semantics: ParseError
        3. arguments: ParseError; Unsupported for operations that this engine lacks. Without operations that the
           document only declares, shapes are checked too.
        4. data: what `check_data` raises
        """
        tree = self._tree
        yield Step("syntax", f"{len(tree.graph.body)} statements, {len(tree.fragments)} fragments")
        yield Step("semantics", f"{len(self._checker.warnings)} warnings")
        document = self.document
        custom = sorted({op.name for op in document.operations if not op.declaration.standard})
        if custom:
            yield Step("arguments", f"{len(document.operations)} operations; no shapes, because of {', '.join(custom)}")
        else:
            map_operations(NnefWriter(document, {}, with_data=False), document.operations)
            yield Step("arguments", f"{len(document.operations)} operations")
        yield Step("data", check_data(document, self._checked_quantization, not custom))

    def _checked_quantization(self) -> Quantization:
        _ = self._quantized
        return self.quantization

    def listing(self, **options: bool) -> str:
        """The document in flat form; with `primitive` without compounds of the standard."""
        return format_document(self._expanded(lambda _: not options.get("primitive")))

    def rewrite(self, path: Path, **options: bool) -> str:
        """Write the document in flat form; with `primitive` without compounds of the standard."""
        document = self._expanded(lambda _: False) if options.get("primitive") else self.document
        save(document, path)
        return f"{len(document.operations)} operations, {len(document.variables)} variables"

    def _expanded(self, keep: Callable[[Declaration], bool]) -> Document:
        return lower(self.document, keep, Shapes(self.document))
