"""A simulated device: it runs graphs by the oracle, with planted faults, and dumps its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from nets import feeds_of

from tosa_engine import arrays, oracle, serialize
from tosa_engine.spec import bind_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    Fault = Callable[..., Array]


def simulate(graph: Graph, feeds: dict[str, Array], faults: dict[str, Fault]) -> dict[str, Array]:
    """All tensors that operators write, as a device with these faults does: by output name, what computes it instead,
    from (arguments by name, what is right).
    """
    block = graph.main
    values = dict(feeds)
    for op in block.operators:
        call = bind_operator(op, block, graph)
        read = {a.name: call.tensors[a.name] for a in call.spec.inputs}
        arguments: dict[str, Any] = {
            name: [values[t.name] for t in tensors] if isinstance(tensors, list) else values[tensors.name]
            for name, tensors in read.items()
        }
        right = oracle.run_operator(call, arguments)[0]
        fault = faults.get(op.outputs[0])
        values[op.outputs[0]] = right if fault is None else fault(arguments, right).astype(right.dtype)
    return values


def scaled_by(round_: Callable[[int, int, int], int], *, low: int = -128, high: int = 127) -> Fault:
    """A RESCALE in Python integers, element by element."""

    def fault(arguments: dict[str, Array], right: Array) -> Array:
        shape = right.shape
        values = arguments["input"].astype(object) - int(arguments["input_zp"][0])
        multiplier = np.broadcast_to(arguments["multiplier"], shape).reshape(-1)
        shift = np.broadcast_to(arguments["shift"], shape).reshape(-1)
        zero = int(arguments["output_zp"][0])
        numbers = zip(values.reshape(-1), multiplier, shift, strict=True)
        found = [max(low, min(high, round_(int(v), int(m), int(s)) + zero)) for v, m, s in numbers]
        return np.array(found).reshape(shape)

    return fault


class Files:
    """A model, its inputs, and a place for what the device dumps."""

    def __init__(self, folder: Path, make: Callable[[], Graph]) -> None:
        self.folder, self.graph = folder, make()
        self.model, self.inputs, self.dump = folder / "model.tosa", folder / "x.npz", folder / "device.npz"
        serialize.write(self.graph, self.model)
        self.feeds = feeds_of(self.graph)
        arrays.write(self.inputs, self.feeds)

    def write_dump(self, faults: dict[str, Fault], only: Iterable[str] | None = None) -> None:
        values = simulate(self.graph, self.feeds, faults)
        constants = {t.name for t in self.graph.main.tensors.values() if t.data is not None}
        chosen = set(values) - constants - set(self.feeds) if only is None else set(only)
        arrays.write(self.dump, {name: array for name, array in values.items() if name in chosen})
