"""fp16, bf16 and fp8 through float32 in compiled loops: each value both ways, ties, and steps that stay compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.kernels import work
from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels.floats import through_float32 as floats
from tosa_engine.numerics.float_formats import round_to
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

HALVES = (types.fp16, types.bf16)
NARROW = (*HALVES, types.fp8e4m3, types.fp8e5m2)


def every(dtype: DType) -> Array:
    """Every value of a format."""
    return np.arange(1 << dtype.bits, dtype=f"u{dtype.storage.itemsize}").view(dtype.storage)


def same(found: Array, wanted: Array) -> None:
    """The same bits, but for those of NaN."""
    nan = np.isnan(wanted.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan)
    np.testing.assert_array_equal(work.bits(found)[~nan], work.bits(wanted)[~nan])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_widening_is_exact(dtype: DType) -> None:
    values = every(dtype)
    found = np.zeros(values.size, np.float32)
    loop, units = floats.converted(values, found)
    assert loop(0, units, ()) == work.DONE
    same(found, values.astype(np.float32))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
def test_narrowing_rounds_to_nearest_even(dtype: DType) -> None:
    values = every(dtype).astype(np.float32)
    values = np.sort(values[np.isfinite(values)])
    ties = ((values[1:].astype(np.float64) + values[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(ties, np.float32(end)) for end in (-np.inf, np.inf)]
    random = np.random.default_rng(3).integers(0, 1 << 32, 100_000, dtype=np.uint32).view(np.float32)
    corners = np.float32([65519.996, 65520.0, -65520.0, 3.4e38, np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, -1e-45])
    source = np.concatenate([values, ties, *beside, random, corners])
    target = np.zeros(source.size, dtype.storage)
    loop, units = floats.converted(source, target)
    assert loop(0, units, ()) == work.DONE
    same(target, round_to(source, dtype))


def net(dtype: DType) -> tuple[Graph, Array]:
    rng, b = np.random.default_rng(7), Builder()
    x = b.input(dtype, (1, 12, 13, 16), "x")
    settings = {"stride": (1, 1), "dilation": (1, 1), "local_bound": False, "acc_type": types.fp32}
    weight, bias = (rng.standard_normal(shape).astype(dtype.storage) for shape in ((20, 3, 3, 16), (20,)))
    y = b.op("CONV2D", x, b.const(weight), b.const(bias), 0, 0, pad=(1, 1, 1, 1), **settings)
    weight = rng.standard_normal((3, 3, 20, 1)).astype(dtype.storage)
    y = b.op("DEPTHWISE_CONV2D", y, b.const(weight), b.const(bias), 0, 0, pad=(1, 1, 1, 1), **settings)
    b.output(b.op("MAX_POOL2D", y, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 1), nan_mode="PROPAGATE"))
    return b.graph(), rng.standard_normal((1, 12, 13, 16)).astype(dtype.storage)


@pytest.mark.skipif(not JIT, reason="nothing is compiled without the JIT")
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_network_stays_compiled_and_threads_dont_change_a_bit(dtype: DType) -> None:
    graph, values = net(dtype)
    session = Session(graph, 1)
    (one,) = session.run(None, {"x": values})
    (three,) = Session(graph, 3).run(None, {"x": values})
    np.testing.assert_array_equal(work.bits(one), work.bits(three))
    workspace = session._planner.prepared(frozenset()).borrow(1).main
    assert len(workspace.program.parts) == 1, "a walk without Python"
    (checked,) = Session(graph, 1, checked=True).run(None, {"x": values})
    np.testing.assert_array_equal(work.bits(one), work.bits(checked))
