"""Formulas as numpy and as code; the lines that broadcast inputs are walked in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nets import Net

from tosa_engine import types
from tosa_engine.errors import RequireViolation
from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels.elementwise import formula as f
from tosa_engine.kernels.elementwise.loops import loop_of, plain_line
from tosa_engine.kernels.elementwise.prepare import collapse, walked
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from tosa_engine.types import Array, Shape


def mixed(a: Any, b: Any, c: Any) -> Any:
    return a * 3 + b * 5 - c


MIXED = f.Formula("mixed", mixed, 3)


def shapes() -> st.SearchStrategy[tuple[Shape, list[Shape]]]:
    """A shape, and three that broadcast to it; one of them is the shape itself."""
    sizes = st.lists(st.sampled_from([1, 2, 3, 5]), min_size=0, max_size=5)

    def inputs(shape: list[int]) -> st.SearchStrategy[tuple[Shape, list[Shape]]]:
        cut = st.tuples(*(st.sampled_from([1, size]) for size in shape))
        whole = st.just(tuple(shape))
        return st.tuples(whole, st.tuples(whole, cut, cut).flatmap(lambda found: st.permutations(list(found))))

    return sizes.flatmap(inputs)


@given(shapes(), st.data())
def test_lines_of_broadcast_inputs_are_walked(found: tuple[Shape, list[Shape]], data: st.DataObject) -> None:
    shape, inputs = found
    count = types.count(shape)
    rng = np.random.default_rng(count)
    arrays = [rng.integers(-100, 100, s).astype(np.int32) for s in inputs]
    out = np.full(count, 7, np.int32)
    low = data.draw(st.integers(0, count - 1))
    high = data.draw(st.integers(low + 1, count))
    g = walked(shape, inputs)
    assert loop_of(MIXED)(*(a.reshape(-1) for a in arrays), g, g, out, low, high) == -1
    wanted = np.full(count, 7, np.int32)
    wanted[low:high] = mixed(*(np.broadcast_to(a, shape) for a in arrays)).reshape(-1)[low:high]
    np.testing.assert_array_equal(out, wanted)


def test_axes_that_all_inputs_share_or_repeat_become_one() -> None:
    assert collapse((2, 3, 4, 5), (2, 3, 4, 5), (1, 1, 4, 5)) == ([6, 20], [20, 1], [0, 1])
    assert collapse((1, 1), (1, 1)) == ([1], [1])
    assert walked((4, 5), [(4, 5), (4, 5)]).tolist() == [1, 20, 0, 1, 0, 1, 0, 0]


I32, F32, F64 = np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.float64)
INTEGERS = np.array([0, 1, -1, 2, 31, -7, 1 << 20, (1 << 31) - 1, -(1 << 31)], I32)
REALS = np.array(
    [0.0, -0.0, 1.0, -1.5, 2.5, 3.5, 0.1, 1e-45, -1e-40, 3.4e38, -7e9, np.inf, -np.inf, np.nan], F32
)  # fmt: skip
WORDS: dict[str, tuple[Any, Array]] = {
    "wraps": (lambda x: x * x + 1, INTEGERS),
    "shifts": (lambda x: (x >> 3) ^ (f.view(f.view(x, "u4") >> 5, "i4") << 2), INTEGERS),
    "compares": (lambda x: f.where((x < 3) & (x >= -1) | ~(x != 31), x, -x), INTEGERS),
    "unsigned": (lambda x: f.where(f.view(x, "u4") > 5, x, 0), INTEGERS),
    "narrow": (lambda x: f.cast(f.cast(x, "i1"), "i4") + f.cast(f.cast(x, "u2"), "i4"), INTEGERS),
    "zeros": (f.leading_zeros, INTEGERS),
    "floats": (lambda x: f.cast(x, "f4"), INTEGERS),
    "cut": (lambda x: f.cast(f.cast(x, "f8") * 0.75, "i4"), INTEGERS),
    "of a Boolean": (lambda x: f.cast(x > 2, "i4") + f.smaller(f.larger(x, -5), 5), INTEGERS),
    "reals": (lambda x: (1.0 - x) * x / 3.0 + f.magnitude(x), REALS),
    "rounded": (lambda x: f.nearest(x) + f.floor(x) * 2.0 - f.ceil(x), REALS),
    "root": (lambda x: f.root(f.magnitude(x)), REALS),
    "half": (lambda x: f.cast(f.cast(x, "f2"), "f4"), REALS),
    "wide": (lambda x: f.cast(1.0 / f.cast(x, "f8"), "f4"), REALS),
    "bits": (lambda x: f.view(f.view(x, "u4") & 0x7FFF0000, "f4"), REALS),
    "NaN": (lambda x: f.where(f.is_nan(x), 4.0, x), REALS),
    "ordered": (lambda x: f.where((x < 1.0) | (x == x * 1.0), -x, x), REALS),
}


@pytest.mark.skipif(not JIT, reason="compares compiled code with numpy")
@pytest.mark.parametrize("word", WORDS)
def test_words_mean_the_same_in_numpy_and_in_code(word: str) -> None:
    compute, values = WORDS[word]
    with np.errstate(all="ignore"):
        wanted = compute(values)
    repeated = np.tile(values, 9)  # enough for vectors and for what is left behind them
    out = np.zeros(repeated.size, wanted.dtype)
    one = f.Formula("one", compute, 1)
    g = walked(repeated.shape, [repeated.shape])
    assert loop_of(one)(repeated, repeated, repeated, g, g, out, 0, repeated.size) == -1
    numbers = wanted.view(f"u{wanted.itemsize}")
    nan = np.isnan(wanted) if wanted.dtype.kind == "f" else np.zeros(wanted.shape, np.bool_)
    same = (out.view(numbers.dtype) == np.tile(numbers, 9)) | (np.tile(nan, 9) & (out != out))
    assert same.all(), (repeated[~same], out[~same])
    plain = np.zeros_like(out)
    with np.errstate(all="ignore"):
        plain_line(one)(repeated, 0, 1, g, 0, 0, g, 0, 0, g, plain, 0, repeated.size)
    np.testing.assert_array_equal(plain, out)


def test_kinds_that_differ_are_refused() -> None:
    mixed_kinds = f.Formula("mixed", lambda a, b: a + f.cast(b, "i8"), 2)
    narrow = f.Formula("narrow", lambda a: f.cast(a, "i2"), 1)
    one = np.ones(1, np.int32)
    g = walked((1,), [(1,), (1,)])
    if JIT:
        with pytest.raises(AssertionError, match="int32 and int64 in one operation"):
            loop_of(mixed_kinds)(one, one, one, g, g, one, 0, 1)
    with pytest.raises(AssertionError, match="narrow"):
        loop_of(narrow)(one, one, one, g, g, one, 0, 1)


def test_a_product_that_overflows_while_it_is_rounded_is_told() -> None:
    """2^62 + 2^62 is beyond int64, whatever is left after the shift by 63."""
    net = Net()
    x = net.input("x", types.i32, 2)
    net.op("MUL", "y", types.i32, x, x, net.const(types.i8, [63]))
    session = Session(net.done("y"), threads=1)
    assert session.run(None, {"x": np.array([1, -(1 << 31) + 1], np.int32)})[0].tolist() == [0, 0]
    with pytest.raises(RequireViolation, match=r"^MUL\.R3: "):
        session.run(None, {"x": np.array([1, -(1 << 31)], np.int32)})
