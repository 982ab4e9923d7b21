"""A CLAMP behind sums of floats is a part of their step: the same bits as on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.probe import Probe
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

SPECIALS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38], np.float32)
OPERATORS = ("CONV2D", "pointwise", "DEPTHWISE_CONV2D", "MATMUL")


def net(op: str, low: float, high: float, nan_mode: str) -> tuple[Graph, Array]:
    """An operator and its CLAMP, and an input with special values."""
    rng, b = np.random.default_rng(5), Builder()
    x = b.input(types.fp32, (1, 6, 7, 20), "x")
    if op == "MATMUL":
        weight = b.const(rng.standard_normal((1, 20, 21)).astype(np.float32))
        y = b.op("MATMUL", b.op("RESHAPE", x, [1, 42, 20]), weight, 0, 0, output="y")
    else:
        depthwise = op == "DEPTHWISE_CONV2D"
        kernel = 1 if op == "pointwise" else 3
        shape = (3, 3, 20, 1) if depthwise else (21, kernel, kernel, 20)
        weight, bias = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(20 if depthwise else 21)
        y = b.op(
            op if depthwise else "CONV2D", x, b.const(weight), b.const(bias.astype(np.float32)), 0, 0,
            pad=(kernel // 2,) * 4, stride=(1, 1), dilation=(1, 1), local_bound=False, output="y",
        )  # fmt: skip
    b.output(b.op("CLAMP", y, min_val=low, max_val=high, nan_mode=nan_mode, output="z"))
    values = rng.standard_normal((1, 6, 7, 20)).astype(np.float32)
    values.reshape(-1)[rng.choice(values.size, 40, replace=False)] = np.resize(SPECIALS, 40)
    values[0, 0, 0] = 0.0  # and whole pixels of zeros of both signs
    values[0, 0, 1] = -0.0
    return b.graph(), values


def run(graph: Graph, feeds: dict[str, Array], probes: list[Any]) -> Array:
    (found,) = Session(graph, 1).run(None, feeds, probes)
    return found.view(np.uint32)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(("low", "high"), [(0.0, 6.0), (-0.0, 1e-40), (-np.inf, 2.0), (-1.5, np.inf), (0.0, 0.0)])
@pytest.mark.filterwarnings("ignore:overflow")
def test_same_bits_fused_and_unfused(op: str, low: float, high: float) -> None:
    graph, values = net(op, low, high, "PROPAGATE")
    steps = [step.operators for step in Session(graph, 1).plan().steps]
    fused = any(name.endswith("+CLAMP") for name in steps)
    assert fused == (high != 0.0)
    probe = Probe(lambda *_: None, ["y"])  # which keeps the tensor in between
    apart, together = run(graph, {"x": values}, [probe]), run(graph, {"x": values}, [])
    np.testing.assert_array_equal(apart, together)


def test_a_clamp_that_ignores_nan_stays_on_its_own() -> None:
    graph, _ = net("CONV2D", 0.0, 6.0, "IGNORE")
    assert "CLAMP" in [step.operators for step in Session(graph, 1).plan().steps]


@pytest.mark.parametrize("op", OPERATORS)
def test_threads_dont_change_a_bit(op: str) -> None:
    graph, values = net(op, 0.0, 6.0, "PROPAGATE")
    one, three = (Session(graph, threads).run(None, {"x": values})[0] for threads in (1, 3))
    np.testing.assert_array_equal(one.view(np.uint32), three.view(np.uint32))
