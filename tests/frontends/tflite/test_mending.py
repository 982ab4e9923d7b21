"""What is done to the converter's graph: names, scales, QUANTIZE that saturates. No converter is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tflite_tools import ADD, FLOAT32, INT8, QUANTIZE, UINT8, Held, Node, tflite

from tosa_engine import oracle, types
from tosa_engine.builder import Builder
from tosa_engine.check import validate
from tosa_engine.errors import DataError, Unsupported
from tosa_engine.frontends.tflite.mending import mend
from tosa_engine.frontends.tflite.model import model_of
from tosa_engine.graph import Location, QParams
from tosa_engine.passes import run_pipeline

if TYPE_CHECKING:
    from tosa_engine.frontends.tflite.model import Model
    from tosa_engine.graph import Graph

VALUES = np.array([[-1e9, -66, 0, 1, 62, 63, 1000, np.inf]], np.float32)


def quantizing(kind: int = INT8, zero_point: int = 3) -> Model:
    tensors = [Held("x", [1, 8]), Held("q", [1, 8], kind, scale=(0.5, zero_point))]
    return model_of(tflite(tensors, [Node(QUANTIZE, [0], [1])], [0], [1]), "m.tflite")


def as_converted(added: int = 3, place: str = "q") -> Graph:
    """What the converter makes of QUANTIZE with a zero point."""
    b = Builder()
    x = b.input(types.fp32, (1, 8))
    scaled = b.op("MUL", x, b.const(np.full((1, 1), 2, np.float32)), b.const(np.zeros(1, np.int8)))
    steps = b.op("CAST", scaled, dtype=types.i32)
    b.output(b.op("CAST", b.op("ADD", steps, b.const(np.full((1, 1), added, np.int32))), dtype=types.i8))
    graph = b.graph()
    for operator in graph.main.operators:
        operator.location = Location(name=f'loc("{place}"("model.tflite":0:0))')
    return graph


def values_of(graph: Graph, values: np.ndarray = VALUES) -> list[int]:
    validate(graph)
    name = graph.main.inputs[0]
    return oracle.run(graph, {name: values})[graph.main.outputs[0]].tolist()[0]


def test_quantize_saturates() -> None:
    graph, wrapped = as_converted(), values_of(as_converted(), np.clip(VALUES, -1000, 1000))
    mend(graph, quantizing())
    right = [-128, -128, 3, 5, 127, 127, 127, 127]
    assert values_of(graph) == values_of(run_pipeline(graph)) == right
    assert wrapped != right  # what is mended


def test_ports_have_the_names_and_scales_of_the_model() -> None:
    graph = as_converted()
    mend(graph, quantizing())
    assert (graph.main.inputs, graph.main.outputs) == (["x"], ["q"])
    assert graph.outputs[0].quant == QParams((0.5,), (3,))
    assert {str(op.location) for op in graph.main.operators} == {"m.tflite q"}


@pytest.mark.parametrize("added", [4, -3])
def test_a_quantize_that_is_not_known_is_refused(added) -> None:
    with pytest.raises(Unsupported) as caught:
        mend(as_converted(added), quantizing())
    assert str(caught.value) == "m.tflite: QUANTIZE that the converter writes in a way that isn't known (node 'q')"


def test_casts_of_other_operators_stay_as_they_are() -> None:
    graph = as_converted(place="another")
    mend(graph, quantizing())
    assert all(op.op != "CLAMP" for op in graph.main.operators)


def test_ports_that_are_not_the_models() -> None:
    with pytest.raises(DataError) as caught:
        mend(as_converted(place="another"), quantizing(FLOAT32))
    assert str(caught.value) == "m.tflite: the converter made i8 of float32 (tensor 'q')"


def test_values_inside_have_the_names_and_scales_of_the_model() -> None:
    """What is unsigned between operators is signed in the graph, with another zero point."""
    tensors = [
        Held("x", [1, 4], UINT8, scale=(0.5, 128)),
        Held("inside", [1, 4], UINT8, scale=(0.25, 130)),
        Held("y", [1, 4], INT8, scale=(0.25, 2)),
    ]
    model = model_of(tflite(tensors, [Node(ADD, [0, 0], [1]), Node(ADD, [1, 1], [2])], [0], [2]), "m.tflite")
    b = Builder()
    x = b.input(types.i8, (1, 4))
    for _ in range(3):
        x = b.op("BITWISE_NOT", x)
    b.output(x)
    graph = b.graph()
    for operator, place in zip(graph.main.operators, ("inside", "inside", "y"), strict=True):
        operator.location = Location(name=f'loc("{place}"("m":0:0))')
    inner, last = (operator.outputs[0] for operator in graph.main.operators[:2])
    mend(graph, model)
    assert graph.main.tensors[inner].quant is None
    assert graph.main.tensors[last].quant == QParams((0.25,), (2,))
    assert run_pipeline(graph).main.operators[1].outputs == ["inside"]


def test_an_output_that_is_an_input_has_a_name_of_its_own() -> None:
    tensors = [Held("x", [2]), Held("y", [2]), Held("z", [2])]
    model = model_of(tflite(tensors, [], [0], [1, 2]), "m.tflite")
    b = Builder()
    x = b.input(types.fp32, (2,))
    b.output(x)
    graph = b.graph()
    graph.main.outputs *= 2
    mend(graph, model)
    assert (graph.main.inputs, graph.main.outputs) == (["x"], ["y", "z"])
    assert oracle.run(graph, {"x": np.float32([1, 2])})["z"].tolist() == [1, 2]
