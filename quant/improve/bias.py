"""Bias correction: what the integer network's layer gives too much on average, per channel, comes off its bias.

Measured at the accumulator, before saturation and activation function, layer after layer: the later ones see the
earlier ones corrected. A correction stays where the outputs of the whole integer network (before a softmax or ARGMAX
at its end) come nearer to the float ones on samples that it wasn't measured with; fake quantization, which rounds
otherwise, has no part in it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.errors import UsageError
from tosa_engine.journal import Journal
from tosa_engine.spec import traits_of

from ..legalize.weights import own_constant
from ..pieces import Pieces, Plans
from .runs import ChangingNetwork, decibels_gained, distance, held_back, judged_tensors, runs_of, subgraph_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tosa_engine.graph import Graph, Operator
    from tosa_engine.types import Array

    from ..pieces import Runs

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
        gain = decibels_gained(self.before, self.after)
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
    journal: Journal | None = None,
) -> Graph:
    """A copy of `ready` with corrected biases.

    `reference` is the float network, `ready` the one that is quantized; `layers` are the names of the first outputs of
    the operators to correct (None: all with a bias), `floats` those of the ones that stay in float. Every fourth sample
    is held back. `done` is called after each. What the `journal` of an earlier run has isn't measured again.

    Raises UsageError when there are fewer than two samples.
    """
    plans, journal = Plans(), Journal() if journal is None else journal
    fit, judges = (runs_of(part, plans) for part in held_back(samples))
    judged = judged_tensors(reference)
    real, made = Pieces(subgraph_for(reference, *judged)), ready.copy()
    integers = ChangingNetwork(subgraph_for(made, *judged), floats)
    before: float | None = None
    for op in [op for op in made.main.operators if has_bias(op)]:
        left = op.outputs[0] in floats or (layers is not None and op.outputs[0] not in layers)
        if left or made.main.tensors[op.inputs[2]].data is None:
            continue
        key, old = f"bias {op.outputs[0]}", own_constant(made.main, op, 2).data
        assert old is not None
        known = journal.get(key)
        if known is None:
            before = distance(real, integers, judges) if before is None else before
            excess = mean_error(real, integers, op, fit)
            new = (np.broadcast_to(old.astype(np.float64), excess.shape) - excess).astype(np.float32)
            _give(made, integers, op, new)
            found = Correction(op.name, float(np.abs(excess).max()), before, distance(real, integers, judges))
            journal.put(key, {"bias": new.tolist(), "found": asdict(found)})
            if not found.kept:
                _give(made, integers, op, old)
        else:
            with journal.reading(key):
                new, found = np.array(known["bias"], np.float32), Correction(**known["found"])
                np.broadcast_to(old, new.shape)
            if found.kept:
                _give(made, integers, op, new)
        before = found.after if found.kept else found.before
        done(found)
    return made


def _give(made: Graph, integers: ChangingNetwork, op: Operator, bias: Array) -> None:
    """Another bias for a layer, in the float network and in the integer one."""
    tensor = made.main.tensors[op.inputs[2]]
    old = tensor.data
    assert old is not None
    tensor.data, tensor.shape = bias, bias.shape
    integers.set_bias(made, op, old)


def mean_error(reference: Pieces, integers: ChangingNetwork, op: Operator, runs: Runs) -> Array:
    """Per channel the mean of the integer accumulator minus the float result, in real units."""
    out = op.outputs[0]
    if out not in integers.report.accumulators:
        raise UsageError(f"'{op.name}' has no accumulator of its own")
    total, count = np.zeros(1), 0
    for sums, (real,) in zip(integers.sums(out, runs), runs.values(reference, [out]), strict=True):
        found = sums - real
        total = total + found.reshape(-1, found.shape[-1]).sum(axis=0)
        count += found.size // found.shape[-1]
    return total / max(count, 1)
