"""A module as a source: its file is read once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...formats import Source, Step
from ...graph import without_collector
from ...lower.hints import attach
from ...passes import run_pipeline
from .mapping import ModuleMapper
from .reading import read_module

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from ...graph import Graph, QParams
    from ...types import Shape
    from .module import Body, Module


def load(path: str | os.PathLike[str], **options: Any) -> Graph:
    """The TOSA graph of a module. The options are those of `ModuleSource`.

    Raises FileNotFoundError, UsageError for shapes that nothing binds, DataError for what is no module, Unsupported
    for what TOSA can't express.
    """
    return ModuleSource(Path(path), **options).graph()


class ModuleSource(Source):
    """A file with a module.

    `shape`: shapes of inputs by name; `dim`: numbers for inputs that are dimensions; `constant`: inputs that are
    constants; `within`: ranges of integers by the names of inputs.
    """

    def __init__(
        self,
        path: Path,
        *,
        shape: Mapping[str, Shape] | Iterable[tuple[str, Shape]] = (),
        dim: Mapping[str, int] | Iterable[tuple[str, int]] = (),
        constant: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        within: Mapping[str, tuple[int, int]] | Iterable[tuple[str, tuple[int, int]]] = (),
    ) -> None:
        super().__init__(path)
        self.shapes = {name: list(extents) for name, extents in dict(shape or ()).items()}
        self.dims = dict(dim or ())
        self.constants = {name: _plain(name, value) for name, value in dict(constant or ()).items()}
        self.within = dict(within or ())
        if not path.is_file():
            raise FileNotFoundError(2, "no such model", str(path))

    @cached_property
    def module(self) -> Module:
        return read_module(self.path, shapes=self.shapes, dims=self.dims, constants=self.constants)

    @cached_property
    def is_quantized(self) -> bool:
        return any(
            kind.quantized is not None
            for function in self._typed.functions.values()
            for op in function.body.operations
            for _, kind in op.results
        )

    @cached_property
    def _typed(self) -> Module:
        """The module with its quantized types."""
        return read_module(self.path, quantized=True, shapes=self.shapes, dims=self.dims, constants=self.constants)

    def hints(self) -> Mapping[str, QParams] | None:
        """The scales of quantized types; None where the module has none of them."""
        if not self.is_quantized:
            return None
        tensors = ModuleMapper(self._typed, self.path.name, self.within, for_integers=True).graph().main.tensors
        return {name: tensor.quant for name, tensor in tensors.items() if tensor.quant is not None}

    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        with without_collector():
            module = self._typed if for_integers else self.module
            graph = ModuleMapper(module, self.path.name, self.within, for_integers=for_integers).graph()
            graph.quantized = for_integers and self.is_quantized
        graph.source = str(self.path)
        attach(graph, hints or {}, self.path)
        with without_collector():
            return run_pipeline(graph)

    def steps(self) -> Iterator[Step]:
        functions = self.module.functions
        operations = sum(_operations(one.body) for one in functions.values())
        yield Step("file", f"{operations} operations in {len(functions)} functions")


def _operations(body: Body) -> int:
    return sum(1 + sum(_operations(inner) for inner in one.regions) for one in body.operations)


def _plain(name: str, value: Any) -> Any:
    """A constant as text of MLIR has it. Raises UsageError."""
    import numpy as np

    if isinstance(value, str) and value.endswith(".npy"):
        from ...arrays import read

        value = read(value)
    if isinstance(value, str):
        try:
            value = float(value) if any(c in value for c in ".en") else int(value)
        except ValueError:
            raise UsageError(f"--constant {name}={value}: a number, or the name of an .npy file") from None
    return np.asarray(value).tolist()
