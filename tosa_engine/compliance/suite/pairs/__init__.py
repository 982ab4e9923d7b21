"""Uses of operators that have all pairs of classes (`coverage.dimensions`) among them, with few elements each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....infer import infer
from ....spec import TABLE
from ....target import Target
from ...cases.values import values
from ...coverage.dimensions import COUNTS, universe
from . import elementwise, moves, windows
from .arrays import covering
from .use import Use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Graph
    from ....types import Array

__all__ = ["built", "channels", "covering", "pair", "sized"]

BUILDERS: Mapping[str, Callable[[Use], None]] = {
    **dict.fromkeys(("CONV2D", "CONV3D", "DEPTHWISE_CONV2D"), windows.convolution),
    **dict.fromkeys(("AVG_POOL2D", "MAX_POOL2D"), windows.pool),
    **dict.fromkeys(("FFT2D", "RFFT2D"), windows.transform),
    "TRANSPOSE_CONV2D": windows.transpose_convolution, "MATMUL": windows.matmul,
    "CONST": elementwise.nothing_in, "CONST_SHAPE": moves.example, **moves.MOVES,
}  # fmt: skip


def pair(operator: str, number: int, seed: int, target: Target | None = None) -> tuple[Graph, dict[str, Array]]:
    """The use of this number, again from the first one after the last, with feeds."""
    array = covering(operator, target or Target())
    return built(operator, array[number % len(array)], seed)


def channels(operator: str) -> tuple[str, ...]:
    """The dimensions of an operator that are numbers of channels."""
    return tuple(name for name, classes in universe(operator).items() if classes == COUNTS and name != "elements")


def sized(operator: str, size: int, seed: int, target: Target | None = None) -> tuple[Graph, dict[str, Array]]:
    """A use with so many channels on all sides, which some implementations take another way for."""
    array = covering(operator, target or Target())
    return built(operator, {**array[size % len(array)], **dict.fromkeys(channels(operator), COUNTS[1])}, seed, size)


def built(operator: str, chosen: Mapping[str, str], seed: int, size: int = 0) -> tuple[Graph, dict[str, Array]]:
    """A use of the classes that were chosen for each dimension, with feeds; `size` is what 2 to 15 channels are."""
    spec = TABLE[operator]
    use = Use(spec, chosen, np.random.default_rng(seed), size)
    builder = BUILDERS.get(operator)
    if builder is None:
        axis = any(attribute.name == "axis" for attribute in spec.attributes)
        builder = elementwise.along_axis if axis else elementwise.elementwise
    builder(use)
    graph = use.case.graph()
    infer(graph)
    for tensor in graph.inputs:
        if tensor.name not in use.feeds:  # of a list
            use.feeds[tensor.name] = values(use.rng, "any", tensor.dtype, tensor.shape or ())
    return graph, {tensor.name: use.feeds[tensor.name] for tensor in graph.inputs}
