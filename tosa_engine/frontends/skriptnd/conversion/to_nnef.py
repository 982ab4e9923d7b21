"""From a composed SkriptND graph to a document of NNEF 1: a flat graph, a file for each variable, and graph.quant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import TosaEngineError, raise_all
from ....graph import without_collector
from ....lower.views import shape_of
from ...nnef.build import NnefWriter, with_axis
from ...nnef.document import parse_text
from ...nnef.files import graph_quant
from ...nnef.files.dat import Item, read_dat, write_dat
from ...nnef.files.names import QUANT
from ...nnef.mapping import map_operations
from ...nnef.writer import save
from ..compose import Composer
from ..tensors import ChooseNode, Instance, tensors_of
from .operators import RULES
from .words import OF_NNEF, TYPES_OF_NNEF, Names, Unsayable, nnef_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ....formats import Source
    from ....graph import QParams
    from ...nnef.language.flat import Document
    from ..source import SkriptndSource
    from ..tensors import TensorRef


def write_nnef(source: Source, path: Path) -> str:
    """Write a SkriptND model as NNEF 1; what was written, in words. Raises Problems with all that can't be said."""
    opened: SkriptndSource = source  # type: ignore[assignment]
    with without_collector():
        told = ToNnef(opened)
        document = told.document()
        save(document, path)
    return f"{len(document.operations)} operations, {len(document.variables)} variables"


class Files:
    """The files of a document that is being written."""

    def __init__(self, label: str, files: Mapping[str, bytes]) -> None:
        self.label, self._files = label, files

    def has(self, name: str) -> bool:
        return name in self._files

    def read(self, name: str) -> bytes:
        return self._files[name]


