"""Cross-layer equalisation: neighbouring layers share the ranges of their weights, channel by channel.

Channel c that layers write with weights up to a and read with weights up to b is divided by s = sqrt(a / b) where it is
written and multiplied by s where it is read: both then reach sqrt(a b). Channels that were hardly used get steps of
their own, in the activation and, with one scale for a whole filter, in the weights. Scales are powers of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.passes import dead_code

from ..legalize.quantize import prepared
from .channels import channels_of, largest, power_of_two, scale

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

ROUNDS: Final = 20


def equalize(graph: Graph) -> tuple[Graph, dict[str, Array]]:
    """The equalised network, and what each set of channels was divided by, by the name of its first layer.

    The network is `prepared` for quantization. It computes the same floats, bit by bit, but for underflow. Tensors that
    were scaled lose their QParams.
    """
    made = prepared(graph)
    block = made.main
    sets = [c for c in channels_of(block) if not c.pinned and c.readers and all(w.op.op != "MUL" for w in c.writers)]
    totals = {c.name: np.ones(c.size) for c in sets}
    for _ in range(ROUNDS):
        still = True
        for channels in sets:
            written = np.max([largest(block, use) for use in channels.writers], axis=0)
            read = np.max([largest(block, use) for use in channels.readers], axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                scales = power_of_two(np.sqrt(written / read))
            if (scales != 1).any():
                still = False
                scale(made, channels, scales)
                totals[channels.name] *= scales
        if still:
            break
    return dead_code.run(made), totals
