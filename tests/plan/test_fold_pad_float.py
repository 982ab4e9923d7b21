"""A PAD of floats becomes the `pad` of the window that reads it, where no bit depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from replay_tools import replay

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.plan import expand, make_plan

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

fp32, fp16, bf16 = types.fp32, types.fp16, types.bf16
SPECIALS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-38, -1e-38, 3e38, -3e38]
PADDING = [0, 0, 1, 2, 3, 0, 0, 0]
BIASES = np.array([0.0, 1e-30, -1e-3, -2.5, 1.0], np.float32)


def convolution(
    op: str = "CONV2D", dtype: DType = fp32, channels: int = 20, *, value: float = 0.0, weight: float = 1e-20,
    bias: float = 0.0, pad: tuple[int, ...] = (1, 0, 0, 1), clamp: bool = False,
) -> Graph:  # fmt: skip
    """A PAD in front of a convolution, some of whose weights and biases are those given."""
    b, rng = Builder(), np.random.default_rng(3)
    shape, padding = (1, 7, 6, channels), PADDING
    if op == "CONV3D":
        shape, padding, pad = (1, 2, 7, 6, channels), [0, 0, 1, 0, *PADDING[2:]], (0, 0, *pad)
    x = b.op("PAD", b.input(dtype, shape, "x"), padding, np.array([value], dtype.storage), output="padded")
    size = {"CONV2D": (17, 3, 3, channels), "DEPTHWISE_CONV2D": (3, 3, channels, 1), "CONV3D": (17, 2, 3, 3, channels)}[
        op
    ]
    weights, out = rng.standard_normal(size).astype(np.float32), channels if op.startswith("DEPTH") else 17
    weights[..., ::3] *= np.float32(1e-30) if dtype is fp32 else np.float32(1.0)
    weights.reshape(-1)[0] = weight
    biases = np.resize(BIASES, out)
    biases[0] = bias
    axes = 3 if op == "CONV3D" else 2
    y = b.op(
        op, x, b.const(weights.astype(dtype.storage)), b.const(biases.astype(dtype.storage)), 0, 0, pad=pad,
        stride=(1,) * axes, dilation=(1,) * axes, local_bound=False, output="y",
        **({} if dtype is fp32 else {"acc_type": fp32}),
    )  # fmt: skip
    if clamp:
        y = b.op("CLAMP", y, min_val=0.0, max_val=6.0, nan_mode="PROPAGATE", output="z")
    b.output(y)
    return b.graph()


def feeds(graph: Graph) -> dict[str, Array]:
    """Numbers of both signs, many so small that products vanish, and special ones in some places."""
    (x,) = graph.inputs
    assert x.shape is not None
    rng = np.random.default_rng(8)
    values = rng.standard_normal(x.shape).astype(np.float32) * rng.choice([1.0, 1e-30, -0.0], x.shape)
    values.reshape(-1)[rng.choice(values.size, 9, replace=False)] = SPECIALS
    with np.errstate(over="ignore"):
        return {x.name: values.astype(x.dtype.storage)}


def steps(graph: Graph, threads: int = 1) -> list[str]:
    """The operators of the plan, whose bytes are those of the unfused one."""
    return [step.operators for step in replay(graph, feeds(graph), threads)[0].steps]


@pytest.mark.parametrize("dtype", [fp32, fp16, bf16])
@pytest.mark.parametrize(("op", "channels"), [("CONV2D", 20), ("DEPTHWISE_CONV2D", 20), ("DEPTHWISE_CONV2D", 5)])
def test_a_convolution_pads_by_itself(op: str, channels: int, dtype: DType) -> None:
    assert steps(convolution(op, dtype, channels)) == [f"PAD+{op}"]
    assert steps(convolution(op, dtype, channels, clamp=True), 3) == [f"PAD+{op}+CLAMP"]


@pytest.mark.parametrize("value", [0.0, -0.0])
@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D", "CONV3D"])
def test_zeros_of_both_signs_are_padding(op: str, value: float) -> None:
    assert steps(convolution(op, value=value), 2) == [f"PAD+{op}"]


def test_kernel_positions_that_see_nothing_but_padding() -> None:
    """These are cut off before the convolution is prepared."""
    graph = convolution(pad=(3, 0, 0, 3))
    assert steps(graph) == ["PAD+CONV2D"]


@pytest.mark.parametrize("case", [{"value": 1.0}, {"weight": np.inf}, {"weight": np.nan}, {"bias": -0.0}])
@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D"])
def test_what_may_change_a_bit_stays_a_step(op: str, case: dict[str, Any]) -> None:
    assert steps(convolution(op, **case)) == ["PAD", op]


def test_a_padded_tensor_that_is_kept_stays_a_step() -> None:
    plan = make_plan(expand(convolution()), frozenset({"padded"}))
    assert [step.operators for step in plan.steps] == ["PAD", "CONV2D"]


@pytest.mark.parametrize(
    ("value", "nan_mode", "merges"),
    [(-np.inf, "PROPAGATE", True), (-np.inf, "IGNORE", False), (float(np.finfo(np.float32).min), "PROPAGATE", False)],
)
@pytest.mark.parametrize("dtype", [fp32, fp16])
def test_max_pool_leaves_out_padding_of_the_least_value(
    dtype: DType, value: float, nan_mode: str, merges: bool
) -> None:
    b = Builder()
    with np.errstate(over="ignore"):
        number = np.array([max(value, -6e4) if dtype is fp16 and np.isfinite(value) else value], dtype.storage)
    x = b.op("PAD", b.input(dtype, (1, 6, 5, 7), "x"), [0, 0, 1, 0, 0, 1, 0, 0], number)
    b.output(b.op("MAX_POOL2D", x, kernel=(2, 2), stride=(1, 1), pad=(0, 0, 0, 0), nan_mode=nan_mode))
    assert steps(b.graph()) == (["PAD+MAX_POOL2D"] if merges else ["PAD", "MAX_POOL2D"])
