"""Balancing matrix products: outliers of activations move into the weights that multiply them, as in SmoothQuant.

Channel c whose activations reach x and whose weights reach w is divided by s = x^alpha / w^(1 - alpha) in front of the
product and multiplied by s in the weights. In front of it are the gain of a normalization, or the weights of the layer
before. Scales are powers of two; alpha 0 leaves the activations' spread, 1 moves all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.errors import UsageError
from tosa_engine.passes import dead_code
from tosa_engine.watch import WatchedGraph

from ..legalize.quantize import prepared
from .channels import channels_of, largest, power_of_two, scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Block, Graph
    from tosa_engine.types import Array

    from .channels import Channels, Use


def smooth(graph: Graph, samples: Iterable[Mapping[str, Array]], alpha: float = 0.5) -> tuple[Graph, dict[str, Array]]:
    """The balanced network, and what each set of channels was divided by, by the name of what writes it.

    As `equalize.equalize`, for channels that only matrix products read (MATMUL, CONV2D of 1x1), by the activations of
    the samples. Raises UsageError for an alpha outside 0 .. 1.
    """
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha is between 0 and 1, got {alpha!r}")
    made = prepared(graph)
    block = made.main
    sets = [
        c for c in channels_of(block) if not c.pinned and c.readers and all(_is_product(block, r) for r in c.readers)
    ]
    reach = _reach(made, sets, samples)
    totals = {}
    for channels in sets:
        weights = np.max([largest(block, use) for use in channels.readers], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = power_of_two(reach[channels.name] ** alpha / weights ** (1 - alpha))
        middle = np.exp2(np.rint(np.median(np.log2(scales))))
        totals[channels.name] = scales / middle
        scale(made, channels, totals[channels.name])
    return dead_code.run(made), totals


def _is_product(block: Block, use: Use) -> bool:
    shape = block.tensors[use.op.inputs[use.slot]].shape or ()
    return use.op.op == "MATMUL" or (use.op.op == "CONV2D" and shape[1:3] == (1, 1))


def _reach(graph: Graph, sets: list[Channels], samples: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """The largest |activation| of each channel, where the products read it."""
    read = {use.op.inputs[0]: channels for channels in sets for use in channels.readers}
    found = {channels.name: np.zeros(channels.size) for channels in sets}

    def see(node: str, tensor: str, array: Array) -> None:
        del node
        channels = read[tensor]
        by_channel = np.moveaxis(np.abs(array), channels.tensors[tensor], 0).reshape(channels.size, -1)
        found[channels.name] = np.maximum(found[channels.name], by_channel.max(axis=1))

    watched = WatchedGraph(graph, list(read), see)
    for sample in samples:
        watched.run(sample)
    return found
