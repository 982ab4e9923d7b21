"""int48 accumulators that are scaled before they are stored: RESCALE and CLAMP behind int16 convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nets import Net
from vector_units import BEST

from tosa_engine import oracle
from tosa_engine.errors import RequireViolation
from tosa_engine.probe import Probe
from tosa_engine.runtime.session import Session
from tosa_engine.types import DType, i8, i16, i32, i48

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.types import Array, Shape

END = 1 << 47
# operator, input, weights, and how they go along
SHAPES: dict[str, tuple[str, Shape, Shape, dict[str, Any]]] = {
    "pointwise": ("CONV2D", (1, 5, 3, 24), (18, 1, 1, 24), {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}),
    "odd depth": ("CONV2D", (2, 5, 4, 3), (33, 3, 2, 3), {"pad": (1, 1, 0, 1), "stride": (2, 1), "dilation": (1, 2)}),
    "deep": ("CONV2D", (1, 2, 2, 700), (17, 2, 1, 700), {"pad": (1, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}),
    "windows": (
        "DEPTHWISE_CONV2D", (1, 6, 7, 9), (3, 3, 9, 2), {"pad": (1, 1, 1, 1), "stride": (1, 2), "dilation": (1, 1)}
    ),
    "wide windows": (
        "DEPTHWISE_CONV2D", (1, 18, 17, 17), (17, 17, 17, 1),
        {"pad": (0, 0, 0, 1), "stride": (1, 1), "dilation": (1, 1)},
    ),
    "volume": (
        "CONV3D", (1, 3, 4, 5, 6), (18, 2, 2, 3, 6),
        {"pad": (1, 0, 0, 0, 1, 1), "stride": (1, 2, 1), "dilation": (1, 1, 1)},
    ),
    "transposed": ("TRANSPOSE_CONV2D", (1, 4, 3, 7), (18, 3, 3, 7), {"out_pad": (0, 1, -1, 0), "stride": (2, 2)}),
}  # fmt: skip


def some(t: DType, shape: Shape, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    ends = np.array([t.minimum, t.minimum + 1, -1, 0, 1, t.maximum - 1, t.maximum])
    values = rng.integers(t.minimum, t.maximum + 1, shape)
    return np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), values).astype(t.storage)


def scaled(
    net: Net, name: str, source: str, to: DType, multiplier: Sequence[int], shift: Sequence[int], zero: int = 0
) -> str:
    constants = net.const(i16, multiplier), net.const(i8, shift), net.const(i48, [0]), net.const(to, [zero])
    return net.op(
        "RESCALE", name, to, source, *constants, scale32=False, rounding_mode="SINGLE_ROUND",
        per_channel=len(multiplier) > 1, input_unsigned=False, output_unsigned=False,
    )  # fmt: skip


def convolution(net: Net, case: str, bias: Array, weight: Array | None = None, weight_zp: int = 0) -> str:
    op, shape, size, attributes = SHAPES[case]
    values = some(i8, size, 1) if weight is None else weight
    constants = net.const(i8, values), net.const(i48, bias), net.const(i16, [0]), net.const(i8, [weight_zp])
    if op != "TRANSPOSE_CONV2D":
        attributes = {"local_bound": False} | attributes
    return net.op(op, "acc", i48, net.input("x", i16, *shape), *constants, acc_type=i48, **attributes)


def channels_of(case: str) -> int:
    op, _, size, _ = SHAPES[case]
    return size[2] * size[3] if op == "DEPTHWISE_CONV2D" else size[0]


def check(net: Net, output: str, fused: str, case: str, threads: int = 2) -> None:
    """The same as the oracle; where a RESCALE can't be proved, not fused, and the same verdict."""
    graph = net.done(output)
    feeds = {"x": some(i16, SHAPES[case][1], 7)}
    session = Session(graph, threads)
    found = [step.operators for step in session.plan().steps if step.work is not None]
    try:
        wanted = oracle.run(graph, feeds)[output]
    except RequireViolation as violation:
        assert found != [fused]
        with pytest.raises(type(violation)):
            session.run(None, feeds)
        return
    np.testing.assert_array_equal(session.run(None, feeds)[0], wanted)
    if fused:
        assert found == [fused]


