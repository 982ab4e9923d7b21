"""An opened SkriptND model: its texts are read and parsed once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DataError, UsageError
from ...formats import Source, Step
from ...graph import QParams, without_collector
from ...passes import run_pipeline
from ..nnef.build import with_axis
from ..nnef.files.container import Folder, open_container, read_text
from ..nnef.files.dat import Item, read_dat
from ..nnef.files.names import QUANT
from ..nnef.files.quantfile import read_quantization
from ..nnef.files.variables import to_storage
from . import validity
from .compose import Composer
from .hints import hints_of, of_operators
from .language.modules import format_module
from .language.parser import parse
from .library import Library
from .mapping import Mapper, has_mapper
from .names import MAIN
from .saving import canonical_quant, save_model
from .writer import FORMATS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from ...graph import Graph
    from ...types import Array
    from .language.syntax import Operator
    from .tensors import Composed, TensorRef

_ITEMS = {
    "real": (Item.FLOAT, Item.QUANTIZED_INT, Item.QUANTIZED_UINT), "int": (Item.INT, Item.UINT), "bool": (Item.BOOL,)
}  # fmt: skip


def load(path: str | os.PathLike[str], **options: Any) -> Graph:
    """The TOSA-FP graph of a SkriptND model. The options are those of `SkriptndSource`.

    Raises FileNotFoundError, DataError, ParseError, Unsupported, or Problems with several of them.
    """
    return SkriptndSource(Path(path), **options).graph()


class SkriptndSource(Source):
    """A folder or archive with `main.sknd`, or one .sknd file.

    `dialect`: branch or draft, where the text doesn't tell; `graph`: the name of one of several graphs; `attribute`:
    its attributes, as text. `mapped`: whether the operators of the standard library have their own way to TOSA.
    """

    def __init__(
        self,
        path: Path,
        *,
        dialect: str | None = None,
        graph: str | None = None,
        attribute: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        mapped: bool = True,
    ) -> None:
        super().__init__(path)
        self._dialect, self._graph, self._attributes, self.mapped = dialect, graph, dict(attribute or ()), mapped
        if not path.exists():
            raise FileNotFoundError(2, "no such model", str(path))
        single = path.is_file() and path.suffix == ".sknd"
        self.main = path.name if single else MAIN
        self.container = Folder(path.parent) if single else open_container(path, MAIN)

    # texts

    @cached_property
    def library(self) -> Library:
        file = f"{self.container.label}/{self.main}"
        module, dialect = parse(read_text(self.container, self.main), file, "main", self._dialect)
        library = Library(module, self._module, dialect)
        library.load()
        return library

    def _module(self, name: str) -> tuple[str, str] | None:
        file = f"{name.replace('.', '/')}.sknd"
        if not self.container.has(file):
            return None
        return read_text(self.container, file), f"{self.container.label}/{file}"

    @cached_property
    def operator(self) -> Operator:
        """The graph that counts: the first one, or the one that was asked for."""
        graphs = self.library.main.graphs
        if not graphs:
            raise DataError(f"{self.container.label}/{self.main}: there is no graph")
        if self._graph is None:
            return next(iter(graphs.values()))
        if self._graph not in graphs:
            raise UsageError(f"there is no graph '{self._graph}'; graphs are {', '.join(graphs)}")
        return graphs[self._graph]

    @cached_property
    def _checked(self) -> Operator:
        validity.check(self.library)
        return self.operator

    @cached_property
    def composer(self) -> Composer:
        return Composer(self.library, lambda instance: self.mapped and has_mapper(instance))

    @cached_property
    def composed(self) -> Composed:
        return self.compose(self.composer)

    def compose(self, composer: Composer) -> Composed:
        """The graph that counts, by any composer."""
        operator = self._checked
        with without_collector():
            return composer.graph(operator, self._values(operator))

    def _values(self, operator: Operator) -> dict[str, Any]:
        """The attributes that were given as text: expressions."""
        from .language.evaluation import Evaluator
        from .language.expressions import ExpressionParser
        from .language.lexer import tokens
        from .language.syntax import Text

        found = {}
        for name, source in self._attributes.items():
            text = Text(f"--attribute {name}", [source])
            parser = ExpressionParser(tokens(source, text), text)
            found[name] = Evaluator({}, text).value(parser.expression())
        return found

    # variables

    def file_of(self, ref: TensorRef, graph: str = "") -> str:
        """The name of a variable's tensor file."""
        stem = Path(self.main).stem
        return f"{stem}.{graph or self.operator.name}.{ref.name}.dat"

    def read(self, ref: TensorRef) -> Array:
        """The value of a variable. Raises DataError."""
        name = self.file_of(ref)
        if not self.container.has(name):
            raise DataError(f"{self.container.label}: variable '{ref.name}' has no file '{name}'")
        file = f"{self.container.label}/{name}"
        stored = read_dat(self.container.read(name), file)
        if stored.array.shape != ref.shape:
            raise DataError(f"{file}: shape {list(stored.array.shape)}, but the variable has {list(ref.shape)}")
        if stored.item not in _ITEMS[ref.dtype]:
            raise DataError(f"{file}: {stored.item.name} items can't hold a tensor of type {ref.dtype}")
        values = stored.array
        if stored.item in (Item.QUANTIZED_INT, Item.QUANTIZED_UINT):
            quant = with_axis((self.hints() or {}).get(ref.name), ref.name, ref.shape)
            if quant is None:
                raise DataError(f"{file}: quantized items need a quantization of '{ref.name}'")
            along = [-1 if i == quant.axis else 1 for i in range(len(ref.shape))] if quant.axis is not None else [1]
            scale, zero = (np.asarray(n, np.float64).reshape(along) for n in (quant.scale, quant.zero_point))
            values = (values.astype(np.float64) - zero) * scale
        return to_storage(values, FORMATS[ref.dtype], file)

    # what verbs ask for

    @property
    def warnings(self) -> list[str]:
        return self.composed.warnings

    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        found = (self.hints() or {}) if hints is None else {**of_operators(self.composed), **hints}
        with without_collector():
            mapper = Mapper(self.composed, self.composer, found, self.read, mapped=self.mapped)
            graph = mapper.graph(for_integers=for_integers)
            sources = {t.source.name for t in graph.main.tensors.values() if t.source is not None}
            sources |= {name.replace(".", "_") for name in sources}  # as files of NNEF 1 have them
            unknown = [name for name in found if name not in sources and name not in graph.main.tensors]
            if unknown:
                raise UsageError(f"the quantization names tensors that {self.path} doesn't have: {', '.join(unknown)}")
            return run_pipeline(graph)

    def hints(self) -> Mapping[str, QParams] | None:
        """Those of @quantize, of a file graph.quant, and of operators that quantize."""
        found = {**of_operators(self.composed), **hints_of(self.composed)}
        if self.container.has(QUANT):
            file = f"{self.container.label}/{QUANT}"
            found.update(read_quantization(read_text(self.container, QUANT), file, False))
        return found or None

    def filters(self) -> dict[str, Array]:
        used = {
            ref.name: ref
            for node in self.composed.nodes
            if getattr(node, "name", "") in ("nn.conv", "nn.deconv", "nn.linear")
            for ref in node.inputs[1:2]
            if ref.kind == "variable"
        }
        return {name: self.read(ref) for name, ref in used.items()}

    def steps(self) -> Iterator[Step]:
        """syntax, definitions, composition (shapes and types of all tensors), data; each raises what it finds."""
        library = self.library
        operators = sum(len(m.operators) + len(m.graphs) for m in library.modules.values())
        yield Step("syntax", f"{operators} definitions, dialect {library.dialect}")
        operator = self._checked
        yield Step("definitions", f"graph '{operator.name}'")
        composed = self.composed
        yield Step("composition", f"{len(composed.nodes)} operators, {len(composed.variables)} variables")
        for ref in composed.variables:
            self.read(ref)
        yield Step("data", f"{len(composed.variables)} tensor files")

    # files

    def rewrite(self, path: Path, **options: Any) -> str:
        """Write the texts of the model in their canonical form, with its tensor files and its graph.quant."""
        del options
        files: dict[str, bytes] = {}
        for name, composed in self._all_composed().items():
            for ref in composed.variables:
                file = self.file_of(ref, name)
                files[f"main.{name}.{ref.name}.dat"] = self._tensor_file(file)
        count = len(files)
        if self.container.has(QUANT):
            files[QUANT] = canonical_quant(read_text(self.container, QUANT), f"{self.container.label}/{QUANT}")
        texts = {name: format_module(module) for name, module in self.library.modules.items()}
        save_model(path, texts, files)
        return f"{len(texts)} modules, {count} variables"

    def _all_composed(self) -> dict[str, Composed]:
        """Every graph of the main module: each has tensor files of its own."""
        found = {self.operator.name: self.composed}
        for name, graph in self.library.main.graphs.items():
            if name not in found:
                composer = Composer(self.library, lambda instance: self.mapped and has_mapper(instance))
                found[name] = composer.graph(graph)
        return found

    def _tensor_file(self, name: str) -> bytes:
        if not self.container.has(name):
            raise DataError(f"{self.container.label}: there is no file '{name}'")
        data = self.container.read(name)
        read_dat(data, f"{self.container.label}/{name}")
        return data
