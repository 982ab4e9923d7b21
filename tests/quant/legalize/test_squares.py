"""Squares that are added up keep their bits: magnitudes of a spectrum, logarithms of its power, deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_examples import quality, quantized
from quant_tools import Floats

from quant.legalize import squares
from tosa_engine import oracle
from tosa_engine.qparams.arrays import quantize_array

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

LOUD, QUIET = np.float32([3.0, -4.0]), np.float32([0.03, -0.04])


def magnitude(function: str) -> Graph:
    f = Floats()
    re, im = f.input((2, 16), name="re"), f.input((2, 16), name="im")
    power = f.op("ADD", [f.op("MUL", [re, re], name="re2"), f.op("MUL", [im, im], name="im2")], name="power")
    if function == "sqrt":
        return f.outputs(f.op("RECIPROCAL", [f.op("RSQRT", [power])], name="y"))
    return f.outputs(f.op("LOG", [f.op("ADD", [power, f.const([[1e-6]])])], name="y"))


def samples(*reaches: float) -> list[dict[str, np.ndarray]]:
    turn = np.linspace(0, 6, 32, dtype=np.float32).reshape(2, 16)
    return [{"re": np.float32(r) * np.cos(turn), "im": np.float32(r) * np.sin(turn)} for r in reaches]


@pytest.mark.parametrize(
    ("function", "bits", "least"), [("sqrt", 16, 50), ("sqrt", 8, 22), ("log", 16, 60), ("log", 8, 22)]
)
def test_what_is_quiet_next_to_the_largest(function: str, bits: int, least: float) -> None:
    graph = magnitude(function)
    integer = quantized(graph, samples(5.0, 0.05), bits)
    assert quality(graph, integer, samples(0.05 if bits == 16 else 0.3))["y"] > least


def test_silence_is_silent() -> None:
    graph = magnitude("sqrt")
    integer = quantized(graph, samples(5.0, 0.0), 16)
    feeds = {t.name: quantize_array(np.zeros((2, 16), np.float32), t.quant) for t in integer.inputs if t.quant}
    assert not oracle.run(integer, feeds)["y"].any()


def test_squares_are_found() -> None:
    graph = magnitude("sqrt")
    found = squares.find(graph.main)
    assert found == {"re2", "im2"}
    assert squares.ends(graph.main, found) == {"power"}


def test_a_square_that_others_read_is_none() -> None:
    f = Floats()
    x = f.input((2, 16))
    square = f.op("MUL", [x, x], name="square")
    total = f.op("REDUCE_SUM", [square], name="sum", axis=1)
    assert squares.find(f.outputs(f.op("SUB", [square, total], name="y")).main) == frozenset()


def test_deviations_of_small_numbers() -> None:
    """sqrt(mean(x^2)) of rows of which one is a hundred times as large as the other."""
    f = Floats()
    x = f.input((2, 64))
    mean = f.composite("mean", f.op("MUL", [x, x], name="square"), axes=(1,))
    graph = f.outputs(f.op("RECIPROCAL", [f.op("RSQRT", [mean])], name="y"))
    row = np.random.default_rng(0).normal(size=64).astype(np.float32)
    feeds = [{"x": np.stack([row, row / 100])}]
    integer = quantized(graph, feeds, 16)
    quiet = [{"x": np.stack([row / 100, row / 100])}]
    assert quality(graph, integer, quiet)["y"] > 40
