"""One floating-point graph on our engine and on Arm's reference model: is every operator as exact as it must be?

Two implementations may be apart by their bounds, and more behind each operator. So every tensor becomes an output, and
each operator is judged on the values that the same implementation gave it, by `compliance.accuracy`, whose references
are the oracle's. The graph as it was, fused, must give the bytes that it gives with all tensors stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from differential import Comparison, Run, explanation, on_kernels, on_reference, unlike

from tosa_engine.compliance import accuracy
from tosa_engine.spec import bind_operator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tosa_engine.graph import Graph, Operator
    from tosa_engine.types import Array

# Where the reference model, which computes in the types of the text, can't be held to the fp64 reference
# (docs/errata.md): always, or where an output isn't finite.
OVERFLOW, ANGLES = "a sum or product that overflows on the way", "angles that are rounded to fp32"
SUMS = {
    "AVG_POOL2D", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "MATMUL", "REDUCE_PRODUCT", "REDUCE_SUM", "TRANSPOSE_CONV2D",
}  # fmt: skip
TRANSFORMS = {"FFT2D", "RFFT2D"}


@dataclass(frozen=True)
class Inexact:
    """An output that is out of bounds. `reason`: why the reference model's may be, where a reason is documented."""

    text: str
    reason: str


def compare_floats(graph: Graph, feeds: dict[str, Array], folder: Path) -> Comparison:
    """What differs beyond the specification's bounds, first in our engine, then in the reference model."""
    ours, opened = on_kernels(graph, feeds), with_all_outputs(graph)
    whole = on_kernels(opened, feeds)
    kept = Run(whole.verdict, whole.label, {n: a for n, a in (whole.outputs or {}).items() if n in graph.main.outputs})
    if difference := unlike(ours, kept):
        return Comparison(ours, kept, f"fused and one by one: {difference}")
    theirs = on_reference(opened, feeds, folder)
    for found in inexact(opened, feeds, whole):
        return Comparison(ours, theirs, f"ours: {found.text}")
    if whole.verdict != theirs.verdict:
        return Comparison(ours, theirs, f"{whole}, {theirs}", explanation(graph, whole, theirs))
    theirs_inexact = list(inexact(opened, feeds, theirs))
    worst = next((found for found in theirs_inexact if not found.reason), next(iter(theirs_inexact), None))
    return Comparison(ours, theirs, *((f"reference model: {worst.text}", worst.reason) if worst else ()))


def with_all_outputs(graph: Graph) -> Graph:
    """The graph with every tensor that an operator computes as an output."""
    opened = graph.copy()
    opened.main.outputs = [name for op in opened.main.operators if op.inputs for name in op.outputs]
    return opened


def inexact(graph: Graph, feeds: dict[str, Array], run: Run) -> Iterator[Inexact]:
    """The operators whose outputs are out of bounds, in the order of the graph; none of a run that isn't valid."""
    values = {t.name: t.data for t in graph.main.tensors.values() if t.data is not None} | feeds | (run.outputs or {})
    for operator in graph.main.operators if run.verdict == "valid" else []:
        if operator.inputs:
            yield from _inexact(graph, operator, values)


def _inexact(graph: Graph, operator: Operator, values: dict[str, Array]) -> Iterator[Inexact]:
    call = bind_operator(operator, graph.main, graph)
    names = iter(operator.inputs)
    listed = call.spec.inputs[0].is_list  # CONCAT's, which has no other
    inputs = {a.name: [values[n] for n in names] if listed else values[next(names)] for a in call.spec.inputs}
    found = accuracy.check_operator(call, inputs, [values[name] for name in operator.outputs])
    finite = all(np.isfinite(values[name].astype(np.float64)).all() for name in operator.outputs)
    reason = ANGLES if operator.op in TRANSFORMS else OVERFLOW if operator.op in SUMS and not finite else ""
    for name, one in zip(operator.outputs, found, strict=False):
        if not one.good:
            yield Inexact(f"'{name}' of {operator.op}: {one}", reason)


def has_floats(graph: Graph) -> bool:
    return any(t.dtype.is_float for t in graph.main.tensors.values())
