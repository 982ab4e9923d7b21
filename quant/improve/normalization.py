"""The normalisation of a network's inputs goes into the weights of its first layers, where int8 loses nothing by it.

    x --SUB mean--MUL 1 / deviation--CONV2D-->    becomes    x --CONV2D-->    or    x --SUB mean--CONV2D-->

One or two operators are saved, and their roundings. Weights have one scale for all channels that they read, so these
mustn't differ much in size. An error of a weight meets what isn't centred again and again with one sign, so a large
offset stays before the layer. Layers that a rule names keep what they have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.passes import normalization

from ..calibration.range_rules import by_tensor
from ..legalize import uneven
from ..legalize.layers import layers_of
from ..legalize.quantize import prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Block, Graph, Operator
    from tosa_engine.passes.normalization import Normalization

    from ..calibration.calibrate import Scheme
    from ..calibration.range_rules import RangeRule
    from ..legalize.layers import LayerRule

EVEN: Final = 2.0  # times: at 4 times a network of two convolutions loses 1 dB
NEAR: Final = 1.25  # deviations of what is normalised: at 2 it loses 1 dB, at 4 it loses 4 dB


def fold_normalization(
    graph: Graph, scheme: Scheme, rules: Sequence[LayerRule] = (), weight_bits: int = 8
) -> tuple[Graph, list[str]]:
    """The network, prepared, and a line for each normalisation that is in weights now; or the graph itself, as in
    networks of int16 or of weights of 4 bits.
    """
    if scheme.method.bits != 8 or weight_bits != 8:
        return graph, []
    made, told = prepared(graph), list[str]()
    block = made.main
    named = _named(block, rules, scheme.ranges)
    for found in normalization.find(block):
        if named.isdisjoint(name for op in _operators(found) for name in op.outputs) and _suits(found):
            told.append(_described(found))
            normalization.fold(made, [found])
    return (made if told else graph), told


def _operators(found: Normalization) -> list[Operator]:
    return [*found.steps, *found.moves, *(layer.op for layer in found.layers)]


def _named(block: Block, rules: Sequence[LayerRule], ranges: Sequence[RangeRule]) -> set[str]:
    """The tensors of which rules say something."""
    layers = layers_of(block) if rules else []
    found = {name for rule in rules for layer in layers if layer.matches(rule.selector) for name in layer.tensors}
    return found | by_tensor(block, ranges).keys()


def _suits(found: Normalization) -> bool:
    """Whether int8 loses nothing. A large offset stays before its layer from here on."""
    for layer in found.layers:
        gain, offset = layer.affine.gain, layer.affine.offset
        size = np.abs(gain)
        if not size.max() <= EVEN * size.min() or not size.min() or uneven.times(gain, offset) >= uneven.MOST:
            return False
        layer.whole = layer.whole and bool(np.abs(offset).max() <= NEAR)
        if not layer.whole and uneven.times(np.ones_like(gain), offset / gain) >= uneven.MOST:
            return False
    return found.saves


def _described(found: Normalization) -> str:
    steps = ", ".join(dict.fromkeys(step.name for step in found.steps))
    layers = ", ".join(layer.op.name for layer in found.layers)
    rest = "" if all(layer.whole for layer in found.layers) else ", but for an offset before it"
    kept = f"--layer {found.layers[0].op.name}=int8: not so"
    return f"normalisation of '{found.input}' ({steps}) is in the weights of {layers}{rest} ({kept})"
