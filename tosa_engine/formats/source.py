"""A model that was opened, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..graph import Graph, QParams
    from ..types import Array


class Step(NamedTuple):
    """A step of checking a model that found no problem."""

    name: str
    found: str


class Source(ABC):
    """A model. It is read and parsed once, whatever is asked of it in whatever order; `graph` is asked once.

    Hints are QParams by tensor name: those that the model has itself, or those of a file that is given with it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def warnings(self) -> Sequence[str]:
        """What was found odd in the model so far, without what the graph's `warnings` add."""
        return ()

    @abstractmethod
    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        """The TOSA graph, whose tensors carry `hints` (None: the model's own).

        `for_integers`: to be quantized, with hints in place of operators that only quantize.

        Raises DataError, ParseError, Unsupported or Problems for what is wrong in the model, UsageError for hints of
        tensors that it doesn't have.
        """

    def hints(self) -> Mapping[str, QParams] | None:
        """The model's own hints; None where it says nothing of quantization. Raises as `graph`."""
        return None

    def fitting(self, hints: Mapping[str, QParams]) -> Mapping[str, QParams]:
        """Hints of a file that fit the model. Raises as `graph`."""
        return hints

    def filters(self) -> dict[str, Array]:
        """Weights under their names in the model, output channel first, to be quantized with a scale per channel."""
        return {}

    def steps(self) -> Iterator[Step]:
        """The steps of checking that come before the graph. Each raises what it finds."""
        return iter(())

    def listing(self, **options: Any) -> str:
        """The model as text, for people, as the options of `Format.listing` say."""
        raise UsageError(f"'{self.path}' can't be shown as text: {', '.join(options)}")

    def rewrite(self, path: Path, **options: Any) -> str:
        """Write the model in its own format, as the options of `Format.rewriting` say; what was written, in words."""
        raise UsageError(f"'{self.path}' can't be written as '{path}': {', '.join(options)}")


class FileSource(Source):
    """A model whose file holds a graph as it is: `read` makes it, when the graph is asked for."""

    def __init__(self, path: Path, read: Callable[[Path], Graph]) -> None:
        super().__init__(path)
        self._read = read

    def graph(self, hints: Mapping[str, QParams] | None = None, *, for_integers: bool = False) -> Graph:
        del for_integers
        graph, hints = self._read(self.path), hints or {}
        unknown = [name for name in hints if name not in graph.main.tensors]
        if unknown:
            raise UsageError(f"the quantization names tensors that {self.path} doesn't have: {', '.join(unknown)}")
        for name, quant in hints.items():
            graph.main.tensors[name].quant = quant
        return graph
