"""A CLAMP behind fp16 and bf16, and behind elementwise operators of floats, is a part of the step before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_tools import replay

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.plan import expand, make_plan

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

fp32, fp16, bf16 = types.fp32, types.fp16, types.bf16
SPECIALS = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 6e-8, -6e-8, 7e4, -7e4, 3e38, -3e38]
SUMS = ("CONV2D", "DEPTHWISE_CONV2D", "MATMUL", "CONV3D", "TRANSPOSE_CONV2D", "AVG_POOL2D", "MAX_POOL2D")
ELEMENTWISE = ("ADD", "SUB", "MUL", "EXP", "ABS")
ROUNDED_LATER = 1.00390625  # between two numbers of bf16: limits are rounded first


def net(op: str, dtype: DType, low: float, high: float, nan_mode: str = "PROPAGATE") -> Graph:
    b, rng = Builder(), np.random.default_rng(4)
    shape = (1, 2, 6, 7, 20) if op == "CONV3D" else (1, 6, 7, 20)
    x = b.input(dtype, shape, "x")

    def const(*shape: int) -> str:
        return b.const(rng.standard_normal(shape).astype(np.float32).astype(dtype.storage))

    if op in ("ADD", "SUB"):
        y = b.op(op, x, const(1, 1, 1, 20), output="y")
    elif op == "MUL":
        y = b.op(op, x, const(1, 6, 7, 20), 0, output="y")
    elif op in ("EXP", "ABS"):
        y = b.op(op, x, output="y")
    elif op == "MATMUL":
        y = b.op(op, b.op("RESHAPE", x, [1, 42, 20]), const(1, 20, 21), 0, 0, dtype=fp32 if dtype is bf16 else dtype)
    elif op == "MAX_POOL2D":
        y = b.op(op, x, kernel=(2, 2), stride=(1, 1), pad=(0, 0, 0, 0), nan_mode="PROPAGATE")
    elif op == "AVG_POOL2D":
        y = b.op(op, x, 0, 0, kernel=(2, 2), stride=(1, 1), pad=(0, 0, 0, 0), acc_type=fp32)
    elif op == "TRANSPOSE_CONV2D":
        y = b.op(op, x, const(9, 2, 2, 20), const(9), 0, 0, out_pad=(0, 0, 0, 0), stride=(2, 2), local_bound=False,
                 acc_type=fp32)  # fmt: skip
    else:
        size = {"CONV2D": (21, 3, 3, 20), "DEPTHWISE_CONV2D": (3, 3, 20, 1), "CONV3D": (9, 2, 3, 3, 20)}[op]
        axes = 3 if op == "CONV3D" else 2
        y = b.op(
            op, x, const(*size), const(20 if op.startswith("DEPTH") else size[0]), 0, 0, pad=(1,) * 2 * axes,
            stride=(1,) * axes, dilation=(1,) * axes, local_bound=False, acc_type=fp32,
        )  # fmt: skip
    b.output(b.op("CLAMP", y, min_val=low, max_val=high, nan_mode=nan_mode, output="z"))
    return b.graph()


def feeds(graph: Graph, seed: int = 5) -> dict[str, Array]:
    (x,) = graph.inputs
    assert x.shape is not None
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(x.shape).astype(np.float32) * rng.choice([1.0, 1e-3, 1e-7], x.shape)
    values.reshape(-1)[rng.choice(values.size, 60, replace=False)] = np.resize(SPECIALS, 60)
    values[:, 0, 0], values[:, 0, 1] = 0.0, -0.0
    with np.errstate(over="ignore"):
        return {x.name: values.astype(x.dtype.storage)}


def steps(graph: Graph, seed: int = 5, threads: int = 1) -> list[str]:
    """The operators of the plan, whose bytes are those of the unfused one."""
    plan = replay(graph, feeds(graph, seed), threads)[0]
    return [step.operators for step in plan.steps if step.work is not None]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", [fp16, bf16])
@pytest.mark.parametrize("op", [*SUMS, *ELEMENTWISE])
def test_same_bits_fused_and_unfused(op: str, dtype: DType) -> None:
    numbers = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1e-40, 6e-8, 1.0, ROUNDED_LATER, 6.0, np.inf])

    @settings(max_examples=8)
    @given(st.tuples(numbers, numbers), st.integers(0, 99), st.integers(1, 3))
    def run(limits: tuple[float, float], seed: int, threads: int) -> None:
        low, high = sorted(limits)
        graph = net(op, dtype, low, high)
        found = steps(graph, seed, threads)
        with np.errstate(over="ignore"):
            rounded = float(np.asarray(high, dtype.storage))
        assert (found == [f"{op}+CLAMP"]) == (rounded != 0.0)

    run()


@pytest.mark.parametrize("op", ELEMENTWISE)
@pytest.mark.parametrize(("low", "high"), [(0.0, 6.0), (-0.0, 1e-40), (-np.inf, 2.0), (-1.5, np.inf)])
@pytest.mark.filterwarnings("ignore:overflow")
def test_elementwise_operators_of_fp32(op: str, low: float, high: float) -> None:
    assert steps(net(op, fp32, low, high)) == [f"{op}+CLAMP"]


@pytest.mark.parametrize("dtype", [fp32, fp16, bf16])
def test_what_is_kept_and_nan_that_is_ignored(dtype: DType) -> None:
    graph = net("ADD", dtype, 0.0, 6.0)
    plan = make_plan(expand(graph), frozenset({"y"}))
    assert [step.operators for step in plan.steps] == ["ADD", "CLAMP"]
    assert steps(net("ADD", dtype, 0.0, 6.0, "IGNORE")) == ["ADD", "CLAMP"]
