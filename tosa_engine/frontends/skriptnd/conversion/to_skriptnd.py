"""From a document of NNEF 1 to SkriptND: the text of one graph, a file for each variable, and graph.quant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....errors import TosaEngineError, raise_all
from ....graph import without_collector
from ....lower.views import shape_of
from ...nnef.build import NnefWriter, with_axis
from ...nnef.files import graph_quant
from ...nnef.files.dat import Item, write_dat
from ...nnef.files.names import QUANT
from ...nnef.files.variables import data_file, read_stored, read_variable
from ...nnef.flattening import lower
from ...nnef.language.syntax import Name
from ...nnef.mapping import Shapes, has_mapper, map_operations, with_numbers
from ..compose import Composer
from ..language.modules import format_module
from ..language.parser import parse
from ..library import Library
from ..saving import save_model
from ..validity import check
from .operations import RULES, in_parts
from .words import OF_SKRIPTND, TYPES, Names, Unsayable, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ....formats import Source
    from ....graph import QParams
    from ...nnef.language.flat import Document, Operation
    from ...nnef.source import DocumentSource

ENTERING: Final = ("external", "variable", "constant")
_VECTORS: Final = {
    "conv": ("bias",), "deconv": ("bias",), "linear": ("bias",), "prelu": ("alpha",),
    "batch_normalization": ("mean", "variance", "offset", "scale"),
}  # fmt: skip
_MOST_ITEMS: Final = 4096  # of a constant in the text; larger ones are variables


def write_skriptnd(source: Source, path: Path) -> str:
    """Write a document of NNEF 1 as a SkriptND model; what was written, in words."""
    opened: DocumentSource = source  # type: ignore[assignment]
    with without_collector():
        document, hints = opened._quantized
        told = ToSkriptnd(document, hints)
        text = told.text()
        files = told.files(opened.quantization.decoders)
    if hints:
        files[QUANT] = graph_quant.to_text({told.names(name): quant for name, quant in hints.items()}).encode("utf-8")
    save_model(path, {"main": text}, files)
    return f"{told.count} operators, {len(told.variables)} variables"


class ToSkriptnd:
    """One document. Rules call `invoke`, `tensor` and `vector`."""

    def __init__(self, document: Document, hints: Mapping[str, QParams]) -> None:
        self.hints = hints
        self.document = _expanded(document, inside=bool(set(hints) - set(document.tensors)))
        self.builder = NnefWriter(self.document, {}, with_data=False)
        map_operations(self.builder, self.document.operations)
        self.names = Names(OF_SKRIPTND, self.document.tensors)
        operations = self.document.operations
        self.kinds = {r.text: kind for op in operations for r, kind in zip(op.results, op.types, strict=True)}
        self.entering = {op.result for op in operations if op.name in ENTERING}
        self.graph = Names(OF_SKRIPTND)(self.document.name)
        self.imports: set[str] = set()
        self.lines: list[str] = []
        self.updates: list[str] = []
        self.constants: list[str] = []
        self.variables: dict[str, tuple[Operation, tuple[int, ...]]] = {}
        self.count = 0
        self.fewer = self._fewer_axes()

    # what rules ask

    def shape(self, value: Any) -> tuple[int, ...]:
        return shape_of(self.builder.values[value.text]) if isinstance(value, Name) else ()

    def known(self, value: Any) -> bool:
        """Whether a tensor has its value before the graph runs."""
        return not isinstance(value, Name) or self.builder.values[value.text].data is not None

    def tensor(self, value: Any) -> str:
        """An argument: the name of a tensor, or a number."""
        if not isinstance(value, Name):
            return literal(value)
        name = self.names(value.text)
        return self.reshaped(name, self.shape(value)) if value.text in self.fewer else name

    def reshaped(self, name: str, shape: Iterable[int]) -> str:
        return self.invoke(self.names.fresh(name), "layout.reshape", [name], shape=list(shape))

    def vector(self, value: Any, size: int) -> str:
        """A parameter of channels, of one axis."""
        if not isinstance(value, Name):
            name = self.names.fresh("constant")
            self.constants.append(f"{name}: real[{size}] = {literal(value)};")
            return name
        name, found = self.names(value.text), int(np.prod(self.shape(value)))
        if value.text not in self.fewer and len(self.shape(value)) != 1:
            name = self.reshaped(name, [found])
        return name if found == size else self.invoke(self.names.fresh(name), "layout.tile", [name], repeats=[size])

    def matrix(self, value: Any) -> str:
        """A filter of one matrix, without the axes before it."""
        name, shape = self.names(value.text), self.shape(value)
        return name if len(shape) == 2 or value.text in self.fewer else self.reshaped(name, shape[-2:])

    def fresh(self, operation: Operation, what: str) -> str:
        return self.names.fresh(f"{operation.result}_{what}")

    # what rules write

    def invoke(self, results: str | Iterable[str], name: str, inputs: Iterable[str], **attributes: Any) -> str:
        """An invocation; attributes that are None are left out. Its left side."""
        self.imports.add(name.split(".", maxsplit=1)[0])
        given = ", ".join(f"{key}={literal(value)}" for key, value in attributes.items() if value is not None)
        left = results if isinstance(results, str) else ", ".join(results)
        operator, sign, kind = name.partition("<")
        self.lines.append(f"{left} = {operator}{sign}{kind}{f'{{{given}}}' if given else ''}({', '.join(inputs)});")
        self.count += 1
        return left

    # the text

    def _fewer_axes(self) -> dict[str, tuple[int, ...]]:
        """Variables that are read as parameters of channels only, or as matrices: without the other axes."""
        uses: dict[str, set[tuple[int, ...] | None]] = {}
        for op in self.document.operations:
            for parameter, value in op.arguments.items():
                for item in value if isinstance(value, tuple) else (value,):
                    if isinstance(item, Name):
                        uses.setdefault(item.text, set()).add(self._read_as(op.name, parameter, self.shape(item)))
        outputs = set(self.document.outputs)
        names = (name for name in self.document.variables if name not in outputs and len(uses.get(name, ())) == 1)
        return {name: shape for name in names for shape in uses[name] if shape is not None}

    @staticmethod
    def _read_as(operation: str, parameter: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """The shape of an argument in SkriptND; None where it is the same."""
        size = int(np.prod(shape))
        if parameter in _VECTORS.get(operation, ()) and len(shape) > 1 and size == max(shape):
            return (size,)
        of_linear = (operation, parameter) == ("linear", "filter") and len(shape) > 2
        return shape[-2:] if of_linear and size == int(np.prod(shape[-2:])) else None

    def text(self) -> str:
        """Raises Problems with all operations that can't be said."""
        document, problems = self.document, list[TosaEngineError]()
        for op in document.operations:
            try:
                self._operation(op)
            except Unsayable as problem:
                problems.append(document.text.unsupported(f"'{op.name}' can't be said in SkriptND{problem}", op.place))
        raise_all(problems, f"{document.text.file}: {len(problems)} problems")
        outputs = [self._output(name) for name in document.outputs]
        made = [f"import {name};\n" for name in sorted(self.imports)]
        variables = [self._declared(name, shape) for name, (_, shape) in self.variables.items()]
        blocks = {
            "@input": [self._declared(name, self.shape(Name(name, None))) for name in document.inputs],  # type: ignore[arg-type]
            "@output": outputs, "@constant": self.constants, "@variable": variables, "@compose": self.lines,
            "@update": self.updates,
        }  # fmt: skip
        body = "".join(f"{name} {{ {' '.join(lines)} }}\n" for name, lines in blocks.items() if lines)
        return self._checked(f"{''.join(made)}graph {self.graph} {{\n{body}}}\n")

    def _operation(self, op: Operation) -> None:
        if op.name == "variable":
            self.variables[op.result] = op, self.fewer.get(op.result, op.arguments["shape"])
        elif op.name == "constant":
            self._constant(op)
        elif op.name != "external":
            if not op.declaration.standard or op.name not in RULES:
                raise Unsayable("")
            RULES[op.name](self, op)

    def _constant(self, op: Operation) -> None:
        """A large one, or one with a hint, is a variable."""
        values, shape = op.arguments["value"], op.arguments["shape"]
        if len(values) > _MOST_ITEMS or op.result in self.hints:
            self.variables[op.result] = op, shape
            return
        shown = literal(values[0]) if len(values) == 1 else literal(values)
        self.constants.append(f"{self._declared(op.result, shape)[:-1]} = {shown};")

    def _declared(self, name: str, shape: Iterable[int], given: str = "") -> str:
        return f"{given or self.names(name)}: {TYPES[self.kinds[name]]}[{', '.join(map(str, shape))}];"

    def _output(self, name: str) -> str:
        """An output is computed: what enters the graph is copied."""
        shape = self.shape(Name(name, None))  # type: ignore[arg-type]
        if name in self.entering:
            return self._declared(name, shape, self.invoke(self.names.fresh(name), "math.iden", [self.names(name)]))
        return self._declared(name, shape)

    def _checked(self, text: str) -> str:
        """The text in its canonical form, composed: it has the shapes of the document."""
        module, dialect = parse(text, "main.sknd", "main")
        library = Library(module, lambda _: None, dialect)
        library.load()
        check(library)
        composed = Composer(library, lambda _: True).graph(module.graphs[self.graph])
        found = [ref.shape for ref in composed.outputs]
        wanted = [self.shape(Name(name, None)) for name in self.document.outputs]  # type: ignore[arg-type]
        assert found == wanted, f"outputs of shapes {found}, not {wanted}"
        return format_module(module)

    # files

    def files(self, decoders: Mapping[str, Any]) -> dict[str, bytes]:
        found = {}
        for name, (op, shape) in self.variables.items():
            found[f"main.{self.graph}.{self.names(name)}.dat"] = self._data(op, shape, decoders.get(name))
        return found

    def _data(self, op: Operation, shape: tuple[int, ...], decoder: Any) -> bytes:
        """The tensor file; codes of a quantization that isn't a scale and a zero point become numbers."""
        if op.name == "constant":
            dtype = self.builder.values[op.result].dtype
            values = np.asarray(op.arguments["value"], dtype.storage)
            return write_dat(np.broadcast_to(values, (int(np.prod(shape)),)).reshape(shape))
        stored, _ = read_stored(self.document, op)
        quantized = stored.item in (Item.QUANTIZED_INT, Item.QUANTIZED_UINT)
        if quantized and (decoder is not None or stored.range is not None):
            quant = with_axis(self.hints.get(op.result), op.result, op.arguments["shape"])
            return write_dat(read_variable(self.document, op, quant, decoder).reshape(shape))
        container = self.document.container
        if stored.array.shape == shape and container is not None:
            return container.read(data_file(op))
        bits = None if stored.item in (Item.FLOAT, Item.BOOL) else stored.bits
        return write_dat(stored.array.reshape(shape), quantized=quantized, bits=bits)


def _expanded(document: Document, *, inside: bool) -> Document:
    """The document without the compounds that have no rule; `inside`: without those that the engine expands, either,
    because tensors inside of them have hints.
    """
    if inside:
        document = lower(document, has_mapper, Shapes(document))
    while True:
        builder = NnefWriter(document, {}, with_data=False)
        map_operations(builder, document.operations)
        marked = replace(document, operations=[_marked(_numbered(op, builder), builder) for op in document.operations])
        found = lower(marked, lambda d: d.standard and d.name in RULES, Shapes(document))
        if found is marked:
            return marked
        document = found


def _numbered(op: Operation, builder: NnefWriter) -> Operation:
    """Constant tensors that stand where numbers must are those numbers."""
    builder.begin(op)
    return with_numbers(builder, op)


def _marked(op: Operation, builder: NnefWriter) -> Operation:
    """An operation that is expanded isn't known as one of the standard's."""
    if op.declaration.body is None or not in_parts(op, builder):
        return op
    return replace(op, declaration=replace(op.declaration, standard=False))
