"""Elementary functions in float64 and the formats of floats, in numpy and as compiled code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.kernels import elementary, float_codes
from tosa_engine.kernels.elementwise import walked
from tosa_engine.kernels.elementwise_loops import loop_of
from tosa_engine.kernels.formula import Formula
from tosa_engine.numerics.float_formats import round_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.types import Array

FORMATS = {name: types.BY_NAME[name] for name in ("fp8e4m3", "fp8e5m2", "fp16", "bf16")}


def run(compute: Callable[..., Any], x: Array, kind: type) -> Array:
    """A formula of one number by the loop of kernels."""
    out = np.zeros(x.size, kind)
    g = walked(x.shape, [x.shape])
    assert loop_of(Formula("one", compute, 1))(x, x, x, g, g, out, 0, x.size) == -1
    return out


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


# the range in which float32 has results of its own, and units of 2^-52 of the result that the error may be
FUNCTIONS: dict[str, tuple[Callable[[float], float], float, float, float]] = {
    "exp": (math.exp, -109, 89, 2),
    "log": (math.log, 1e-45, 3e38, 2),
    "tanh": (math.tanh, -15, 15, 3),
    "sigmoid": (sigmoid, -105, 105, 3),
    "erf": (math.erf, -5, 5, 2),
    "reciprocal": (lambda x: 1 / x, 1e-38, 3e38, 0.5),
    "rsqrt": (lambda x: 1 / math.sqrt(x), 1e-45, 3e38, 1.5),
    "sin": (math.sin, -1e6, 1e6, 1),
    "cos": (math.cos, -1e6, 1e6, 1),
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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_some_units_of_float64(name: str, report: Callable[[str], None]) -> None:
    right, low, high, most = FUNCTIONS[name]
    x = points(low, high)
    wanted = np.array([right(float(v)) for v in x])
    got = run(getattr(elementary, name), x, np.float64)
    units = np.abs(got - wanted) / (np.abs(wanted) * 2.0**-52)
    report(f"{name}: errors of up to {units.max():.2f} * 2^-52")
    assert units.max() <= most, x[units.argmax()]


INF, NAN = math.inf, math.nan
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
