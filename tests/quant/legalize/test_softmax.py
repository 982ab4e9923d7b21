"""Softmax in integers: within one step of the real function for every number of classes, and no REQUIRE in reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quant_tools import Floats, operators

from quant.legalize.quantize import quantize
from quant.legalize.rules_softmax import (
    FIRST_RANGE,
    R_UNIT,
    STEP_BITS,
    V_BITS,
    V_MOST,
    C,
    exponential_bits,
    reciprocal_table,
)
from quant.ranges import FIXED
from tosa_engine import oracle, types
from tosa_engine.errors import Unsupported
from tosa_engine.graph import Graph, QParams, Tensor


def integer_softmax(classes: int, scale: float, output: QParams = FIXED["softmax"]) -> Graph:
    f = Floats()
    y = f.composite("softmax", f.input((1, classes), QParams((scale,), (7,))), output, axis=1)
    return quantize(f.outputs(y))


def distance(graph: Graph, stored: np.ndarray) -> float:
    """The largest distance to the real softmax in LSB."""
    got = oracle.run(graph, {"x": stored})["softmax"]
    x, y = graph.inputs[0].quant, graph.outputs[0].quant
    assert x is not None
    assert y is not None
    e = np.exp((stored.astype(float) - stored.max()) * x.scale[0])
    exact = e / e.sum() / y.scale[0] + y.zero_point[0]
    return float(np.abs(got - np.clip(exact, -128, 127)).max())


def inputs(classes: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Random, one winner, a few winners, all equal, two levels that crowd the tail."""
    flat = np.full((1, classes), -100, np.int8)
    one, few, tail = flat.copy(), flat.copy(), flat.copy()
    one[0, 0] = 127
    few[0, : max(1, classes // 17)] = 30
    tail[0, 0] = int(rng.integers(-100, 127))
    return [rng.integers(-128, 128, (1, classes)).astype(np.int8), flat, one, few, tail]


@pytest.mark.parametrize("classes", [1, 2, 3, 10, 15, 16, 25, 26, 64, 499, 501, 1000])
@pytest.mark.parametrize("scale", [0.001, 0.02, 0.05, 0.1, 0.3, 5.0])
def test_within_three_quarters_of_a_step(classes: int, scale: float) -> None:
    graph = integer_softmax(classes, scale)
    rng = np.random.default_rng(classes)
    assert max(distance(graph, x) for x in inputs(classes, rng)) <= 0.76


def test_4096_classes_within_one_step() -> None:
    rng = np.random.default_rng(1)
    for scale in (0.02, 0.05, 0.1):
        graph = integer_softmax(4096, scale)
        assert max(distance(graph, x) for x in inputs(4096, rng)) <= 1.1


@settings(max_examples=60)
@given(st.integers(2, 40), st.floats(1e-3, 2.0), st.integers(0, 2**32 - 1))
def test_random_sizes_and_scales(classes: int, scale: float, seed: int) -> None:
    stored = np.random.default_rng(seed).integers(-128, 128, (1, classes)).astype(np.int8)
    assert distance(integer_softmax(classes, scale), stored) <= 0.76


def test_other_output_parameters() -> None:
    graph = integer_softmax(10, 0.1, QParams((1 / 200,), (-90,)))
    rng = np.random.default_rng(2)
    assert max(distance(graph, x) for x in inputs(10, rng)) <= 0.76


@pytest.mark.parametrize("axis", [1, 2])
def test_any_axis(axis: int) -> None:
    f = Floats()
    y = f.composite("softmax", f.input((2, 5, 6), QParams((0.1,), (0,))), FIXED["softmax"], axis=axis)
    graph = quantize(f.outputs(y))
    stored = np.random.default_rng(3).integers(-128, 128, (2, 5, 6)).astype(np.int8)
    e = np.exp(stored * 0.1)
    exact = e / e.sum(axis=axis, keepdims=True) * 256 - 128
    assert np.abs(oracle.run(graph, {"x": stored})["softmax"] - np.clip(exact, -128, 127)).max() <= 0.76


def test_only_int8_tables_and_int32_arithmetic() -> None:
    """The 16-bit TABLE would need EXT-INT16; everything here is PRO-INT."""
    graph = integer_softmax(10, 0.1)
    assert set(operators(graph)) == {"REDUCE_MAX", "RESCALE", "SUB", "TABLE", "ADD", "REDUCE_SUM", "MUL"}
    assert operators(graph).count("TABLE") == 3
    assert operators(integer_softmax(1000, 0.1)).count("TABLE") == 5


def test_the_reciprocal_for_every_sum() -> None:
    """The steps of the rule in plain integers, for every value of v: no intermediate leaves int32, and the result is
    within 0.13 steps of 1/256, or, where all results are below one step, rounds to what it must be."""
    one = R_UNIT << V_BITS
    table = reciprocal_table() + 128
    for start in range(1, V_MOST, 50):
        v = np.arange(start << V_BITS, min(start + 50, V_MOST) << V_BITS, dtype=np.int64)
        half = 1 << (V_BITS - 1)
        fine = table[np.minimum((v * FIRST_RANGE + half) >> V_BITS, 255)]
        coarse = table[np.minimum((v + half) >> V_BITS, 255)]
        r0 = fine * coarse
        product = v * r0
        step = int(C * one) - product
        assert product.max() < 2**31
        assert step.min() >= 0
        short = np.floor(step * 2.0**STEP_BITS / one + 0.5).astype(np.int64)
        r = r0 * short
        assert r.max() <= (R_UNIT << STEP_BITS) * 1.01 < 2**31
        error = r / float(R_UNIT << STEP_BITS) - 2.0**V_BITS / v
        assert start > 200 or np.abs(error).max() * 256 <= 0.13
        rounded = np.floor(256 * (r / float(R_UNIT << STEP_BITS)) + 0.5)
        assert np.abs(rounded - 256 * 2.0**V_BITS / v).max() <= 0.7


@given(st.integers(1, 65536))
def test_the_sum_of_exponentials_fits(classes: int) -> None:
    bits = exponential_bits(classes)
    assert classes * ((1 << bits) - 1) < 2**31
    assert bits >= 15


def test_more_classes_than_that_are_refused() -> None:
    with pytest.raises(Unsupported, match="softmax over 65537 classes, at most 65536"):
        integer_softmax(65537, 0.1)


def masked(classes: int, bits: int, *, constant: bool, side: int) -> Graph:
    """softmax(select(m, x, -infinity)), or with the sides of the SELECT changed."""
    f = Floats()
    x = f.input((3, classes), QParams((20 / 2**bits,), (0,), bits=bits))
    condition = KEPT[:, :classes] ^ bool(side)
    if constant:
        mask = f.const(condition, dtype=types.bool_)
    else:
        f.block.add(Tensor("m", types.bool_, (3, classes)))
        f.block.inputs.append("m")
        mask = "m"
    values = [x, f.const([[-np.inf]])]
    chosen = f.op("SELECT", [mask, *(values[::-1] if side else values)], QParams((20 / 2**bits,), (0,), bits=bits))
    output = FIXED["softmax"] if bits == 8 else QParams((2.0**-15,), (0,), bits=16)
    return quantize(f.outputs(f.composite("softmax", chosen, output, axis=1)))


KEPT = np.arange(90).reshape(3, 30) % 7 < 3


@pytest.mark.parametrize("classes", [5, 30])
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("side", [0, 1])
def test_what_a_mask_leaves_out_is_nothing(classes: int, bits: int, constant: bool, side: int) -> None:
    """The values left out are the largest, and the rest is as exact as without them."""
    graph = masked(classes, bits, constant=constant, side=side)
    kept = KEPT[:, :classes]
    rng, most = np.random.default_rng(classes), 2 ** (bits - 1) - 1
    stored = np.where(kept, rng.integers(-most, most // 2, kept.shape), most).astype(f"int{bits}")
    feeds = {"x": stored} if constant else {"x": stored, "m": kept ^ bool(side)}
    y = graph.outputs[0].quant
    assert y is not None
    got = (oracle.run(graph, feeds)["softmax"].astype(float) - y.zero_point[0]) * y.scale[0]
    e = np.where(kept, np.exp(np.where(kept, stored, -most).astype(float) * 20 / 2**bits), 0)
    exact = np.clip(e / e.sum(1, keepdims=True), 0, (most - y.zero_point[0]) * y.scale[0])
    assert np.abs(got - exact).max() <= (0.76 if bits == 8 else 4) * y.scale[0]
    assert (got[~kept] == 0).all()


@pytest.mark.parametrize("bits", [8, 16])
def test_a_row_of_which_a_mask_leaves_nothing_is_zero(bits: int) -> None:
    graph = masked(5, bits, constant=False, side=0)
    y = graph.outputs[0].quant
    assert y is not None
    mask = np.array([[True] * 5, [False] * 5, [True, False, True, False, True]])
    stored = np.arange(15).reshape(3, 5).astype(f"int{bits}")
    got = oracle.run(graph, {"x": stored, "m": mask})["softmax"]
    assert (got[1] == y.zero_point[0]).all()
    assert (got[0] > y.zero_point[0]).all()
