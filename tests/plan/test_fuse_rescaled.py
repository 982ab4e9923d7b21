"""ADD, SUB and MUL between RESCALEs as one step: broadcasting, scales of every kind, constants, one tensor twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nets import Net
from vector_units import BEST

from tosa_engine import oracle
from tosa_engine.errors import RequireViolation
from tosa_engine.runtime.session import Session
from tosa_engine.types import DType, i8, i16, i32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.types import Array, Shape

# one for each width of vectors, which is all that these loops look at
SHAPES = [
    ((2, 3, 40), (2, 3, 40)), ((2, 3, 40), (2, 3, 1)), ((2, 3, 1), (2, 3, 40)), ((1, 1, 40), (2, 3, 40)),
    ((2, 1, 17), (2, 3, 17)), ((1, 1, 1), (1, 1, 5)), ((3, 1), (1, 3)),
]  # fmt: skip


def scale(
    net: Net, name: str, source: str, from_t: DType, to: DType, numbers: Sequence[Any], zeros: Sequence[int]
) -> str:
    multiplier, shift, double = numbers
    constants = (
        net.const(i32, [multiplier]), net.const(i8, [shift]), net.const(from_t, [zeros[0]]), net.const(to, [zeros[1]]),
    )  # fmt: skip
    net.op(
        "RESCALE", name, to, source, *constants, scale32=True,
        rounding_mode="DOUBLE_ROUND" if double else "SINGLE_ROUND", per_channel=False, input_unsigned=False,
        output_unsigned=False,
    )  # fmt: skip
    return name


def binary(
    op: str, t: DType, shapes: tuple[Shape, Shape], scales: Sequence[Sequence[Any]], zeros: Sequence[int],
    values: Array | None = None, *, clamp: bool = False,
) -> Net:  # fmt: skip
    """y = RESCALE(RESCALE(a) op RESCALE(b)); b is a constant of int32 where `values` are given."""
    net = Net()
    left = scale(net, "left", net.input("a", t, *shapes[0]), t, i32, scales[0], (zeros[0], 0))
    if values is None:
        right = scale(net, "right", net.input("b", t, *shapes[1]), t, i32, scales[1], (zeros[1], 0))
    else:
        right = net.const(i32, values)
    if op == "MUL":
        net.op("MUL", "total", i32, left, right, net.const(i8, [0]))
    else:
        net.op(op, "total", i32, left, right)
    scale(net, "y", "total", i32, t, scales[2], (0, zeros[2]))
    if clamp:
        net.op("CLAMP", "clamped", t, "y", min_val=-5, max_val=90, nan_mode="PROPAGATE")
    return net


def check(net: Net, feeds: dict[str, Array], output: str, fused: str, threads: int = 1) -> None:
    graph = net.done(output)
    session = Session(graph, threads)
    assert [step.operators for step in session.plan().steps if step.work is not None] == [fused]
    (got,) = session.run(None, feeds)
    np.testing.assert_array_equal(got, oracle.run(graph, feeds)[output])


def some(t: DType, shape: Shape, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    ends = np.array([t.minimum, t.minimum + 1, -1, 0, 1, t.maximum - 1, t.maximum])
    values = rng.integers(t.minimum, t.maximum + 1, shape)
    return np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), values).astype(t.storage)


FINE = st.tuples(st.integers(1 << 30, (1 << 31) - 1), st.integers(16, 24), st.booleans())
COARSE = st.tuples(st.integers(1 << 30, (1 << 31) - 1), st.integers(29, 46), st.booleans())
ZERO = st.sampled_from([-128, -7, 0, 127])


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize(("op", "t"), [("ADD", i8), ("SUB", i8), ("ADD", i16), ("SUB", i16)])
def test_sums_between_scales(op: str, t: DType, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)

    @given(st.sampled_from(SHAPES), st.tuples(FINE, FINE, COARSE), st.tuples(ZERO, ZERO, ZERO), st.booleans())
    @example(SHAPES[0], ((1 << 30, 16, False), (1 << 30, 16, False), (1 << 30, 33, False)), (-128, 127, 0), True)
    @example(SHAPES[2], ((1 << 30, 24, True), (1 << 30, 16, False), (1 << 30, 32, True)), (-128, 127, 0), True)
    @example(SHAPES[0], ((1 << 30, 30, False), (1 << 30, 30, True), (1 << 30, 30, True)), (-128, 127, -7), False)
    @example(SHAPES[0], ((1 << 30, 30, False), (3 << 28, 29, False), ((1 << 31) - 1, 31, False)), (5, -7, 0), False)
    @example(SHAPES[0], ((1 << 30, 30, False), (1 << 30, 20, False), (3 << 29, 42, True)), (5, -7, 9), False)
    def run(shapes: tuple[Shape, Shape], scales: Any, zeros: Any, clamp: bool) -> None:
        if t is i16:  # whose results stay in int32
            zeros, least = (0, 0, 0), 33 if min(s for _, s, _ in scales[:2]) < 29 else 0
            scales = (*scales[:2], (scales[2][0], max(least, scales[2][1]), scales[2][2]))
        net = binary(op, t, shapes, scales, zeros, clamp=clamp)
        fused = f"RESCALE+RESCALE+{op}+RESCALE" + ("+CLAMP" if clamp else "")
        feeds = {"a": some(t, shapes[0], 1), "b": some(t, shapes[1], 2)}
        check(net, feeds, "clamped" if clamp else "y", fused, 2)

    run()


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("t", [i8, i16])
def test_products_between_scales(t: DType, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input scale of 1/2 .. 1 keeps products of int16 in int32; one of exactly 1 isn't applied."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)

    @given(st.sampled_from(SHAPES), st.tuples(COARSE, COARSE, COARSE), st.tuples(ZERO, ZERO, ZERO))
    @example(SHAPES[0], ((1 << 30, 31, False), (1 << 30, 31, True), (1 << 30, 33, False)), (127, 127, -128))
    @example(SHAPES[0], ((1 << 30, 30, False), (1 << 30, 30, True), (1 << 30, 33, False)), (-128, 127, 9))
    @example(SHAPES[0], ((1 << 30, 30, False), (1 << 30, 30, False), (3 << 29, 45, True)), (-128, -128, -128))
    @example(SHAPES[1], ((1 << 30, 30, False), (1 << 30, 30, False), (3 << 29, 36, False)), (0, 127, 0))
    def run(shapes: tuple[Shape, Shape], scales: Any, zeros: Any) -> None:
        first, second = ((m, s if (m, s) == (1 << 30, 30) else max(31, s), d) for m, s, d in scales[:2])
        out = (scales[2][0], max(32, scales[2][1]), scales[2][2])
        net = binary("MUL", t, shapes, (first, second, out), zeros if t is i8 else (0, 0, 0))
        feeds = {"a": some(t, shapes[0], 3), "b": some(t, shapes[1], 4)}
        check(net, feeds, "y", "RESCALE+RESCALE+MUL+RESCALE")

    run()


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_a_constant_takes_part_as_it_is(op: str, shapes: tuple[Shape, Shape]) -> None:
    values = np.random.default_rng(5).integers(-9000, 9000, shapes[1])
    scales = ((1 << 30, 22, False), (0, 0, False), (1 << 30, 36, False))
    check(
        binary(op, i8, shapes, scales, (5, 0, -3), values), {"a": some(i8, shapes[0], 6)}, "y", f"RESCALE+{op}+RESCALE"
    )


def test_one_tensor_twice_is_scaled_once() -> None:
    net = Net()
    x = scale(net, "scaled", net.input("x", i16, 3, 50), i16, i32, (1 << 30, 31, False), (0, 0))
    net.op("MUL", "total", i32, x, x, net.const(i8, [0]))
    scale(net, "y", "total", i32, i16, (1 << 30, 43, False), (0, 0))
    check(net, {"x": some(i16, (3, 50), 7)}, "y", "RESCALE+MUL+RESCALE")


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("pair", [(i8, i32), (i32, i8), (i8, i8), (i16, i8), (i8, i16), (i16, i32)])
def test_a_rescale_that_cannot_fail_is_a_vector_loop(
    pair: tuple[DType, DType], variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)

    @given(st.integers(0, (1 << 31) - 1), st.integers(2, 62), st.booleans(), ZERO, st.integers(1, 70))
    @example((1 << 31) - 1, 33, True, -128, 33)
    @example((1 << 31) - 1, 62, False, 127, 33)
    def run(multiplier: int, shift: int, double: bool, zero: int, count: int) -> None:
        net = Net()
        zeros = [zero if t is i8 else 0 for t in pair]
        scale(net, "y", net.input("x", pair[0], count), *pair, (multiplier, shift, double), zeros)
        graph, feeds = net.done("y"), {"x": some(pair[0], (count,), shift)}
        if pair[0] is i32:
            feeds["x"] = np.clip(feeds["x"], -(1 << min(30, shift - 1)), (1 << min(30, shift - 1)) - 1).astype(np.int32)
        session = Session(graph, 1)
        try:
            wanted = oracle.run(graph, feeds)["y"]
        except RequireViolation as violation:
            with pytest.raises(type(violation)):
                session.run(None, feeds)
            return
        np.testing.assert_array_equal(session.run(None, feeds)[0], wanted)

    run()


def of_litert(op: str, shapes: tuple[Shape, Shape], firsts: Sequence[Any], scales: Sequence[Any], zeros: Any) -> Net:
    """y = RESCALE(RESCALE(RESCALE(a)) op RESCALE(RESCALE(b))): inputs are multiplied by a power of two first."""
    net = Net()
    sides = []
    for name, shape, first, second, zero in zip(("a", "b"), shapes, firsts, scales, zeros, strict=False):
        x = scale(net, f"{name}0", net.input(name, i8, *shape), i8, i32, first, (zero, 0))
        sides.append(scale(net, f"{name}1", x, i32, i32, second, (0, 0)))
    net.op(op, "total", i32, *sides)
    scale(net, "y", "total", i32, i8, scales[2], (0, zeros[2]))
    return net


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("op", ["ADD", "SUB"])
def test_inputs_scaled_by_a_power_of_two_before(op: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow's conversion of LiteRT's additions: 2^20, then a half at most, rounded twice."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    small = st.tuples(st.integers(1 << 30, (1 << 31) - 1), st.integers(31, 36), st.booleans())
    last = st.tuples(st.integers(1 << 30, (1 << 31) - 1), st.integers(44, 52), st.booleans())

    @given(st.sampled_from(SHAPES), st.tuples(small, small, last), st.tuples(ZERO, ZERO, ZERO), st.integers(8, 20))
    @example(SHAPES[0], ((1 << 30, 31, True), ((1 << 31) - 1, 32, True), (1 << 30, 49, True)), (-128, 127, 0), 20)
    @example(SHAPES[0], ((3 << 29, 33, True), (1 << 30, 32, True), (1 << 30, 49, False)), (-7, -7, 127), 20)
    @example(SHAPES[0], ((3 << 29, 33, False), (1 << 30, 32, False), (1 << 30, 49, False)), (-7, -7, 127), 20)
    def run(shapes: tuple[Shape, Shape], scales: Any, zeros: Any, power: int) -> None:
        first = (1 << 30, 30 - power, True)
        net = of_litert(op, shapes, (first, first), scales, zeros)
        feeds = {"a": some(i8, shapes[0], 8), "b": some(i8, shapes[1], 9)}
        check(net, feeds, "y", f"RESCALE+RESCALE+RESCALE+RESCALE+{op}+RESCALE", 2)

    run()


def test_inputs_scaled_by_another_number_before_are_scaled_twice() -> None:
    net = of_litert(
        "ADD", SHAPES[0], ((3 << 28, 10, True),) * 2, ((1 << 30, 32, True),) * 2 + ((1 << 30, 49, True),), (0, 0, 0)
    )
    graph = net.done("y")
    feeds = {"a": some(i8, SHAPES[0][0], 8), "b": some(i8, SHAPES[0][1], 9)}
    session = Session(graph, 1)
    assert [step.operators for step in session.plan().steps] == ["RESCALE"] * 4 + ["ADD", "RESCALE"]
    np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])


@pytest.mark.parametrize(("power", "fused"), [(15, True), (16, True), (17, False)])
def test_words_shifted_before(power: int, fused: bool) -> None:
    """TensorFlow's conversion of LiteRT's additions of int16; beyond 32 bits, a shift is no product."""
    net = Net()
    sides = []
    for name, second in (("a", (3 << 29, 33, True)), ("b", ((1 << 30) + 7, 34, True))):
        net.op("CAST", f"{name}0", i32, net.input(name, i16, 3, 70))
        net.op("LOGICAL_LEFT_SHIFT", f"{name}1", i32, f"{name}0", net.const(i32, [[power]]))
        sides.append(scale(net, f"{name}2", f"{name}1", i32, i32, second, (0, 0)))
    net.op("ADD", "total", i32, *sides)
    scale(net, "y", "total", i32, i16, (1 << 30, 45, True), (0, 0))
    graph, feeds = net.done("y"), {"a": some(i16, (3, 70), 1), "b": some(i16, (3, 70), 2)}
    session = Session(graph, 1)
    side = "CAST+LOGICAL_LEFT_SHIFT+RESCALE"
    assert ([step.operators for step in session.plan().steps] == [f"{side}+{side}+ADD+RESCALE"]) == fused
    np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])
