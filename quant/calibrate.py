"""From a float model and samples to the QParams of its tensors: what `graph.quant` holds.

Activations get the min/max range that the samples show, but for results whose range is known (softmax, sigmoid, tanh)
and for tensors that share the QParams of another (`sharing`). Weights get one symmetric scale per output channel from
their own values. Tensors without a name in the model can't be written to the file and get none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from tosa_engine.graph import Composite

from .observe import Range, observe
from .quantize import float_tensors, prepared
from .ranges import FIXED, NARROWEST_RANGE, activation_qparams, weight_qparams
from .sharing import share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Block, Graph, QParams, Tensor
    from tosa_engine.types import Array


@dataclass
class Calibration:
    """QParams by the model's own tensor names, in the model's order; `ranges` what was seen; `warnings` for people."""

    qparams: dict[str, QParams]
    ranges: dict[str, Range] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    samples: int = 0


def calibrate(
    graph: Graph,
    samples: Iterable[Mapping[str, Array]],
    *,
    weights: Mapping[str, Array] | None = None,
    limit: int | None = None,
) -> Calibration:
    """Calibrate a TOSA-FP graph on samples (arrays by input name), at most `limit` of them.

    `weights` are the model's filters by name, output channel first. Raises DataError for NaN or infinity in an
    activation and when there is no sample.
    """
    counted = _Counted(islice(samples, limit))
    ready = prepared(graph)
    seen = observe(ready, counted, [t.name for t in float_tensors(graph)])
    if counted.number == 0:
        from tosa_engine.errors import DataError

        raise DataError("calibration needs at least one sample")
    result = Calibration({}, seen, samples=counted.number)
    by_tensor = share(ready.main, _activations(ready.main, seen))
    for name, array in (weights or {}).items():
        result.qparams[name] = weight_qparams(array, 0)
    for name, quant in by_tensor.items():
        source = source_name(ready.main.tensors[name])
        if source and source not in result.qparams:
            result.qparams[source] = quant
            result.warnings += _doubts(source, seen.get(name))
    return result


class _Counted:
    """An iterator that knows how many items it gave."""

    def __init__(self, items: Iterable[Mapping[str, Array]]) -> None:
        self._items, self.number = items, 0

    def __iter__(self) -> _Counted:
        self._iterator = iter(self._items)
        return self

    def __next__(self) -> Mapping[str, Array]:
        item = next(self._iterator)
        self.number += 1
        return item


def source_name(tensor: Tensor) -> str:
    """The name that the model gives to a tensor; a graph without sources of its own is its own source."""
    if tensor.source is None:
        return tensor.name
    return tensor.source.name


def _activations(block: Block, seen: Mapping[str, Range]) -> dict[str, QParams]:
    known = [op for op in block.operators if isinstance(op, Composite) and op.op in FIXED]
    fixed = {out: FIXED[op.op] for op in known for out in op.outputs}
    return {
        name: fixed.get(name) or activation_qparams(seen[name].low, seen[name].high)
        for name in block.tensors
        if name in seen
    }


def _doubts(name: str, seen: Range | None) -> list[str]:
    if seen is None:
        return []
    if max(seen.high, 0.0) - min(seen.low, 0.0) < NARROWEST_RANGE:
        return [f"'{name}' is zero in every sample: its scale is 1/128"]
    if seen.low == seen.high:
        return [f"'{name}' is {seen.low!r} everywhere in every sample: its range is from 0 to there"]
    return []