class ToNnef:
    """One graph. Rules call `emit`, `tensor`, `operand` and `vector`."""

    def __init__(self, source: SkriptndSource) -> None:
        self.source = source
        self.composer = Composer(source.library, lambda instance: instance.name in RULES)
        self.composed = source.compose(self.composer)
        self.hints = source.hints() or {}
        self.channels: set[TensorRef] = set()
        self._start()

    def _start(self) -> None:
        self.names = Names(OF_NNEF)
        self.lines: list[str] = []
        self.problems: list[TosaEngineError] = []
        self.of: dict[TensorRef, str] = {}
        self.uses: dict[TensorRef, set[str]] = {}
        self._known = set(self.composed.variables) - {old for old, _ in self.composed.updates}

    # what rules ask

    def name(self, ref: TensorRef) -> str:
        if ref not in self.of:
            self.of[ref] = self.names.fresh(ref.name)
        return self.of[ref]

    def tensor(self, ref: TensorRef) -> str:
        """The name of a tensor; a constant is written where it is first read."""
        self.uses.setdefault(ref, set()).add("tensor")
        if ref in self.of or ref.data is None:
            return self.name(ref)
        values = np.broadcast_to(ref.data, ref.shape if ref.data.ndim else ()).reshape(-1).tolist()
        self.emit([ref], f"constant<{TYPES_OF_NNEF[ref.dtype]}>", shape=ref.shape, value=tuple(values))
        return self.of[ref]

    def operand(self, ref: TensorRef) -> str:
        """A tensor, or a number."""
        number = ref.data is not None and ref.data.ndim == 0 and not ref.named
        return nnef_literal(ref.data.item()) if number and ref.data is not None else self.tensor(ref)

    def vector(self, ref: TensorRef | None, missing: float = 0.0) -> str:
        """A parameter of channels: its axis is the second one."""
        if ref is None:
            return nnef_literal(missing)
        if ref.data is not None and ref.data.ndim == 0:
            return nnef_literal(ref.data.item())
        if ref.kind != "variable":
            return self.emit([self.fresh(ref, "row")], "unsqueeze", self.tensor(ref), axes=(0,))
        self.uses.setdefault(ref, set()).add("vector")
        if ref in self.channels:
            return self.name(ref)
        return self.emit([self.fresh(ref, "row")], "unsqueeze", self.name(ref), axes=(0,))

    def fresh(self, ref: TensorRef, what: str) -> str:
        return self.names.fresh(f"{ref.name}_{what}")

    def known(self, ref: TensorRef | None) -> bool:
        """Whether a tensor has its value before the graph runs."""
        return ref is None or ref.data is not None or ref in self._known

    # what rules write

    def emit(self, results: Iterable[TensorRef | str], operation: str, *inputs: str, **arguments: Any) -> str:
        """An assignment; arguments that are None are left out. Its left side."""
        names = [result if isinstance(result, str) else self.name(result) for result in results]
        given = [f"{key} = {nnef_literal(value)}" for key, value in arguments.items() if value is not None]
        left = ", ".join(names)
        left = f"[{left}]" if operation in ("split", "unstack") else left
        self.lines.append(f"{left} = {operation}({', '.join((*inputs, *given))});")
        return left

    # the document

    def document(self) -> Document:
        """Raises Problems."""
        self._body()
        variables = {v for v in self.composed.variables if self.uses.get(v) == {"vector"} and len(v.shape) == 1}
        self.channels = variables - {old for old, _ in self.composed.updates} - set(self.composed.outputs)
        self._start()
        text = self._body()
        raise_all(self.problems, f"{self.source.main}: {len(self.problems)} problems")
        document = parse_text(text, f"{self.source.path} as NNEF 1")
        self._check(document)
        files = {f"{self._label(ref)}.dat": self._data(ref) for ref in self.composed.variables}
        if hints := self._hints():
            files[QUANT] = graph_quant.to_text(hints).encode("utf-8")
        document.container = Files(str(self.source.path), files)
        return document

    def _body(self) -> str:
        composed = self.composed
        for ref in composed.inputs:
            self.emit([ref], f"external<{TYPES_OF_NNEF[ref.dtype]}>", shape=ref.shape)
        for ref in composed.variables:
            shape = (1, *ref.shape) if ref in self.channels else ref.shape
            self.emit([ref], f"variable<{TYPES_OF_NNEF[ref.dtype]}>", shape=shape, label=self._label(ref))
        inputs = [self.of[ref] for ref in composed.inputs]
        for node in composed.nodes:
            self._node(node)
        outputs = self._outputs()
        for old, new in composed.updates:
            if new is not old:
                self.emit([self.fresh(old, "next")], "update", self.tensor(old), self.tensor(new))
        graph = Names(OF_NNEF)(composed.operator.name)
        body = "\n".join(self.lines)
        return f"version 1.0;\ngraph {graph}({', '.join(inputs)}) -> ({', '.join(outputs)})\n{{\n{body}\n}}\n"

    def _outputs(self) -> list[str]:
        """An output is computed, and is one output only."""
        found: list[str] = []
        for ref in self.composed.outputs:
            name = self.tensor(ref)
            if name in found or ref.data is not None or ref.kind in ("input", "variable"):
                name = self.emit([self.fresh(ref, "output")], "copy", name)
            found.append(name)
        return found

    def _node(self, node: Any) -> None:
        if isinstance(node, ChooseNode):
            operands = [self.operand(ref) for ref in (node.condition, node.yes, node.no)]
            self.emit([node.output], "select", *operands)
        elif isinstance(node, Instance):
            self._instance(node)
        else:
            self.problems.append(node.text.unsupported("a condition or a loop can't be said in NNEF 1", node.place))

    def _instance(self, instance: Instance) -> None:
        """By its rule, else in its parts."""
        given = [ref for value in instance.inputs for ref in tensors_of(value)]
        if given and all(map(self.known, given)):
            self._known.update(ref for value in instance.outputs for ref in tensors_of(value))
        marks, used = len(self.lines), dict(self.of)
        try:
            if instance.name not in RULES:
                raise Unsayable("")
            RULES[instance.name](self, instance)
        except Unsayable as problem:
            del self.lines[marks:]
            self.of = used
            if instance.operator.components:
                self._parts(instance)
                return
            message = f"'{instance.name}' can't be said in NNEF 1{problem}"
            self.problems.append(instance.text.unsupported(message, instance.place))

    def _parts(self, instance: Instance) -> None:
        """What is computed in the parts has the name of the result."""
        body = self.composer.parts(instance)
        results = zip(instance.outputs, body.results, strict=True)
        pairs = [pair for o, r in results for pair in zip(tensors_of(o), tensors_of(r), strict=True)]
        made = {ref for node in body.nodes for value in getattr(node, "outputs", ()) for ref in tensors_of(value)}
        for ref, inner in pairs:
            if inner in made and inner not in self.of:
                self.of[inner] = self.name(ref)
        for node in body.nodes:
            self._node(node)
        for ref, inner in pairs:
            if self.of.get(inner) != self.name(ref):
                self.emit([ref], "copy", self.tensor(inner))

    def _check(self, document: Document) -> None:
        """The document has the shapes of the graph."""
        builder = NnefWriter(document, {}, with_data=False)
        map_operations(builder, document.operations)
        found = [shape_of(builder.values[name]) for name in document.outputs]
        wanted = [ref.shape for ref in self.composed.outputs]
        assert found == wanted, f"outputs of shapes {found}, not {wanted}"

    # files

    @staticmethod
    def _label(ref: TensorRef) -> str:
        return ref.name.replace(".", "/")

    def _data(self, ref: TensorRef) -> bytes:
        name = self.source.file_of(ref)
        self.source.read(ref)  # raises what is wrong with it
        data = self.source.container.read(name)
        if ref not in self.channels:
            return data
        stored = read_dat(data, name)
        quantized = stored.item in (Item.QUANTIZED_INT, Item.QUANTIZED_UINT)
        bits = None if stored.item in (Item.FLOAT, Item.BOOL) else stored.bits
        return write_dat(stored.array.reshape(1, *ref.shape), quantized=quantized, bits=bits)

    def _hints(self) -> dict[str, QParams]:
        """By the names of the document. Raises Unsupported where the file couldn't say the axis."""
        refs = {ref.name: ref for ref in self.of}
        found: dict[str, QParams] = {}
        for name, quant in self.hints.items():
            if name not in refs:
                continue
            ref = refs[name]
            wanted = with_axis(quant, name, ref.shape)
            if wanted is not None and wanted != with_axis(replace(quant, axis=None), name, ref.shape):
                operator = self.composed.operator
                raise operator.text.unsupported(
                    f"graph.quant can't say that axis {wanted.axis} of '{name}' has the scales", operator.place
                )
            found[self.of[ref]] = quant
        return found
