"""Layers that stay in float: what crosses the borders, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from quant_tools import Floats, calibrated, operators, real, small_network

from quant.legalize.quantize import prepared, quantize
from tosa_engine import oracle, types
from tosa_engine.check import check
from tosa_engine.graph import Composite, Graph, QParams
from tosa_engine.qparams.arrays import quantize_array
from tosa_engine.target import Target

QUANT = QParams((0.03,), (-5,))


def everything(graph: Graph) -> list[str]:
    block = prepared(graph).main
    return [*block.inputs, *(name for op in block.operators for name in op.outputs)]


def fed(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(1, 6, 6, 3)).astype(np.float32)


def test_a_network_whose_every_layer_stays_float_is_the_float_network() -> None:
    graph = small_network()
    mixed = quantize(graph, floats=everything(graph))
    assert not [op for op in mixed.main.operators if isinstance(op, Composite) or op.op in ("CAST", "RESCALE")]
    x = fed()
    np.testing.assert_array_equal(oracle.run(mixed, {"x": x})["softmax"], oracle.run(graph, {"x": x})["softmax"])


def test_one_float_layer_gets_real_numbers_and_its_readers_get_integers() -> None:
    graph = small_network()
    float_block = graph.main
    layer = next(op for op in float_block.operators if op.op == "ADD")
    mixed = quantize(graph, floats=[*layer.outputs, *float_block.consumers()[layer.outputs[0]][0].outputs])
    assert operators(mixed).count("CAST") == 3  # two operands to float, one result back
    add = next(op for op in mixed.main.operators if op.op == "ADD" and op.outputs == layer.outputs)
    assert [mixed.main.tensors[name].dtype for name in (*add.inputs, *add.outputs)] == [types.fp32] * 3
    assert check(mixed, Target.parse(["PRO-INT", "PRO-FP"])) == []
    assert check(mixed, Target.parse(["PRO-INT"]))
    kinds = {t.dtype for t in quantize(graph).main.tensors.values()}
    assert not [t for t in kinds if t.is_float]  # and without a name nothing does


@pytest.mark.parametrize("bits", [8, 16])
def test_what_crosses_the_border_is_rounded_once(bits: int) -> None:
    """int -> float -> int: the real numbers of the stored integers, and the integers nearest to the results."""
    zero_point = 0 if bits == 16 else -9
    wide = QParams((0.05,), (zero_point,), bits, symmetric=bits == 16)
    f = Floats()
    x = f.input((1, 64), wide)
    y = f.op("EXP", [x], QParams((0.02,), (-zero_point,), bits, symmetric=bits == 16), name="y")
    z = f.op("ABS", [y], QParams((0.02,), (0,)), name="z")
    mixed = quantize(f.outputs(z), floats=["y"])
    assert operators(mixed)[0] == "CAST"
    stored = np.arange(-32, 32).reshape(1, 64).astype(np.int8 if bits == 8 else np.int16)
    exact = np.exp(real(stored, wide).astype(np.float64))
    between = quantize_array(exact, QParams((0.02,), (-zero_point,), bits, symmetric=bits == 16))
    expected = quantize_array(real(between, QParams((0.02,), (-zero_point,), bits)), QParams((0.02,), (0,)))
    got = oracle.run(mixed, {"x": stored})["z"]
    assert np.abs(got.astype(int) - expected).max() <= (0 if bits == 8 else 1)


def test_an_accumulator_reaches_a_float_layer_without_a_rounding() -> None:
    """A convolution without QParams of its own, read by an ADD of two tensors in float."""
    rng = np.random.default_rng(0)
    weight = (rng.integers(-127, 128, (4, 1, 1, 3)) / np.array([127, 254, 508, 1016])[:, None, None, None]).astype("f4")
    weight[:, 0, 0, 0] = 127 / np.array([127, 254, 508, 1016])  # each channel has a scale of its own, a power of 2
    f = Floats()
    x = f.input((1, 2, 2, 3), QParams((0.25,), (3,)))
    a = f.conv(x, weight, np.zeros(4, np.float32))
    y = f.op("ADD", [a, f.const(np.full((1, 1, 1, 4), 0.5))], name="y")
    graph = f.outputs(y)
    mixed = quantize(graph, floats=["y"])
    assert "RESCALE" not in operators(mixed)
    stored = rng.integers(-128, 128, (1, 2, 2, 3)).astype(np.int8)
    wanted = oracle.run(graph, {"x": real(stored, QParams((0.25,), (3,)))})["y"]
    np.testing.assert_allclose(oracle.run(mixed, {"x": stored})["y"], wanted, rtol=1e-6)


def test_float_inputs_outputs_truths_and_chains() -> None:
    """A float graph input; a comparison in float that an integer SELECT reads; a TABLE that ends before a float ABS."""
    f = Floats()
    x = f.input((1, 4), QParams((2 / 127,), (0,)))
    a = f.op("EXP", [x], name="a")
    b = f.op("ABS", [a], name="b")
    c = f.op("GREATER", [b, f.const([[1.0]])], name="c", dtype=types.bool_)
    d = f.op("SELECT", [c, x, b], name="d")
    graph = f.outputs(d)
    feeds = {"x": np.array([[-1.0, 0.5, 0.25, 2.0]], np.float32)}
    calibrated(graph, [feeds])
    mixed = quantize(graph, floats=["b", "c"])
    assert [op for op in operators(mixed) if op in ("TABLE", "ABS", "GREATER", "SELECT")] == [
        "TABLE", "ABS", "GREATER", "SELECT",
    ]  # fmt: skip
    mixed = quantize(graph, floats=["x", "a", "b", "c", "d"])
    assert (mixed.inputs[0].dtype, mixed.outputs[0].dtype) == (types.fp32, types.fp32)
    wanted = oracle.run(graph, feeds)["d"]
    np.testing.assert_array_equal(oracle.run(mixed, feeds)["d"], wanted)
    mixed = quantize(graph, floats=["x", "a"])
    assert (mixed.inputs[0].dtype, mixed.outputs[0].dtype) == (types.fp32, types.i8)
    quant = mixed.outputs[0].quant
    assert quant is not None
    assert np.abs(real(oracle.run(mixed, feeds)["d"], quant) - wanted).max() < 0.04
