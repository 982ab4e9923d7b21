"""Inputs that may violate a REQUIRE which the analysis couldn't prove: to be tried, not believed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..graph import Block, Graph, Operator, Region, copy_operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..types import Array
    from .findings import Finding


class Candidate(NamedTuple):
    """Values for every graph input, and how to say them."""

    feeds: dict[str, Array]
    words: str


def part_of(graph: Graph, finding: Finding) -> Graph | None:
    """The part of the main block that computes the finding's tensor, with the graph's inputs that it needs; None where
    it isn't in the main block. Other operators can't influence its REQUIREs.
    """
    block = graph.main
    writers = block.producers()
    if finding.tensor not in writers:
        return None
    wanted, operators = [finding.tensor], set[int]()
    while wanted:
        operator = writers.get(wanted.pop())
        if operator is not None and id(operator) not in operators:
            operators.add(id(operator))
            wanted += operator.inputs
    kept = [copy_operator(op) for op in block.operators if id(op) in operators]
    read = {name for op in kept for name in op.inputs}
    names = dict.fromkeys(n for op in kept for n in (*op.inputs, *op.outputs))
    tensors = {n: replace(block.tensors[n]) for n in names}
    inputs = [n for n in block.inputs if n in read]
    part = Block("main", inputs, [finding.tensor], tensors, kept)
    return Graph([Region("main", [part]), *graph.regions[1:]], graph.version, graph.draft, graph.source)


def candidates(part: Graph, finding: Finding) -> Iterator[Candidate]:
    """The ends of the inputs' types, everywhere and mixed at random; for a convolution of a graph input the ends that
    agree with the signs of one channel's weights.
    """
    yield from _sign_matching(part, finding)
    ends = {t.name: (t.dtype.minimum, t.dtype.maximum) for t in part.inputs}
    names = list(ends)
    for which in range(min(1 << len(names), 16)):
        values = {n: ends[n][which >> i & 1] for i, n in enumerate(names)}
        feeds = {t.name: np.full(t.shape or (), values[t.name], t.dtype.storage) for t in part.inputs}
        yield Candidate(feeds, ", ".join(f"'{n}' is {v} everywhere" for n, v in values.items()))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        feeds = {t.name: rng.choice(ends[t.name], t.shape or ()).astype(t.dtype.storage) for t in part.inputs}
        yield Candidate(feeds, f"the inputs are the ends of their types, mixed at random (seed {seed})")


def _sign_matching(part: Graph, finding: Finding) -> Iterator[Candidate]:
    """The worst case of a channel: at one output position each input value is an end chosen by its weight's sign."""
    operator = part.main.operators[-1]
    block = part.main
    if operator.op != "CONV2D" or operator.inputs[0] not in block.inputs or len(block.inputs) != 1:
        return
    source, weight = block.tensors[operator.inputs[0]], block.tensors[operator.inputs[1]].data
    if weight is None or source.shape is None or finding.low.size == 0:
        return
    output = block.tensors[operator.outputs[0]].shape
    assert output is not None
    place, channel = (output[1] // 2, output[2] // 2), finding.worst[0]
    ends = (source.dtype.minimum, source.dtype.maximum)
    positive = weight[channel].astype(np.int64) > 0
    for high in (True, False):
        array = np.zeros(source.shape, source.dtype.storage)
        _place(array, operator, positive == high, place, ends)
        yield Candidate(
            {source.name: array},
            f"'{source.name}' is, under the kernel at output position {place[0]}, {place[1]}, {ends[1]} where the "
            f"weights of channel {channel} are {'positive' if high else 'not positive'} and {ends[0]} where they "
            f"aren't, and 0 elsewhere",
        )


def _place(array: Array, operator: Operator, greatest: Array, place: tuple[int, int], ends: tuple[int, int]) -> None:
    """Write the ends under the kernel at one output position of every batch."""
    (top, _, left, _), dilation, stride = (operator.attributes[name] for name in ("pad", "dilation", "stride"))
    for ky in range(greatest.shape[0]):
        for kx in range(greatest.shape[1]):
            y = place[0] * stride[0] + ky * dilation[0] - top
            x = place[1] * stride[1] + kx * dilation[1] - left
            if 0 <= y < array.shape[1] and 0 <= x < array.shape[2]:
                array[:, y, x] = np.where(greatest[ky, kx], ends[1], ends[0])
