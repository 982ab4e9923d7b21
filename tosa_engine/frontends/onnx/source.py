"""An ONNX model as a source: its file is read once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...formats import Source, Step
from ...graph import without_collector
from ...lower.hints import attach
from ...passes import run_pipeline
from .hints import spread
from .mapping import ModelMapper
from .model import TensorReader, read_model
from .ports import Bindings

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from ...graph import Graph, QParams
    from ...types import Array, Shape


QUANTIZING: Final = ("QuantizeLinear", "DequantizeLinear", "QGemm", "QLinear")  # how their names begin


def load(path: str | os.PathLike[str], **options: Any) -> Graph:
    """The TOSA-FP graph of an ONNX model. The options are those of `ModelSource`.

    Raises FileNotFoundError, UsageError for dimensions that nothing binds, DataError for a model that is damaged or
    contradicts itself, Unsupported for what TOSA can't express, or Problems with several of them.
    """
    return ModelSource(Path(path), **options).graph()


class ModelSource(Source):
    """A model file.

    `shape`: shapes of inputs by name, in place of the declared ones; `dim`: extents of named dimensions; `constant`:
    inputs that are constants, as numbers or arrays; `within`: ranges of integers by name.
    """

    def __init__(
        self,
        path: Path,
        *,
        shape: Mapping[str, Shape] | Iterable[tuple[str, Shape]] = (),
        dim: Mapping[str, int] | Iterable[tuple[str, int]] = (),
        constant: Mapping[str, Array | float | str] | Iterable[tuple[str, Array | float | str]] = (),
        within: Mapping[str, tuple[int, int]] | Iterable[tuple[str, tuple[int, int]]] = (),
    ) -> None:
        super().__init__(path)
        self.bindings = Bindings(dict(shape or ()), dict(dim or ()), dict(constant or ()), dict(within or ()))
        if not path.is_file():
            raise FileNotFoundError(2, "no such model", str(path))

    @cached_property
    def model(self) -> Any:
        return read_model(self.path)

    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        with without_collector():
            graph = self._mapped(for_integers=for_integers)
        attach(graph, hints or {}, self.path)
        with without_collector():
            return run_pipeline(graph)

    @property
    def _is_quantized(self) -> bool:
        return any(node.op_type.startswith(QUANTIZING) for node in self.model.graph.node)

    def _mapped(self, *, for_integers: bool) -> Graph:
        reader = TensorReader(self.path)
        mapper = ModelMapper(self.model, reader, self.path.name, self.bindings, for_integers=for_integers)
        graph = mapper.graph()
        if for_integers:
            spread(graph)
            graph.quantized = self._is_quantized
        return graph

    def hints(self) -> Mapping[str, QParams] | None:
        """What QuantizeLinear and its like say of tensors; None where the model has none of them."""
        if not self._is_quantized:
            return None
        tensors = self._mapped(for_integers=True).main.tensors
        return {name: tensor.quant for name, tensor in tensors.items() if tensor.quant is not None}

    def steps(self) -> Iterator[Step]:
        model = self.model
        sets = ", ".join(f"{one.domain or 'ai.onnx'} {one.version}" for one in model.opset_import)
        yield Step("file", f"{len(model.graph.node)} nodes, operator sets {sets}")
