"""What an implementation probably does: in words, from what it gave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ... import oracle
from ...compare import causes
from ...compare.trial import Trial
from ...errors import TosaEngineError
from ...infer import infer
from ...types import holds_floats
from ..judge import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph import Graph
    from ...types import Array
    from ..doors import Door
    from ..judge import Judgement


def suspicion(
    graph: Graph, feeds: dict[str, Array], found: Judgement, door: Door, until: float = math.inf
) -> list[str]:
    """Clauses each of which would explain what came out; none where nothing does until a moment of `time.monotonic`."""
    if found.status is Status.HUNG:
        return [f"hangs on {described(graph)}"]
    if found.status is Status.CRASHED:
        return [f"dies on {described(graph)}"]
    if found.status is Status.MEMORY:
        return [f"takes more memory than it may on {described(graph)}"]
    if found.status is Status.VERDICT:
        return [f"{found.label} isn't reported" if found.label else f"refuses a legal graph: {described(graph)}"]
    return _of_values(graph, feeds, found, door, until)


def described(graph: Graph) -> str:
    """The operators with their shapes and attributes."""
    parts = []
    for op in graph.main.operators:
        if op.inputs:
            shapes = [f"{name} {list(graph.main.tensors[name].shape or ())}" for name in op.inputs]
            attributes = [f"{name}={value}" for name, value in op.attributes.items()]
            parts.append(f"{op.op}({', '.join([*shapes, *attributes])})")
    return "; ".join(parts)[:300]


def _of_values(graph: Graph, feeds: dict[str, Array], found: Judgement, door: Door, until: float) -> list[str]:
    """Every clause that explains all of the values."""
    shown = graph.copy()
    infer(shown)
    values: dict[str, Array] = dict(feeds)
    try:
        oracle.run(graph, feeds, lambda _, name, array: values.__setitem__(name, array))
    except TosaEngineError:
        return []
    got = door.run(graph, feeds).outputs.get(found.tensor)
    if got is None or got.size != values[found.tensor].size:
        return []
    got = got.reshape(values[found.tensor].shape)
    if holds_floats(got):
        seen = pattern(got.astype(np.float64), values[found.tensor].astype(np.float64))
        return [seen] if seen else []
    trial = Trial(shown, values, [*shown.main.inputs], found.tensor, got)
    search = causes.Search(trial, until)
    search.run()
    named = [f"{one.operator}: {one.text}" for one in search.best() if one.complete]
    seen = pattern(got, values[found.tensor])
    return list(dict.fromkeys(named)) or ([seen] if seen else [])


def pattern(got: Array, wanted: Array) -> str:
    """What all differing elements have in common."""
    differs = np.asarray(got != wanted)
    a, b = got[differs].astype(np.float64), wanted[differs].astype(np.float64)
    if not a.size or not np.isfinite(a).all() or not np.isfinite(b).all():
        return ""
    steps = np.unique(a - b)
    if steps.size == 1 and abs(steps[0]) == 1:
        return f"results one too {'large' if steps[0] > 0 else 'small'}"
    if np.array_equal(a, -b):
        return "results with the other sign"
    if not a.any():
        return "zeros in place of results"
    bits = 8 * got.dtype.itemsize
    if got.dtype.kind == "i" and steps.size == 1 and abs(steps[0]) == 2.0**bits - 1:
        return "wraps in place of saturating"
    return ""


def smallest(graph: Graph, feeds: Mapping[str, Array]) -> int:
    """Elements of the largest tensor that isn't a table."""
    tables = {op.inputs[1] for op in graph.main.operators if op.op == "TABLE"}
    sizes = [t.size for t in graph.main.tensors.values() if t.shape is not None and t.name not in tables]
    return max([*sizes, *(array.size for array in feeds.values())], default=0)
