"""A Common IR graph as a source: its documents are read once, and mapped as the ONNX model that they stand for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...formats import Step
from ..onnx.source import ModelSource
from . import imports, validity
from .flatten import flatten
from .kinds import BY_NAME
from .rules import TYPE, RuleError
from .shapes import Unifier
from .to_onnx import model_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ...graph import Graph, QParams
    from .flatten import Flat
    from .imports import Loaded
    from .validity import Names


class CommonIrSource(ModelSource):
    """A root document. `fetch`: libraries with addresses are fetched; the other options are those of ONNX."""

    def __init__(self, path: Path, *, fetch: bool = False, **options: Any) -> None:
        super().__init__(path, **options)
        self._fetch = fetch

    @cached_property
    def root(self) -> Loaded:
        return imports.load(self.path, fetch=self._fetch)

    @cached_property
    def names(self) -> Mapping[int, Names]:
        return validity.check(self.root)

    @cached_property
    def flat(self) -> Flat:
        return flatten(self.root, self.names, self.bindings.shapes, self.bindings.dims)

    @cached_property
    def model(self) -> Any:
        return model_of(self.root.document, self.flat)

    @property
    def warnings(self) -> Sequence[str]:
        return validity.warnings(self.root)

    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        graph = super().graph(hints, for_integers=for_integers)
        self._hold_signature(graph)
        return graph

    def _hold_signature(self, graph: Graph) -> None:
        """The shapes and types of the graph's ports, against what the document declares. Raises RuleError."""
        declared = dict((*self.flat.inputs, *self.flat.outputs))
        bound, operands = Unifier(self.path.name), []
        for tensor in (*graph.inputs, *graph.outputs):
            kind = declared.get(tensor.name)
            if kind is None or tensor.name in self.bindings.shapes:
                continue
            element = BY_NAME[kind.element]
            unsigned = element.name in ("uint8", "uint16")
            if not unsigned and element.carrier is not tensor.dtype:
                raise RuleError(TYPE, self.path.name, f"'{tensor.name}' is {tensor.dtype}, not {kind.element}")
            if kind.shape is not None and tensor.shape is not None:
                operands.append((f"'{tensor.name}'", kind.shape, tuple(tensor.shape)))
        bound.unify(operands)

    def steps(self) -> Iterator[Step]:
        documents = [one.document for one in self.root.closure()]
        declared = sum(len(one.operators) + len(one.functions) for one in documents)
        _ = self.names
        yield Step("rules", f"{len(documents)} documents, {declared} operators and functions")
        yield Step("types", f"{len(self.flat.nodes)} nodes without functions and collections")
        yield from super().steps()
