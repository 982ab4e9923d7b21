"""The demo, end to end: accuracy, files, and the same bytes as Arm's reference model."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import load, types
from tosa_engine.check import check
from tosa_engine.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    """examples/digits/demo.py as a module."""
    path = Path(__file__).parents[2] / "examples" / "digits" / "demo.py"
    spec = importlib.util.spec_from_file_location("digits_demo", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits_demo"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def outcome(demo: ModuleType, tmp_path_factory: pytest.TempPathFactory):
    """The demo's result on all test images, and the folder of its files."""
    out = tmp_path_factory.mktemp("out")
    return demo.run_demo(out), out


def test_integers_are_as_accurate_as_floats(outcome, report: Callable[[str], None]) -> None:
    result, _ = outcome
    report(
        f"digits: {result.float_accuracy:.2f} % in float, {result.integer_accuracy:.2f} % in integers, "
        f"largest layer error {result.largest_layer_error:.2f} LSB"
    )
    assert result.images == 597
    assert result.float_accuracy == pytest.approx(100 * 592 / 597)
    assert result.integer_accuracy >= result.float_accuracy - 0.5


def test_no_float_remains_in_the_file(outcome) -> None:
    _, out = outcome
    graph = load.load(out / "digits.tosa")
    assert check(graph, Target.parse(["PRO-INT"])) == []
    assert not [t.name for t in graph.main.tensors.values() if t.dtype.is_float]
    assert [(t.name, t.dtype, t.shape) for t in graph.inputs] == [("input", types.i8, (1, 1, 8, 8))]
    assert [(t.name, t.dtype, t.shape) for t in graph.outputs] == [("output", types.i8, (1, 10))]


def test_the_float_model_gives_the_recorded_outputs(digits: Path) -> None:
    from tosa_engine import Session

    session = Session(digits / "digits.nnef")
    with np.load(digits / "digits_data.npz", allow_pickle=False) as data:
        for image, expected in zip(data["test_images"][:20], data["test_float_output"][:20], strict=True):
            (found,) = session.run(None, {"input": image[None]})
            np.testing.assert_allclose(found[0], expected, atol=1e-5)


@pytest.mark.reference
def test_the_reference_model_computes_the_same_bytes(outcome) -> None:
    result, _ = outcome
    assert result.agrees is True
