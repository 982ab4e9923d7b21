"""Samples as Python gives them: arrays by input name, an array alone for a network with one input, or either of these
in a pair with its target, as data sets of PyTorch have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    Sample = Mapping[str, Array]


@dataclass(frozen=True)
class Given:
    """The samples of an iterable, or of a reader with `get_next()`, by input name; read anew each time, as they are."""

    graph: Graph
    samples: Any

    def __iter__(self) -> Iterator[Sample]:
        """Raises DataError for samples that aren't any."""
        return (sample_of(self.graph, sample, number) for number, sample in enumerate(iterated(self.samples)))


def iterated(samples: Any) -> Iterator[Any]:
    """Raises DataError for what is neither an iterable nor a reader."""
    following: Callable[[], Any] | None = getattr(samples, "get_next", None)
    if callable(following):
        return iter(following, None)
    if isinstance(samples, (str, bytes, Mapping)):
        raise DataError(f"samples are a list of samples, or have get_next(), got one {type(samples).__name__}")
    try:
        found: Iterable[Any] = samples
        return iter(found)
    except TypeError:
        raise DataError(f"samples are an iterable or have get_next(), got {type(samples).__name__}") from None


def sample_of(graph: Graph, given: Any, number: int) -> Sample:
    """The arrays of a sample by input name. Of a pair the second is the target, which nobody reads here.

    An array alone becomes one of the input's shape, where only dimensions of 1 differ, and floats float32. Arrays that
    come by name stay as they are.
    """
    if isinstance(given, Mapping):
        return given
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return sample_of(graph, given[0], number)
    names = ", ".join(f"'{tensor.name}': array" for tensor in graph.inputs)
    if not hasattr(given, "__array__"):
        kind = f"{type(given).__name__} of {len(given)}" if isinstance(given, (tuple, list)) else type(given).__name__
        raise DataError(f"sample {number} is a {kind}; samples are {{{names}}}, arrays, or pairs of one and its target")
    if len(graph.inputs) != 1:
        raise DataError(
            f"sample {number} is an array, and the network has {len(graph.inputs)} inputs: give {{{names}}}"
        )
    (tensor,) = graph.inputs
    array = np.asarray(given)
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
    wanted = tensor.shape or ()
    if [d for d in array.shape if d != 1] == [d for d in wanted if d != 1]:
        array = array.reshape(wanted)
    return {tensor.name: array}
