"""Bias correction: what the integer network's layer gives too much on average, per channel, comes off its bias.

Measured at the accumulator, before saturation and activation function, layer after layer: the later ones see the
earlier ones corrected. A correction stays where the outputs of the whole integer network (before a softmax or ARGMAX
at its end) come nearer to the float ones on samples that it wasn't measured with; fake quantization, which rounds
otherwise, has no part in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import Session
from tosa_engine.errors import UsageError
from tosa_engine.spec import traits_of
from tosa_engine.watch import WatchedGraph

from ..legalize.weights import own_constant
from .runs import IntegerNetwork, distance, held_back, judged_tensors, subgraph_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tosa_engine.graph import Graph, Operator
    from tosa_engine.types import Array

    Sample = Mapping[str, Array]


@dataclass(frozen=True)
class Correction:
    """`largest` is the largest correction of a channel; `before` and `after` are the errors of the network's outputs on
    held-back samples, in parts of the outputs' own power; `kept`: whether it stays.
    """

    layer: str
    largest: float
    before: float
    after: float

    @property
    def kept(self) -> bool:
        return self.after < self.before

    def __str__(self) -> str:
        verdict = "kept" if self.kept else "dropped"
        gain = 10 * np.log10(self.before / self.after) if self.after > 0 < self.before else 0.0
        return (
            f"{self.layer}: bias corrected by up to {self.largest:.3g}, {gain:+.2f} dB on held-back samples: {verdict}"
        )


def has_bias(op: Operator) -> bool:
    weight = traits_of(op).weight
    return weight is not None and bool(weight.bias)


def correct_bias(
    reference: Graph,
    ready: Graph,
    samples: Iterable[Sample],
    *,
    layers: Sequence[str] | None = None,
    floats: frozenset[str] = frozenset(),
    done: Callable[[Correction], None] = lambda _: None,
) -> Graph:
    """A copy of `ready` with corrected biases.

    `reference` is the float network, `ready` the one that is quantized; `layers` are the names of the first outputs of
    the operators to correct (None: all with a bias), `floats` those of the ones that stay in float. Every fourth sample
    is held back. `done` is called after each.

    Raises UsageError when there are fewer than two samples.
    """
    fit, judges = held_back(samples)
    made, judged = ready.copy(), judged_tensors(reference)
    real = Session(subgraph_for(reference, *judged))
    before = distance(real, IntegerNetwork(subgraph_for(made, *judged), floats), judges)
    for op in [op for op in made.main.operators if has_bias(op)]:
        left = op.outputs[0] in floats or (layers is not None and op.outputs[0] not in layers)
        if left or made.main.tensors[op.inputs[2]].data is None:
            continue
        excess = mean_error(reference, made, op, fit, floats)
        bias = own_constant(made.main, op, 2)
        assert bias.data is not None
        old = bias.data
        bias.data = (np.broadcast_to(old.astype(np.float64), excess.shape) - excess).astype(np.float32)
        bias.shape = bias.data.shape
        after = distance(real, IntegerNetwork(subgraph_for(made, *judged), floats), judges)
        found = Correction(op.name, float(np.abs(excess).max()), before, after)
        if found.kept:
            before = after
        else:
            bias.data, bias.shape = old, old.shape
        done(found)
    return made


def mean_error(
    reference: Graph, ready: Graph, op: Operator, samples: Iterable[Sample], floats: frozenset[str] = frozenset()
) -> Array:
    """Per channel the mean of the integer accumulator minus the float result, in real units."""
    out = op.outputs[0]
    real, stored = Session(subgraph_for(reference, out)), IntegerNetwork(subgraph_for(ready, out), floats)
    wide = stored.report.accumulators.get(out)
    if wide is None:
        raise UsageError(f"'{op.name}' has no accumulator of its own")
    seen: list[Array] = []
    watched = WatchedGraph(stored.graph, [wide.name], lambda _node, _tensor, array: seen.append(array))
    total, count = np.zeros(1), 0
    for sample in samples:
        seen.clear()
        watched.run(stored.feeds(sample))
        found = seen[0].astype(np.float64) * np.asarray(wide.scale) - real.run(None, sample)[0]
        total = total + found.reshape(-1, found.shape[-1]).sum(axis=0)
        count += found.size // found.shape[-1]
    return total / max(count, 1)
