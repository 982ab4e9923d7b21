"""Well-known image networks as NNEF: they run in float, and after calibration in integers without a float operator."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from quant.calibration.calibrate import attach
from quant.calibration.observe import collect
from quant.legalize.quantize import quantize
from tosa_engine import Session
from tosa_engine.load import load
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

SCRIPT = Path(__file__).parents[2] / "examples" / "networks" / "networks.py"
spec = importlib.util.spec_from_file_location("example_networks", SCRIPT)
assert spec is not None
assert spec.loader is not None
networks = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = networks  # dataclasses look there
spec.loader.exec_module(networks)

# small images, for the tests' sake; the script's default is 224
SIZES = {"alexnet": 64, "vgg16": 32, "googlenet": 64, "resnet50": 64, "mobilenet_v2": 64}


LARGE = {"vgg16", "resnet50"}
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow("a network of many weights")] if name in LARGE else [])
    for name in sorted(SIZES)
]


@pytest.mark.parametrize("name", NAMES)
def test_in_float_and_in_integers(name: str, tmp_path: Path) -> None:
    graph = load(networks.write(name, tmp_path / f"{name}.nnef", SIZES[name]))
    images = [np.random.default_rng(i).normal(size=graph.inputs[0].shape).astype(np.float32) for i in range(2)]
    statistics = collect(graph, enumerate({"x": image} for image in images))
    integer = quantize(attach(graph, statistics))
    assert not any(tensor.dtype.is_float for tensor in integer.main.tensors.values())
    into, out = integer.inputs[0].quant, integer.outputs[0].quant
    assert into is not None
    assert out is not None
    wanted = Session(graph).run(None, {"x": images[0]})[0]
    stored = Session(integer).run(None, {"x": quantize_array(images[0], into)})[0]
    assert np.isfinite(wanted).all()
    assert wanted.sum() == pytest.approx(1.0, abs=1e-4)
    error = dequantize_array(stored, out) - wanted
    assert 10 * np.log10((wanted**2).sum() / (error**2).sum()) > 3  # random weights leave 1,000 nearly equal classes
