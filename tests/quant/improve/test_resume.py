"""Interrupts of `quantize` and what goes on from them: the same bytes as without any."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.improve import bias, rounding, trial
from quant.improve.post_training import Options, quantize_from_samples
from tosa_engine import serialize
from tosa_engine.errors import DataError
from tosa_engine.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RNG = np.random.default_rng(4)
SAMPLES = [{"x": RNG.normal(size=(1, 3, 3, 4)).astype(np.float32)} for _ in range(4)]
FLAGS = ("--equalize", "--rounding", "adaround", "--bias-correction", "--weight-bits", "4")
METHODS = Options(equalize=True, rounding="adaround", bias_correction=True, weight_bits=4)


def network() -> Any:
    f = Floats()
    y = f.input((1, 3, 3, 4))
    for i in range(3):
        weight = RNG.normal(size=(4, 1, 1, 4)) * np.array([1, 60, 1, 8]).reshape(4, 1, 1, 1)
        y = f.relu(f.conv(y, weight.astype(np.float32), RNG.normal(size=4).astype(np.float32), name=f"conv{i}"))
    return f.outputs(y)


NETWORK = network()
WHOLE = quantize_from_samples(NETWORK, SAMPLES, METHODS)


class Stop:
    """Stands for a function; the call with this number is interrupted."""

    def __init__(self, function: Callable[..., Any], at: int) -> None:
        self.function, self.left, self.calls = function, at, 0

    def __call__(self, *args: Any, **more: Any) -> Any:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.calls += 1
        return self.function(*args, **more)


@pytest.mark.parametrize(
    ("module", "name", "at"),
    [(trial, "attach", 2), (rounding, "_solve", 1), (bias, "mean_error", 0), (bias, "mean_error", 2)],
)
def test_an_interrupted_run_goes_on_with_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: Any, name: str, at: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, name, Stop(getattr(module, name), at))
        with pytest.raises(KeyboardInterrupt):
            quantize_from_samples(NETWORK, SAMPLES, METHODS, journal=Journal(tmp_path / "j", {"a": 1}))
    lines = len((tmp_path / "j").read_text().splitlines())
    with (tmp_path / "j").open("a") as file:
        file.write('{"part": "adaround half of a li')
    kept = Journal(tmp_path / "j", {"a": 1}, resume=True)
    assert len(kept) == lines - 1 > 0
    counted = Stop(rounding._solve, 100)
    monkeypatch.setattr(rounding, "_solve", counted)
    told: list[str] = []
    found = quantize_from_samples(NETWORK, SAMPLES, METHODS, told.append, kept)
    assert serialize.tosa_to_bytes(found.graph) == serialize.tosa_to_bytes(WHOLE.graph)
    assert told == found.notes == WHOLE.notes
    assert found.scales == WHOLE.scales
    assert counted.calls == 3 - {trial: 0, rounding: at, bias: 3}[module]
    for one, other in zip(found.ready.main.tensors.values(), WHOLE.ready.main.tensors.values(), strict=True):
        assert one.name == other.name
        assert (one.data is None) == (other.data is None)
        assert one.data is None or one.data.tobytes() == other.data.tobytes()  # type: ignore[union-attr]


@pytest.fixture
def call(command: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    serialize.write(NETWORK, tmp_path / "net.tosa")
    np.save(tmp_path / "x.npy", np.stack([sample["x"] for sample in SAMPLES]))
    common = ["quantize", tmp_path / "net.tosa", "--data", tmp_path / "x.npy", "-o", tmp_path / "int.tosa", *FLAGS]
    return lambda *words: command(*common, *words)


def test_the_command_keeps_finished_layers_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, call: Callable[..., Any], tmp_path: Path
) -> None:
    out, journal = tmp_path / "int.tosa", tmp_path / "int.tosa.journal"
    assert call().code == 0
    whole = out.read_bytes()
    out.unlink()
    assert not journal.exists()  # the result is there: it has served
    with monkeypatch.context() as patch:
        patch.setattr(rounding, "_solve", Stop(rounding._solve, 2))
        done = call()
    assert (done.code, out.exists()) == (130, False)
    assert f"{journal}: 4 parts are kept; --resume goes on from there" in done.err
    done = call("--resume")
    assert (done.code, "4 parts are there already" in done.err) == (0, True)
    assert out.read_bytes() == whole
    assert not journal.exists()


def test_a_journal_is_of_one_model_and_one_set_of_options(
    monkeypatch: pytest.MonkeyPatch, call: Callable[..., Any], tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(bias, "mean_error", Stop(bias.mean_error, 0))
        assert call("--journal", tmp_path / "j").code == 130
    done = call("--journal", tmp_path / "j", "--resume", "--rounding-seed", "1")
    assert (done.code, "j: made with another options; without --resume it is begun anew" in done.err) == (6, True)
    done = call("--journal", tmp_path / "net.tosa")
    assert (done.code, "net.tosa: not a journal of tosa-engine" in done.err) == (6, True)
    lines = (tmp_path / "j").read_text().splitlines()
    for broken in ({}, {"other": "", "found": {}}, {"other": "AAAA", "found": 3}, 7, {"other": 3, "found": {}}):
        part = json.dumps({"part": json.loads(lines[-1])["part"], "content": broken})
        (tmp_path / "j").write_text("\n".join([*lines[:-1], part, ""]))
        done = call("--journal", tmp_path / "j", "--resume")
        assert (done.code, "isn't what this program keeps" in done.err) == (6, True), done.err


def test_parts_of_another_form_are_refused() -> None:
    journal = Journal()
    with pytest.raises(DataError, match="'conv' isn't what this program keeps"), journal.reading("conv"):
        raise KeyError("scale")


def test_resume_is_for_methods_with_samples(command: Callable[..., Any], tmp_path: Path) -> None:
    serialize.write(NETWORK, tmp_path / "net.tosa")
    done = command("quantize", tmp_path / "net.tosa", "--resume", "-o", tmp_path / "int.tosa")
    assert (done.code, "--resume is about methods with samples: give --data" in done.err) == (2, True)
