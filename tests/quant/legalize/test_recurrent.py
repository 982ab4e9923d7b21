"""Recurrent layers in int8: what makes the state has int16 unless a rule says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from quant_tools import Floats, quality

from quant import LayerRule
from quant.legalize.quantize import prepared
from quant.legalize.recurrent import find
from quant.legalize.wider import usual
from tosa_engine.graph import Location

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

RNG = np.random.default_rng(7)
STEPS, WIDTH = 6, 8
WEIGHTS = RNG.normal(0, 0.5, size=(STEPS, WIDTH, 1, 1, WIDTH)).astype(np.float32)
HEAD = RNG.normal(size=(3, 1, 1, WIDTH)).astype(np.float32)
SAMPLES = [{"x": RNG.normal(size=(1, 1, 1, WIDTH)).astype(np.float32)} for _ in range(12)]
TOLD = (
    "recurrent layers add up what each step rounds: int16 for sum0, new0, part0 and 27 more (--layer sum0=int8: int8)"
)


def network(shared: bool = True) -> Graph:
    """A step moves the state to tanh(state * weights + x), by an eighth; its weights are the first one's or its own."""
    f = Floats()
    much, little = (f.const(np.full((1, 1, 1, 1), part, np.float32)) for part in (0.875, 0.125))
    x = state = f.input((1, 1, 1, WIDTH))
    for step in range(STEPS):
        weights = WEIGHTS[0 if shared else step]
        y = f.conv(state, weights, np.zeros(WIDTH, np.float32), name=f"product{step}")
        y = f.op("ADD", [y, x], name=f"sum{step}")
        new = f.op("MUL", [f.op("TANH", [y], name=f"new{step}"), little], name=f"part{step}")
        state = f.op("ADD", [f.op("MUL", [state, much], name=f"kept{step}"), new], name=f"state{step}")
    return f.outputs(f.conv(state, HEAD, np.zeros(3, np.float32), name="y"))


def test_what_makes_the_state_has_int16_by_default() -> None:
    wide, notes = quality(network(), SAMPLES)
    narrow, _ = quality(network(), SAMPLES, LayerRule("*", "int8"))
    assert wide > narrow + 3
    assert notes[1:] == [TOLD]


def test_weights_that_are_used_once_make_no_state() -> None:
    assert find(prepared(network(shared=False)).main) == []


def test_averages_of_one_size_make_no_state() -> None:
    """Equal values add up; that two sums have the same ones says nothing."""
    graph = prepared(network())
    for tensor in graph.main.tensors.values():
        if tensor.data is not None and tensor.data.size == WEIGHTS[0].size:
            tensor.data = np.full_like(tensor.data, 0.25)
    assert find(graph.main) == []


def test_weights_of_four_bits_stay() -> None:
    """In a model whose recurrent layer is one operation, products and states have one name."""
    graph = prepared(network())
    for op in graph.main.operators:
        if op.op in ("CONV2D", "ADD", "MUL", "TANH"):
            op.location = Location(name="gru")
    assert usual(graph) == {"gru": "int16"}
    assert usual(graph, 4) == {}
