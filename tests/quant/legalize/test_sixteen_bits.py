"""What becomes int8 becomes int16, too: ranges at the ends, states of zeros, zero points, long sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_examples import EXAMPLES, load, quality, quantized, statistics_of
from quant_tools import Floats

from quant import Method, Scheme, attach, quantize
from quant.ranges import activation_qparams
from tosa_engine import oracle, types
from tosa_engine.graph import QParams
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

TINY, HUGE = np.float32(1e-6), np.float32(1e6)


def spread(a: Array) -> Array:
    """Values most of which are small next to the largest."""
    return a**9


# a document of tests/shared/quant_examples.py, and what becomes of its inputs
ENDS = {
    "a tiny addend next to zeros": ("add", TINY, 0),
    "a tiny difference": ("sub", TINY, 0),
    "a tiny factor and zeros": ("mul", TINY, 0),
    "the less of huge and zeros": ("min", 0, TINY),
    "tiny parts next to zeros": ("concat", TINY, 0),
    "a small part of a huge range": ("clamp", HUGE),
    "zeros times what spreads": ("matmul", 0, spread),
    "a quotient of zeros": ("div", 0, TINY),
}


@pytest.mark.parametrize("case", ENDS)
def test_ranges_at_the_ends(tmp_path: Path, case: str) -> None:
    name, *factors = ENDS[case]
    graph, samples = load(EXAMPLES[name], tmp_path / "m", np.random.default_rng(0))
    for sample in samples:
        for tensor, factor in zip(graph.inputs, factors, strict=True):
            array = sample[tensor.name]
            sample[tensor.name] = np.float32(factor(array) if callable(factor) else array * np.float32(factor))
    found = {bits: quality(graph, quantized(graph, samples, bits), samples)["y"] for bits in (8, 16)}
    assert found[16] >= found[8] or np.isnan([*found.values()]).all()


def test_a_state_that_begins_with_zeros() -> None:
    f = Floats()
    gate = f.op("SIGMOID", [f.input((1, 4))])
    kept = f.op("MUL", [gate, f.const(np.zeros((1, 4)))], name="kept")
    graph = f.outputs(f.op("ADD", [kept, gate], name="y"))
    samples = [{"x": np.float32([[-2, -1, 1, 2]])}]
    integer = quantized(graph, samples, 16)
    assert quality(graph, integer, samples)["y"] > 80


def test_what_follows_a_jump() -> None:
    f = Floats()
    x = f.input((6,))
    above = f.op("GREATER", [x, f.const([0.0])], dtype=types.bool_)
    sign = f.op("SELECT", [above, f.const([1.0]), f.const([-2.0])])
    graph = f.outputs(f.op("NEGATE", [sign], name="y"))
    samples = [{"x": np.float32([-3, -1, -0.1, 0.1, 1, 3])}]
    assert quality(graph, quantized(graph, samples, 16), samples)["y"] > 80


def test_calibrated_int16_has_no_zero_point_whatever_the_scheme_says() -> None:
    f = Floats()
    graph = f.outputs(f.op("ADD", [f.input((4,)), f.const([1.0])], name="y"))
    samples = [{"x": np.float32([0, 1, 2, 3])}]
    integer = quantize(attach(graph, statistics_of(graph, samples), Scheme(Method("minmax", bits=16))))
    assert [t.quant.zero_point for t in (*integer.inputs, *integer.outputs) if t.quant] == [(0,), (0,)]
    assert quality(graph, integer, samples)["y"] > 80


def test_the_range_of_a_symmetric_scheme_is_found_for_symmetric_integers() -> None:
    assert Scheme(Method("mse"), symmetric=True).method.symmetric
    assert not Scheme(Method("mse", symmetric=True)).method.symmetric


@pytest.mark.parametrize("quant", [QParams((0.001,), (-32768,), 16), QParams((0.001,), (0,), 16, signed=False)])
def test_given_zero_points_of_16_bits(quant: QParams) -> None:
    """Both reach from 0 to 65.535; what is below 0 saturates."""
    f = Floats()
    graph = f.outputs(f.op("SUB", [f.input((4,), quant), f.const([1.0])], quant, name="y"))
    integer = quantize(graph)
    (x,), (y,) = integer.inputs, integer.outputs
    assert x.quant == y.quant == QParams((0.002 * 32767.5 / 32767,), (0,), 16, symmetric=True)
    real = np.float32([-3, 0, 2, 65])
    found = dequantize_array(oracle.run(integer, {"x": quantize_array(real, x.quant)})["y"], y.quant)
    np.testing.assert_allclose(found, [0, 0, 1, 64], atol=0.003)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_mean_of_more_values_than_int32_sums_up(bits: int) -> None:
    rng, shape = np.random.default_rng(0), (512, 1024)
    f = Floats()
    quant = activation_qparams(-4, 4, bits=bits, symmetric=bits == 16)
    graph = f.outputs(f.composite("mean", f.input(shape, quant), quant, axes=(0, 1)))
    (name,) = graph.main.outputs
    stored = quantize_array(rng.uniform(1, 3, shape).astype(np.float32), quant)
    found = dequantize_array(oracle.run(quantize(graph), {"x": stored})[name], quant)
    assert abs(float(found.item()) - float(dequantize_array(stored, quant).mean())) <= quant.scale[0]


def pooled(own: QParams, pad: tuple[int, ...] = (1, 1, 1, 1)) -> Graph:
    f = Floats()
    x = f.input((1, 8, 8, 3), activation_qparams(-1, 3))
    kernel = {"kernel": (3, 3), "stride": (1, 1), "pad": pad}
    return f.outputs(f.op("AVG_POOL2D", [x], own, name="y", acc_type=types.fp32, **kernel))


@pytest.mark.parametrize("pad", [(1, 1, 1, 1), (0, 0, 0, 0), (0, 2, 1, 0)])
def test_means_at_finer_steps_are_rounded_once(pad: tuple[int, ...]) -> None:
    own = activation_qparams(0, 2)
    graph = pooled(own, pad)
    integer = quantize(graph)
    assert "AVG_POOL2D" not in {op.op for op in integer.main.operators}
    assert {t.dtype.name for t in integer.main.tensors.values()} <= {"i8", "i32"}
    stored = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 3)).astype(np.int8)
    x = graph.inputs[0].quant
    assert x is not None
    exact = oracle.run(graph, {"x": dequantize_array(stored, x).astype(np.float32)})["y"]
    steps = np.clip(exact / own.scale[0] + own.zero_point[0], -128, 127)
    assert np.abs(oracle.run(integer, {"x": stored})["y"] - steps).max() < 0.501


def test_means_at_the_steps_of_their_input_stay_a_pool() -> None:
    assert "AVG_POOL2D" in {op.op for op in quantize(pooled(activation_qparams(-1, 3))).main.operators}


def test_calibration_gives_means_finer_steps_where_they_have_them() -> None:
    rng = np.random.default_rng(0)
    samples = [{"x": rng.standard_normal((1, 8, 8, 3)).astype(np.float32)} for _ in range(2)]
    graph = pooled(None, (0, 0, 0, 0))  # type: ignore[arg-type]
    graph.main.tensors["x"].quant = None
    assert quality(graph, quantized(graph, samples, 8), samples)["y"] > 40
    assert "AVG_POOL2D" in {op.op for op in quantized(graph, samples, 16).main.operators}


def test_a_channel_that_is_its_bias_costs_the_others_nothing() -> None:
    """Weights next to nothing and a bias: its sum takes almost all of int48, those of the others don't."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3, 1, 1, 8)).astype(np.float32)
    weights[1] *= np.float32(1e-12)
    f = Floats()
    inputs = [f.input((1, 4, 4, 8)), f.const(weights), f.const([0.5, -4.0, 0.25]), f.const([0.0]), f.const([0.0])]
    attributes = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": types.fp32}
    graph = f.outputs(f.op("CONV2D", inputs, name="y", local_bound=False, **attributes))
    for tensor in graph.main.tensors.values():  # weights that int8 holds: only sums and scales count
        if tensor.data is not None and tensor.data.shape == weights.shape:
            steps = np.abs(weights).max(axis=(1, 2, 3), keepdims=True) / 127
            tensor.data = (np.rint(weights / steps) * steps).astype(np.float32)
    samples = [{"x": rng.normal(size=(1, 4, 4, 8)).astype(np.float32)}]
    assert quality(graph, quantized(graph, samples, 16), samples)["y"] > 75
