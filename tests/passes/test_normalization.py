"""Normalisation of an input goes into the weights of the layers that read it, where that is the same function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from quant_tools import Floats, operators

from tosa_engine import check, oracle, types
from tosa_engine.graph import Graph, QParams
from tosa_engine.passes import normalization

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(5)
GAIN, OFFSET = RNG.uniform(0.5, 2, 4).astype(np.float32), RNG.normal(size=4).astype(np.float32)
WEIGHTS = {"CONV2D": (6, 3, 3, 4), "DEPTHWISE_CONV2D": (3, 3, 4, 2), "MATMUL": (1, 4, 5)}


def normal(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def layer(f: Floats, x: str, op: str = "CONV2D", pad: int = 0) -> str:
    if op == "MATMUL":
        return f.op(op, [x, f.const(normal(*WEIGHTS[op]))], name="y", acc_type=types.fp32)
    return f.conv(x, normal(*WEIGHTS[op]), normal(6 if op == "CONV2D" else 8), op=op, pad=(pad,) * 4)


def normalised(f: Floats, x: str, steps: str, shape: tuple[int, ...] = (1, 1, 1, 4)) -> str:
    """`steps`: * gain, + offset, - offset, or ~ for offset - x."""
    for step in steps:
        constant = f.const((GAIN if step == "*" else OFFSET).reshape(shape))
        op = {"*": "MUL", "+": "ADD"}.get(step, "SUB")
        x = f.op(op, [constant, x] if step == "~" else [x, constant])
    return x


def same(graph: Graph, left: list[str]) -> Graph:
    """The folded graph has these operators, is legal and computes the same; the graph itself isn't changed."""
    before = operators(graph)
    folded = normalization.run(graph)
    assert operators(folded) == left
    assert operators(graph) == before
    check.validate(folded)
    feeds = {tensor.name: normal(*(tensor.shape or ())) for tensor in graph.inputs}
    wanted, found = oracle.run(graph, feeds), oracle.run(folded, feeds)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-6 * np.abs(values).max())
    return folded


@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D"])
@pytest.mark.parametrize("steps", ["-*", "*+", "+", "~", "*", "*-*+"])
def test_without_padding_all_of_it_goes_into_weights_and_bias(op: str, steps: str) -> None:
    f = Floats()
    x = f.input((2, 5, 5, 4))
    same(f.outputs(layer(f, normalised(f, x, steps), op)), [op])


@pytest.mark.parametrize(
    ("op", "steps", "left"),
    [
        ("CONV2D", "*", ["CONV2D"]),
        ("CONV2D", "-*", ["ADD", "CONV2D"]),
        ("DEPTHWISE_CONV2D", "*+", ["ADD", "DEPTHWISE_CONV2D"]),
        ("CONV2D", "-", ["SUB", "CONV2D"]),
    ],
)
def test_with_padding_the_offset_stays_before_the_layer(op: str, steps: str, left: list[str]) -> None:
    f = Floats()
    x = f.input((1, 5, 5, 4))
    same(f.outputs(layer(f, normalised(f, x, steps), op, pad=1)), left)


@pytest.mark.parametrize(("steps", "left"), [("*", ["MATMUL"]), ("*+", ["ADD", "MATMUL"]), ("+", ["ADD", "MATMUL"])])
def test_a_matmul_by_constants_takes_the_scale(steps: str, left: list[str]) -> None:
    f = Floats()
    x = f.input((1, 3, 4))
    same(f.outputs(layer(f, normalised(f, x, steps, (1, 1, 4)), "MATMUL")), left)


def test_moves_may_come_before_between_and_behind() -> None:
    f = Floats()
    x = f.op("TRANSPOSE", [f.input((1, 5, 4, 5))], perms=(0, 2, 1, 3))
    y = f.op("RESHAPE", [normalised(f, x, "-", (1, 4, 1, 1)), f.const((1, 4, 25), dtype=types.shape)])
    y = f.op("TRANSPOSE", [normalised(f, y, "*", (1, 4, 1))], perms=(0, 2, 1), name="moved")
    y = f.op("RESHAPE", [y, f.const((1, 5, 5, 4), dtype=types.shape)])
    folded = same(f.outputs(layer(f, y)), ["TRANSPOSE", "RESHAPE", "TRANSPOSE", "RESHAPE", "CONV2D"])
    assert "moved" not in folded.main.tensors  # it is another value


def test_a_reshape_that_mixes_channels_keeps_it() -> None:
    f = Floats()
    y = normalised(f, f.input((1, 4, 5, 4)), "*")
    y = f.op("RESHAPE", [y, f.const((1, 5, 4, 4), dtype=types.shape)])
    same(f.outputs(layer(f, y)), ["RESHAPE", "CONV2D"])
    f = Floats()
    y = normalised(f, f.input((1, 5, 4, 4)), "*")
    y = f.op("RESHAPE", [y, f.const((1, 4, 5, 4), dtype=types.shape)])
    y = f.op("TRANSPOSE", [y], perms=(0, 2, 3, 1))
    same(f.outputs(layer(f, y)), ["MUL", "RESHAPE", "TRANSPOSE", "CONV2D"])


def test_groups_are_layers_that_each_take_in_their_part() -> None:
    f = Floats()
    y, parts = normalised(f, f.input((1, 5, 5, 4)), "-*"), []
    for start in (0, 2):
        ends = (f.const((0, 0, 0, start), dtype=types.shape), f.const((1, 5, 5, 2), dtype=types.shape))
        parts.append(f.conv(f.op("SLICE", [y, *ends]), normal(3, 3, 3, 2), normal(3)))
    same(f.outputs(f.op("CONCAT", parts, axis=3)), ["SLICE", "CONV2D", "SLICE", "CONV2D", "CONCAT"])


def test_what_anybody_else_reads_stays() -> None:
    f = Floats()
    y = normalised(f, f.input((1, 5, 5, 4)), "-*")
    same(f.outputs(layer(f, y), f.op("ABS", [y])), ["SUB", "MUL", "CONV2D", "ABS"])
    f = Floats()
    y = normalised(f, f.input((1, 5, 5, 4)), "-*")
    same(f.outputs(layer(f, y), y), ["SUB", "MUL", "CONV2D"])


def test_factors_of_zero_stay_where_the_offset_does_and_hints_stay() -> None:
    f = Floats()
    y = f.op("MUL", [f.input((1, 5, 5, 4)), f.const(np.array([0, 1, 1, 1]).reshape((1, 1, 1, 4)))])
    y = f.op("ADD", [y, f.const(OFFSET.reshape((1, 1, 1, 4)))])
    same(f.outputs(layer(f, y, pad=1)), ["MUL", "ADD", "CONV2D"])
    f = Floats()
    y = f.op("MUL", [f.input((1, 5, 5, 4)), f.const(GAIN.reshape((1, 1, 1, 4)))], QParams((0.1,), (0,)))
    same(f.outputs(layer(f, y)), ["MUL", "CONV2D"])