BIAS = st.sampled_from([0, 1, -(1 << 31), 1 << 31, 5 << 34, END // 2, -END // 2])


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=[pytest.mark.slow("a dozen epilogues")] * (one != "windows")) for one in SHAPES]
)
def test_scales_of_every_kind(case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shifts small enough for results beyond int32 are seen not to be proved."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    channels = channels_of(case)

    @settings(max_examples=6)
    @given(
        st.sampled_from([i8, i16, i32]), st.integers(0, 32767), st.integers(2, 62), BIAS, st.booleans(), st.booleans()
    )
    @example(i16, 32767, 62, END // 2, True, False)
    @example(i16, 16384, 31, 0, True, True)
    @example(i16, 16384, 32, 0, False, False)
    @example(i32, 1, 2, 0, False, False)
    @example(i8, 21845, 25, -(1 << 31), True, True)
    @example(i16, 32767, 17, 100, True, True)
    @example(i16, 32767, 16, 100, True, False)
    def run(to: DType, multiplier: int, shift: int, bias: int, per_channel: bool, clamp: bool) -> None:
        net = Net()
        convolution(net, case, np.arange(channels) + bias)
        count = channels if per_channel else 1
        multipliers = [max(0, multiplier - 7 * i) for i in range(count)]
        shifts = [min(62, shift + i % 3) for i in range(count)]
        name = scaled(net, "y", "acc", to, multipliers, shifts, 5 if to is i8 else 0)
        if clamp and to is not i32:
            name = net.op("CLAMP", "clamped", to, "y", min_val=-7, max_val=100, nan_mode="PROPAGATE")
        check(net, name, "", case)

    run()


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("case", SHAPES)
def test_int48_never_reaches_memory(case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    channels = channels_of(case)
    net = Net()
    convolution(net, case, np.arange(channels) * 1000 - 5000)
    scaled(net, "y", "acc", i16, [20000 + i for i in range(channels)], [26 + i % 5 for i in range(channels)])
    check(net, "y", f"{SHAPES[case][0]}+RESCALE", case)


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("case", ["deep", "wide windows"])
def test_sums_beyond_int32_are_scaled_from_int64(case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full-scale values of one sign."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    op, shape, size, _ = SHAPES[case]
    for value, zero in ((-127, 0), (-128, 127)):
        channels = channels_of(case)
        net = Net()
        convolution(net, case, np.arange(channels) * (1 << 40), np.full(size, value), zero)
        scaled(net, "y", "acc", i32, [32767], [34])
        graph = net.done("y")
        feeds = {"x": np.full(shape, -32768, np.int16)}
        session = Session(graph, 2)
        assert session.plan().steps[0].operators == f"{op}+RESCALE"
        np.testing.assert_array_equal(session.run(["y"], feeds)[0], oracle.run(graph, feeds)["y"])


def stored(session: Session, feeds: dict[str, Array]) -> Array:
    """The accumulator, which is stored because it is looked at."""
    seen: list[Array] = []
    session.run(None, feeds, [Probe(lambda node, tensor, value: seen.append(value), ["acc"])])
    return seen[0]


PRODUCTS = {"odd": (2, 7, 5, 33), "square": (3, 16, 32, 16), "deep": (1, 3, 1101, 20), "tall": (1, 45, 8, 17)}


def product(net: Net, shape: tuple[int, int, int, int]) -> dict[str, Shape]:
    """acc = a x b; the shapes of both."""
    n, h, c, w = shape
    sizes = {"a": (n, h, c), "b": (n, c, w)}
    zeros = net.const(i16, [0]), net.const(i16, [0])
    net.op("MATMUL", "acc", i48, *(net.input(name, i16, *size) for name, size in sizes.items()), *zeros)
    return sizes


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("case", PRODUCTS)
def test_products_of_int16_matrices(case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaled and as they are; random, and all the least or the greatest value, whose sums are the largest."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    width = PRODUCTS[case][3]
    for per_channel, to, shift in (
        (False, i16, 33),
        (True, i16, 40),
        (False, i32, 31),
        (False, i8, 60),
        (True, i8, 38),
    ):
        net = Net()
        sizes = product(net, PRODUCTS[case])
        count = width if per_channel else 1
        zero = -4 if to is i8 else 0
        scaled(net, "y", "acc", to, [32767 - i for i in range(count)], [shift + i % 3 for i in range(count)], zero)
        graph = net.done("y")
        session, apart = Session(graph, 2), Session(graph, 1)
        assert [step.operators for step in session.plan().steps] == ["MATMUL+RESCALE"]
        for values in (None, (-32768, -32768), (-32768, 32767), (32767, 32767), (-32768, 127), (32767, 128)):
            if values is None:
                feeds = {name: some(i16, size, len(name)) for name, size in sizes.items()}
            else:
                feeds = {n: np.full(sizes[n], v, np.int16) for n, v in zip(sizes, values, strict=True)}
            np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])
            np.testing.assert_array_equal(
                stored(apart, feeds), feeds["a"].astype(np.int64) @ feeds["b"].astype(np.int64)
            )


@pytest.mark.parametrize("variant", BEST)
def test_a_product_that_is_proved_to_fit_int32(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    net = Net()
    zeros = net.const(i16, [0]), net.const(i16, [0])
    inputs = [net.input("a", i16, 2, 7, 9), net.input("b", i16, 2, 9, 21)]
    small = [
        net.op("CLAMP", f"small_{x}", i16, x, min_val=-most, max_val=most, nan_mode="PROPAGATE")
        for x, most in zip(inputs, (32767, 7000), strict=True)
    ]
    net.op("MATMUL", "acc", i48, *small, *zeros)
    scaled(net, "y", "acc", i16, [17000], [31])
    graph = net.done("y")
    feeds = {"a": some(i16, (2, 7, 9), 1), "b": some(i16, (2, 9, 21), 2)}
    session = Session(graph, 2)
    *_, last = session.plan().steps
    assert last.operators == "MATMUL+RESCALE"
    assert last.work is not None
    assert last.work.bind.__qualname__.startswith("matmul_pairs.")
    np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])
