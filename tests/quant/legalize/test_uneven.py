"""Raw measurements: the layers that normalise them have int16, and the network says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats, quality

from quant import LayerRule, Scheme, calibrate
from quant.legalize.quantize import prepared
from quant.legalize.uneven import find
from tosa_engine import types

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

RNG = np.random.default_rng(3)
MEAN = np.array([[50.0, 0.5, 200.0, 5.0]], np.float32)
DEVIATION = np.array([[12.0, 0.5, 40.0, 0.25]], np.float32)
WEIGHTS = RNG.normal(size=(3, 1, 1, 4)).astype(np.float32)
SAMPLES = [{"x": (MEAN + DEVIATION * RNG.normal(size=(1, 4))).astype(np.float32)} for _ in range(32)]
STEP = "214 times that of its smallest channel"
TOLD = f"a step of 'x' in int8 would be {STEP}: int16 for less (--layer less=int8: not so)"


def network(mean: Any = MEAN, deviation: Any = DEVIATION) -> Graph:
    f = Floats()
    y = f.op("SUB", [f.input((1, 4)), f.const(mean)], name="less")
    y = f.op("MUL", [y, f.const(1 / deviation)], name="normal")
    y = f.op("RESHAPE", [y, f.const((1, 1, 1, 4), dtype=types.shape)], name="pixel")
    return f.outputs(f.conv(y, WEIGHTS, np.zeros(3, np.float32), name="y"))


def test_normalization_of_raw_measurements_has_int16_by_default() -> None:
    found, notes = quality(network(), SAMPLES)
    assert found > 35
    assert notes == ["precision: 2 layers int8, 1 int16 (less)", TOLD]


def test_a_rule_has_the_last_word() -> None:
    found, notes = quality(network(), SAMPLES, LayerRule("less", "int8"))
    assert found < 25
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [
        (np.array([[123.7, 116.3, 103.5, 110]]), np.array([[58.4, 57.1, 57.4, 57]])),  # pictures
        (np.zeros((1, 1)), np.full((1, 1), 255.0)),
    ],
)
def test_channels_of_one_size_stay_int8(mean: Any, deviation: Any) -> None:
    assert find(prepared(network(mean.astype(np.float32), deviation.astype(np.float32))).main) == []


def test_channels_far_from_each_other_are_uneven_with_one_deviation() -> None:
    """1000 - 3 .. 4000 + 3 has 501 times the size of -3 .. 3."""
    (found,) = find(prepared(network(np.array([[1000, 2000, 3000, 4000]], np.float32), np.ones((1, 4)))).main)
    assert (found.input, found.layers, round(found.times)) == ("x", ("less",), 501)


def test_calibration_warns_of_scales_for_a_file() -> None:
    """Scales in `graph.quant` have the bits of the scheme, whatever reads them."""
    lint = (
        "QUANT.L7: a step of int8 is 214 times that of its smallest channel; 16 bits for it (with samples: "
        "--layer less=int16) keep all channels (tensor 'x')"
    )
    assert calibrate(network(), SAMPLES).warnings == [lint]
    assert calibrate(network(), SAMPLES, scheme=Scheme().with_bits(16)).warnings == []
