"""Elementary functions and the formats of floats, in numpy and as compiled code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from elementary_fits import FITS, error, interpolated, pieces

from tosa_engine import Session, types
from tosa_engine.builder import Builder
from tosa_engine.kernels.elementwise import elementary
from tosa_engine.kernels.elementwise.formula import Formula
from tosa_engine.kernels.elementwise.loops import loop_of
from tosa_engine.kernels.elementwise.prepare import walked
from tosa_engine.kernels.floats import codes as float_codes
from tosa_engine.numerics.float_formats import round_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.types import Array

INF, NAN = math.inf, math.nan
FORMATS = {name: types.BY_NAME[name] for name in ("fp8e4m3", "fp8e5m2", "fp16", "bf16")}


def run(compute: Callable[..., Any], x: Array, kind: type) -> Array:
    """A formula of one number by the loop of kernels."""
    out = np.zeros(x.size, kind)
    g = walked(x.shape, [x.shape])
    assert loop_of(Formula("one", compute, 1))(x, x, x, g, g, out, 0, x.size) == -1
    return out


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


# the range in which float32 has results of its own; for those of more than one sign the points are of both
FUNCTIONS: dict[str, tuple[Callable[[float], float], float, float]] = {
    "exp": (math.exp, -109, 89),
    "log": (math.log, 1e-45, 3e38),
    "tanh": (math.tanh, -15, 15),
    "sigmoid": (sigmoid, -105, 105),
    "erf": (math.erf, -5, 5),
    "reciprocal": (lambda x: 1 / x, 1e-38, 3e38),
    "rsqrt": (lambda x: 1 / math.sqrt(x), 1e-45, 3e38),
    "sin": (math.sin, -3e38, 3e38),
    "cos": (math.cos, -3e38, 3e38),
}


def points(low: float, high: float) -> Array:
    """Numbers of float32 of every size in a range."""
    rng = np.random.default_rng(0)
    least = low if low > 0 else 1e-30
    sizes = np.exp(rng.uniform(math.log(least), math.log(high), 3000))
    signs = 1 if low >= 0 else rng.choice([-1, 1], 3000)
    dense = rng.uniform(max(low, -6), min(high, 6), 3000)
    found = np.concatenate([sizes * signs, dense]).astype(np.float32)
    return found[(found >= low) & (found <= high) & (found != 0)]


def in_units(got: Array, wanted: Array) -> Array:
    """Errors in units of the last place of float32, of the least normal number where results are subnormal."""
    size = np.maximum(np.abs(wanted), 2.0**-126).astype(np.float32)
    units: Array = np.abs(got - wanted) / np.spacing(size).astype(np.float64)
    return units


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_rounded_once(name: str, report: Callable[[str], None]) -> None:
    right, low, high = FUNCTIONS[name]
    x = points(low, high)
    wanted = np.array([right(float(v)) for v in x])
    units = in_units(run(getattr(elementary, name), x, np.float32), wanted)
    report(f"{name}: errors of up to {units.max():.6f} units of float32")
    assert units.max() <= 0.502, x[units.argmax()]


@np.errstate(over="ignore")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "reciprocal"])
def test_fp16_of_every_pattern(name: str, report: Callable[[str], None]) -> None:
    """In float32, and once more rounded: errors in units of fp16, where there are results of its own."""
    right, low, high = FUNCTIONS[name]
    bits = np.arange(1 << 16).astype(np.uint16)
    x = bits.view(np.float16).astype(np.float64)
    bits = bits[(x >= max(low, -65504)) & (x <= min(high, 65504)) & (x != 0 if low > 0 else x == x)]
    wanted = np.array([right(float(v)) for v in bits.view(np.float16)])
    got = run(
        float_codes.of_format(elementary.in_single(getattr(elementary, name)), 1, "fp16", "fp16"), bits, np.uint16
    )
    finite = np.abs(wanted) < 65520
    size = np.maximum(np.abs(wanted[finite]), 2.0**-14).astype(np.float16)
    units = np.abs(got.view(np.float16)[finite] - wanted[finite]) / np.spacing(size).astype(np.float64)
    report(f"{name} of fp16: errors of up to {units.max():.6f} units")
    assert units.max() <= 0.502
    assert np.isinf(got.view(np.float16)[~finite]).all()


# the float32 nearest to multiples of pi / 2, and the sizes where groups end
NEAR_MULTIPLES = [16367173 * 2.0**72, 10741887 * 2.0**11, 16573937 * 2.0**-16, 10057457 * 2.0**62, 5808979 * 2.0**18]
ENDS = [size * (1 + step * 2.0**-23) for size in (2.0**50, 2.0**77, 2.0**104) for step in (-0.5, 0, 1)]


def test_angles_of_all_sizes() -> None:
    x = np.array([*NEAR_MULTIPLES, *ENDS, 3.4028234663852886e38], np.float32)
    x = np.concatenate([x, -x])
    for name, right in (("sin", math.sin), ("cos", math.cos)):
        wanted = np.array([right(float(v)) for v in x])
        assert in_units(run(getattr(elementary, name), x, np.float32), wanted).max() <= 0.502


def test_powers(report: Callable[[str], None]) -> None:
    """Bases of all sizes and near 1, with exponents for which float32 has results."""
    rng = np.random.default_rng(0)
    base = np.exp2(np.concatenate([rng.uniform(-149, 128, 2000), rng.uniform(-1e-3, 1e-3, 2000)])).astype(np.float32)
    base = base[base != 1]
    exponent = (rng.uniform(-151, 127.9, base.size) / np.log2(base.astype(np.float64))).astype(np.float32)
    wanted = base.astype(np.float64) ** exponent
    out, g = np.zeros(base.size, np.float32), walked(base.shape, [base.shape] * 2)
    assert loop_of(Formula("two", elementary.power, 2))(base, exponent, base, g, g, out, 0, base.size) == -1
    known = wanted < float(np.finfo(np.float32).max)
    units = in_units(out[known], wanted[known])
    report(f"power: errors of up to {units.max():.6f} units of float32")
    assert units.max() <= 0.502
    assert np.isinf(out[~known]).all()


def test_powers_of_zeros() -> None:
    """With the sign of the zero where the exponent is an odd integer, as IEEE 754 has it."""
    exponents = np.array([1, 3, 16777215, 2, 0.5, 1.5, 16777216, 1e30, 1e-45], np.float32)
    for zero in (0.0, -0.0):
        got = elementary.power(np.full(9, zero, np.float32), exponents)
        assert (got == 0).all()
        assert np.signbit(got).tolist() == [math.copysign(1, zero) < 0] * 3 + [False] * 6


@pytest.mark.parametrize("wide", ["DOUBLE", "SINGLE"])
@pytest.mark.parametrize("name", [*(name for name in FUNCTIONS if name != "reciprocal"), "power"])
@np.errstate(all="ignore")
def test_the_same_bits_at_every_place(name: str, wide: str) -> None:
    """In vectors of any alignment, in what is left of a line, alone, and in numpy."""
    rng = np.random.default_rng(1)
    operands = 2 if name == "power" else 1
    function = getattr(elementary, name)
    function = elementary.in_single(function) if wide == "SINGLE" else function
    inputs = [np.exp2(rng.uniform(-20, 20, 517)).astype(np.float32) for _ in range(operands)]
    inputs[0][:8] = [0, -0.0, INF, 1e-45, 3e38, 1, 2, 0.5]
    wanted = function(*inputs)
    assert wanted.dtype == np.float32
    loop, out = loop_of(Formula("one", function, operands)), np.zeros(517, np.float32)
    for first, count in ((0, 517), (1, 516), (3, 100), *((i, 1 + i % 40) for i in range(0, 477, 7))):
        out[:] = -7
        own = [x[first : first + count].copy() for x in inputs]
        g = walked((count,), [(count,)] * operands)
        arrays = [*own, *[own[0]] * (3 - operands)]
        assert loop(*arrays, g, g, out[first:], 0, count) == -1
        numbers = ~np.isnan(wanted[first : first + count])
        got, right = (x[first : first + count].view(np.int32)[numbers] for x in (out, wanted))
        np.testing.assert_array_equal(got, right)
        np.testing.assert_array_equal(~np.isnan(out[first : first + count]), numbers)
        assert (out[first + count :] == -7).all()


@pytest.mark.parametrize("op", ["SIN", "POW", "EXP"])
def test_the_same_bits_with_any_number_of_threads(op: str) -> None:
    b, rng = Builder(), np.random.default_rng(2)
    shape, operands = (7, 1237), 2 if op == "POW" else 1
    feeds = {f"x{i}": rng.uniform(0.1, 30, shape).astype(np.float32) for i in range(operands)}
    b.output(b.op(op, *(b.input(types.fp32, shape, name) for name in feeds)))
    graph = b.graph()
    results = [Session(graph, threads).run(None, feeds)[0].tobytes() for threads in (1, 2, 3)]
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(("wide", "name"), FITS)
def test_polynomials_are_what_their_comments_say(wide: str, name: str) -> None:
    function, low, high, exponent = FITS[wide, name]
    written = getattr(getattr(elementary, wide), name)
    assert interpolated(function, low, high, len(written)) == list(written)
    assert error(function, low, high, written) < 2.0**exponent


def test_pieces_of_the_inverse_of_pi() -> None:
    wanted = [pieces(power, 29, np.float64) for power in (0, 27, 54, 81)]
    assert [found for _, found in elementary.DOUBLE.groups] == wanted
    assert [found for _, found in elementary.SINGLE.groups] == [pieces(0, 13, np.float32)]


CORNERS = {
    "exp": [(-INF, 0.0), (INF, INF), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (88.8, INF), (-104.0, 0.0), (1e-45, 1.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1e-45, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    "tanh": [(-INF, -1.0), (INF, 1.0), (0.0, 0.0), (-0.0, -0.0), (1e-45, 1e-45), (-20.0, -1.0), (NAN, NAN)],
    "sigmoid": [(-INF, 0.0), (INF, 1.0), (0.0, 0.5), (-0.0, 0.5), (-110.0, 0.0), (NAN, NAN)],
    "erf": [(-INF, -1.0), (INF, 1.0), (0.0, 0.0), (-0.0, -0.0), (4.0, 1.0), (NAN, NAN)],
    "reciprocal": [(0.0, INF), (-0.0, -INF), (-INF, -0.0), (1e-45, INF), (NAN, NAN)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (NAN, NAN)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (NAN, NAN)],
    "cos": [(0.0, 1.0), (-INF, NAN), (NAN, NAN)],
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners_of_functions(name: str) -> None:
    function = getattr(elementary, name)
    x, wanted = (np.array(side, np.float32) for side in zip(*CORNERS[name], strict=True))
    got = run(float_codes.of_format(function, 1, "fp32", "fp32"), x, np.float32)
    np.testing.assert_array_equal(got, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("name", FORMATS)
def test_every_stored_number_is_read_and_written_again(name: str) -> None:
    storage = FORMATS[name].storage
    bits = np.arange(1 << (8 * storage.itemsize)).astype(f"u{storage.itemsize}")
    with np.errstate(invalid="ignore"):
        wanted = bits.view(storage).astype(np.float32)
    np.testing.assert_array_equal(run(lambda x: float_codes.load(x, name), bits, np.float32), wanted)
    again = run(float_codes.of_format(lambda x: x, 1, name, name), bits, bits.dtype.type)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(again[numbers], bits[numbers])
    assert np.isnan(again[~numbers].view(storage).astype(np.float32)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMATS)
@np.errstate(all="ignore")
def test_values_are_rounded_once(name: str, kind: type) -> None:
    """Neighbours in the format, the middle between them, and what lies beside it by a last bit of `kind`."""
    storage = FORMATS[name].storage
    bits = np.arange(1 << (8 * storage.itemsize)).astype(f"u{storage.itemsize}")
    values = np.sort(bits.view(storage).astype(np.float64))
    values = values[np.isfinite(values)]
    middles = ((values[1:] + values[:-1]) / 2).astype(kind)
    beyond = np.array([464, 465, 61440, 65520, 1e5, 3.4e38, 1e39, 1e-45, 1e-300, np.inf, np.nan]).astype(kind)
    beside = (np.nextafter(middles, kind(end)) for end in (-np.inf, np.inf))
    x = np.concatenate([values.astype(kind), middles, *beside, beyond, -beyond])
    wanted = round_to(x, FORMATS[name]).view(bits.dtype)
    got = run(lambda x: float_codes.store(x, name), x, bits.dtype.type)
    same = (got == wanted) | (np.isnan(x) & np.isnan(got.view(storage).astype(np.float32)))
    assert same.all(), x[~same]
