"""Trained networks of others: floats equal to ONNX Runtime, quantized ones within their own spread."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import Session
from tosa_engine.load import load

pytest.importorskip("onnx", reason="needs the extra `onnx`")

if TYPE_CHECKING:
    Case = dict[str, dict[str, Any]]

MODELS = Path(__file__).parents[4] / "shared" / "models" / "real"
needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason="../shared/models/real isn't there")
CLOSE = 1e-4


def cases(name: str) -> list[Case]:
    found: dict[int, Case] = defaultdict(lambda: {"in": {}, "out": {}, "alt": {}})
    with np.load(MODELS / name / "io.npz") as bundle:
        for key in bundle.files:
            number, kind, port = key.split(".", 2)
            found[int(number[1:])][kind][port] = bundle[key]
    return [found[number] for number in sorted(found)]


def bound(name: str, inputs: dict[str, Any]) -> Session:
    constants = {port: array for port, array in inputs.items() if array.ndim == 0}
    shapes = {port: array.shape for port, array in inputs.items() if port not in constants}
    return Session(load(MODELS / name / "model.onnx", shape=shapes, constant=constants), threads=1)


def run(session: Session, inputs: dict[str, Any]) -> dict[str, Any]:
    feeds = {port.name: inputs[port.name] for port in session.inputs}
    feeds = {port: a.astype(np.int32) if a.dtype == np.int64 else a for port, a in feeds.items()}
    return {port.name: a for port, a in zip(session.outputs, session.run(None, feeds), strict=True)}


def apart(found: Any, wanted: Any) -> float:
    """The largest difference, of the largest value."""
    return float(np.abs(found.astype(np.float64) - wanted).max() / np.abs(wanted).max())


@needs_models
@pytest.mark.parametrize("name", ["magika", "silero_vad_16k"])
def test_floats_are_those_of_onnx_runtime(name: str) -> None:
    sessions: dict[str, Session] = {}
    for case in cases(name):
        key = str({port: array.shape for port, array in case["in"].items()})
        session = sessions.setdefault(key, sessions.get(key) or bound(name, case["in"]))
        for port, found in run(session, case["in"]).items():
            assert apart(found, case["out"][port]) < CLOSE, port


@needs_models
def test_silero_carries_its_own_state_over_six_steps() -> None:
    """Two recordings of three steps: each begins with zeros."""
    steps = cases("silero_vad_16k")[:6]
    session = bound("silero_vad_16k", steps[0]["in"])
    state = steps[0]["in"]["state"]
    for step in steps:
        state = state if step["in"]["state"].any() else step["in"]["state"]
        found = run(session, {**step["in"], "state": state})
        state = found["stateN"]
        assert apart(found["output"], step["out"]["output"]) < CLOSE
        assert apart(state, step["out"]["stateN"]) < CLOSE


@needs_models
@pytest.mark.slow("compiles and runs two large networks")
@pytest.mark.parametrize("name", ["ppocr_v4_det", "resnet50_wakeword_qdq"])
def test_large_networks(name: str) -> None:
    """Of the quantized one, as far apart as ONNX Runtime is from itself with its optimizations on."""
    for case in cases(name):
        for port, found in run(bound(name, case["in"]), case["in"]).items():
            spread = max((apart(c["alt"][port], c["out"][port]) for c in cases(name) if c["alt"]), default=CLOSE)
            assert apart(found, case["out"][port]) <= max(spread, CLOSE), port
