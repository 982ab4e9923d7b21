"""CONV2D and DEPTHWISE_CONV2D of fp16 and bf16 widen and round in their loops: the same bits as by way of float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.kernels._jit import has, variants
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

NATIVE = list({v.lanes: v.name for v in variants.VARIANTS if has(*v.needs) and v.native}.values())
SPECIALS = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 6e-8, -6e-8, 7e4, -7e4, 3e38, -3e38]


def net(
    op: str, dtype: DType, size: tuple[int, int, int, int], out: int, kernel: int, step: int, dilation: int, clamp: bool
) -> Graph:
    """`out` are output channels, or outputs per channel."""
    b, rng = Builder(), np.random.default_rng(kernel)
    channels = size[3]

    def const(*shape: int) -> str:
        values = rng.standard_normal(shape).astype(np.float32) * rng.choice([1.0, 1e-3], shape)
        return b.const(values.astype(dtype.storage))

    around = dilation * (kernel - 1)
    pad = [around // 2, around - around // 2] * 2
    for axis in range(2):
        pad[2 * axis + 1] += -(size[1 + axis] - 1) % step  # strides come out even
    depthwise = op == "DEPTHWISE_CONV2D"
    weight = const(kernel, kernel, channels, out) if depthwise else const(out, kernel, kernel, channels)
    y = b.op(
        op, b.input(dtype, size, "x"), weight, const(channels * out if depthwise else out), 0, 0, pad=tuple(pad),
        stride=(step, step), dilation=(dilation, dilation), local_bound=False, acc_type=types.fp32, output="y",
    )  # fmt: skip
    if clamp:
        y = b.op("CLAMP", y, min_val=0.0, max_val=6.0, nan_mode="PROPAGATE", output="z")
    b.output(y)
    return b.graph()


def numbers(dtype: DType, size: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(size).astype(np.float32) * rng.choice([1.0, 1e-3, 1e-7, 0.0], size)
    count = min(len(SPECIALS), values.size // 20)
    values.reshape(-1)[rng.choice(values.size, count, replace=False)] = SPECIALS[:count]
    with np.errstate(over="ignore"):
        return values.astype(dtype.storage)


@pytest.mark.parametrize(
    "variant", [pytest.param(v, marks=[] if v == NATIVE[0] else pytest.mark.slow("another width")) for v in NATIVE]
)
@pytest.mark.parametrize(
    ("op", "dtype"), [
        ("CONV2D", types.fp16), ("DEPTHWISE_CONV2D", types.bf16),
        pytest.param("CONV2D", types.bf16, marks=pytest.mark.slow("the other format")),
        pytest.param("DEPTHWISE_CONV2D", types.fp16, marks=pytest.mark.slow("the other format")),
    ], ids=str,
)  # fmt: skip
def test_same_bits_as_by_way_of_float32(op: str, dtype: DType, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain loops, which have no narrow form, convert whole tensors."""
    sides, ints = st.integers(3, 9), st.integers(1, 3)

    @settings(max_examples=12)
    @given(
        st.tuples(st.integers(1, 2), sides, sides, st.sampled_from([1, 5, 16, 33, 70])),
        st.sampled_from([1, 2, 17, 40]),
        st.sampled_from([1, 2, 3, 5]), st.integers(1, 2), st.integers(1, 2), st.booleans(), ints,
    )  # fmt: skip
    @example((2, 5, 7, 40), 1, 3, 1, 1, True, 3)
    @example((1, 3, 3, 512), 40, 1, 1, 1, False, 1)
    @example((1, 1, 1, 40), 70, 1, 1, 1, True, 2)
    @example((2, 7, 9, 24), 33, 1, 1, 1, True, 2)
    def run(
        size: tuple[int, int, int, int], out: int, kernel: int, step: int, dilation: int, clamp: bool, threads: int
    ) -> None:
        outputs = out if op == "CONV2D" else min(out, 2)
        graph = net(op, dtype, size, outputs, kernel, step, dilation, clamp)
        feeds = {"x": numbers(dtype, size, out)}
        found = []
        for name in (variant, "generic"):
            monkeypatch.setenv("TOSA_ENGINE_KERNELS", name)
            found.append(Session(graph, threads).run(None, feeds)[0].tobytes())
        assert found[0] == found[1]

    run()


@pytest.mark.skipif(not NATIVE, reason="the host has no vector unit")
@pytest.mark.parametrize("dtype", [types.fp16, types.bf16], ids=str)
def test_every_value_is_read_and_every_rounding_done(dtype: DType) -> None:
    """A pointwise convolution of one channel multiplies all values of the format by all sorts of weights."""
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype.storage)
    b = Builder()
    weights = np.array([1.0, -1.0, 1.0078125, 0.3, 1e-3, 3e-7, 190.0, 6e4, 1.5], np.float32).astype(dtype.storage)
    for op, weight in (("CONV2D", weights.reshape(-1, 1, 1, 1)), ("DEPTHWISE_CONV2D", weights.reshape(1, 1, 1, -1))):
        b = Builder()
        x = b.input(dtype, (1, 256, 256, 1), "x")
        bias = b.const(np.zeros(weights.size, np.float32).astype(dtype.storage))
        b.output(b.op(op, x, b.const(weight), bias, 0, 0, pad=(0,) * 4, stride=(1, 1), dilation=(1, 1),
                      local_bound=False, acc_type=types.fp32))  # fmt: skip
        (found,) = Session(b.graph(), 1).run(None, {"x": every.reshape(1, 256, 256, 1)})
        with np.errstate(all="ignore"):
            products = every.astype(np.float32)[:, None] * weights.astype(np.float32) + np.float32(0.0)
            wanted = products.astype(dtype.storage)
        nan = np.isnan(products)
        found = found.reshape(wanted.shape)
        assert (np.isnan(found.astype(np.float32)) == nan).all()
        np.testing.assert_array_equal(found.view(np.uint16)[~nan], wanted.view(np.uint16)[~nan])
