"""Lowerings on plain tensors: written into a graph, checked, and run by the oracle; borders and windows in numpy."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import check, oracle, types
from tosa_engine.graph import new_graph
from tosa_engine.lower.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.lower.windows import Window

Array = np.ndarray[Any, np.dtype[Any]]
FORMATS = {"f": types.fp32, "i": types.i32, "b": types.bool_}
MODES = {"ignore": "constant", "constant": "constant", "replicate": "edge", "reflect": "reflect",
         "reflect-even": "symmetric"}  # fmt: skip


def graph_of(lowering: Callable[..., Tensor], *arrays: Array, constants: Sequence[Array] = ()) -> Graph:
    """What `lowering` writes for a writer and tensors: inputs like `arrays`, then `constants`."""
    graph = new_graph()
    writer = Writer(graph.main)
    tensors = [writer.tensor(f"x{i}", FORMATS[a.dtype.kind], a.shape) for i, a in enumerate(arrays)]
    graph.main.inputs = [t.name for t in tensors]
    tensors += [writer.constant("c", FORMATS[a.dtype.kind], a) for a in constants]
    graph.main.outputs = [lowering(writer, *tensors).name]
    check.validate(graph)
    return graph


def run(lowering: Callable[..., Tensor], *arrays: Array, constants: Sequence[Array] = ()) -> Array:
    """The result of `lowering` of inputs and constants."""
    graph = graph_of(lowering, *arrays, constants=constants)
    return oracle.run(graph, {f"x{i}": a for i, a in enumerate(arrays)})[graph.main.outputs[0]]


def operators(graph: Graph) -> set[str]:
    return {op.op for op in graph.main.operators} - {"CONST", "CONST_SHAPE"}


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def bordered(x: Array, padding: Sequence[tuple[int, int]], border: str, value: float = 0.0) -> Array:
    """`x` with a border that is grown from the whole of it, and cut off where padding is negative."""
    grown = [(max(p, 0), max(q, 0)) for p, q in padding]
    how: dict[str, Any] = {"constant_values": value} if MODES[border] == "constant" else {}
    wide = np.pad(x, grown, mode=MODES[border], **how)  # type: ignore[call-overload]
    cut = tuple(slice(max(-p, 0), n - max(-q, 0)) for (p, q), n in zip(padding, wide.shape, strict=True))
    found: Array = wide[cut]
    return found


def taps(x: Array, windows: Sequence[Window], first: int = 0) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Every place in the window, and of all windows over the axes from `first` on the values there."""
    for place in itertools.product(*(range(w.size) for w in windows)):
        at = [slice(j * w.dilation, j * w.dilation + (w.output - 1) * w.stride + 1, w.stride)
              for j, w in zip(place, windows, strict=True)]  # fmt: skip
        yield place, x[(slice(None),) * first + tuple(at)]
