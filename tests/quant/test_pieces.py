"""Pieces of networks that run instead of the whole: the same bytes, planned once, computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant import pieces
from quant.calibration.calibrate import Scheme, attach_precisions
from quant.calibration.observe import collect
from quant.legalize.layers import layers_of, stay_float
from quant.legalize.quantize import prepared, quantize
from quant.pieces import Pieces, Plans, Runs
from tosa_engine import Session
from tosa_engine.qparams.arrays import quantize_array
from tosa_engine.samples.arrays import RandomSamples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array


def network() -> Graph:
    """conv - relu - (conv, tanh) - add - conv: a tensor that several pieces read."""
    f = Floats()

    def w(*shape: int) -> Any:
        return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)

    y = f.relu(f.conv(f.input((1, 4, 3, 5)), w(6, 1, 1, 5), w(6), name="first"))
    z = f.conv(y, w(6, 1, 1, 6), w(6), name="second")
    bent = f.op("ADD", [f.op("TANH", [y], name="tanh"), z], name="sum")
    return f.outputs(f.conv(bent, w(4, 1, 1, 6), w(4), name="last"))


GRAPH = network()
SAMPLES = RandomSamples(7, 3, GRAPH.inputs)
STATISTICS = collect(GRAPH, SAMPLES.read(range(7)))
NAMES = [layer.name for layer in layers_of(prepared(GRAPH).main)]


def integer(**precisions: str) -> Graph:
    chosen = dict.fromkeys(NAMES, "int8") | precisions
    ready = attach_precisions(GRAPH, STATISTICS, Scheme(), chosen)
    return quantize(ready, floats=stay_float(prepared(GRAPH).main, chosen))


def samples() -> Iterator[dict[str, Array]]:
    return (sample for _, sample in SAMPLES.read(range(7)))


def whole(graph: Graph) -> list[bytes]:
    session, (port,) = Session(graph), graph.inputs
    feeds = ((quantize_array(s["x"], port.quant) if not port.dtype.is_float else s["x"]) for s in samples())
    return [array.tobytes() for x in feeds for array in session.run(None, {"x": x})]


def pieced(runs: Runs, graph: Graph) -> list[bytes]:
    return [array.tobytes() for found in runs.values(Pieces(graph), graph.main.outputs) for array in found]


VARIANTS = [{}, {"first": "float"}, {"second": "int16"}, {"last": "float"}, dict.fromkeys(NAMES, "float"), {}]


@pytest.mark.parametrize("chunk", [1, 3, 16])
def test_variants_of_a_network_have_the_bytes_of_whole_runs(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(pieces, "CHUNK", chunk)
    runs = Runs(samples, 7)
    for precisions in VARIANTS:
        graph = integer(**precisions)
        assert pieced(runs, graph) == whole(graph)
    assert pieced(runs, prepared(GRAPH)) == whole(prepared(GRAPH))


def test_a_tensor_inside_is_what_the_network_computes() -> None:
    graph, runs = integer(), Runs(samples, 7)
    name = next(op.outputs[0] for op in graph.main.operators if op.op == "CONV2D")
    cut = graph.copy()
    cut.main.outputs = [name]
    assert [found[0].tobytes() for found in runs.values(Pieces(graph), [name])] == whole(cut)


def test_only_what_differs_is_planned_and_only_what_follows_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    ran: list[bytes] = []
    original = Plans.run

    def counted(self: Plans, key: bytes, make: Any, inputs: Any) -> Any:
        ran.append(key)
        return original(self, key, make, inputs)

    def reading() -> Iterator[dict[str, Array]]:
        read.append(1)
        return samples()

    monkeypatch.setattr(Plans, "run", counted)
    runs = Runs(reading, 7)
    plain, changed = integer(), integer()
    last = next(op for op in reversed(changed.main.operators) if op.op == "CONV2D")
    weight = changed.main.tensors[last.inputs[1]]
    assert weight.data is not None
    weight.data = -weight.data
    pieced(runs, plain)
    assert len(ran) == 3
    pieced(runs, plain)  # results are kept when they are asked for again
    assert len(set(ran)) == 3
    assert len(read) == 2
    del ran[:]
    found = pieced(runs, changed)
    assert len(ran) == 1
    assert len(read) == 2
    assert found == whole(changed)


def test_results_that_find_no_room_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_BYTES", 500)
    runs, graph = Runs(samples, 7), integer()
    for _ in range(3):
        assert pieced(runs, graph) == whole(graph)
        assert sum(kept.array.nbytes for kept in runs._kept.values()) <= 500


def test_constants_that_are_made_of_constants_come_with_their_readers() -> None:
    """`shared` is read by an operator that isn't wanted, too, which comes first."""
    f = Floats()
    x, shared = f.input((1, 4)), f.const(np.full((1, 4), 3.0))
    y = f.op("MAXIMUM", [x, shared])
    z = f.op("ADD", [x, f.op("ADD", [f.const(np.ones((1, 4))), shared])])
    runs = Runs(lambda: [{"x": np.zeros((1, 4), np.float32)}], 1)
    ((found,),) = runs.values(Pieces(f.outputs(y, z)), [z])
    assert found.tolist() == [[4.0] * 4]
