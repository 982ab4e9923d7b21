"""A TFLite model as a source: its file is read once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...formats import Source, Step
from ...passes import run_pipeline
from ...serialize import tosa_from_bytes
from . import children, mending
from .model import bound, read_model

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from ...graph import Graph, QParams
    from ...types import Shape
    from .model import Model


def load(path: str | os.PathLike[str], **options: Any) -> Graph:
    """The TOSA graph of a TFLite model. The options are those of `ModelSource`.

    Raises FileNotFoundError, UsageError for shapes that can't be and for tools that aren't installed, DataError for a
    damaged file, Unsupported for what the tools refuse.
    """
    return ModelSource(Path(path), **options).graph()


class ModelSource(Source):
    """A model file. `shape`: shapes of inputs by name, in place of the declared ones."""

    def __init__(self, path: Path, *, shape: Mapping[str, Shape] | Iterable[tuple[str, Shape]] = ()) -> None:
        super().__init__(path)
        self.shapes = dict(shape or ())
        if not path.is_file():
            raise FileNotFoundError(2, "no such model", str(path))

    @cached_property
    def _model(self) -> Model:
        return read_model(self.path)

    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        del for_integers
        model = self._model
        data = bound(model, self.shapes)
        graph = tosa_from_bytes(children.tosa_of(data, model.name), model.name)
        graph.source = str(self.path)
        mending.mend(graph, model)
        graph = run_pipeline(graph)
        unknown = [name for name in hints or {} if name not in graph.main.tensors]
        if unknown:
            raise UsageError(f"the quantization names tensors that {self.path} doesn't have: {', '.join(unknown)}")
        for name, quant in (hints or {}).items():
            graph.main.tensors[name].quant = quant
        return graph

    def steps(self) -> Iterator[Step]:
        yield Step("file", f"{len(self._model.nodes)} operators, {len(self._model.tensors)} tensors")
