"""`quant.quantize_from_samples`, and the same from the command line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.improve.post_training import Options, quantize_from_samples
from quant.legalize.layers import LayerRule
from tosa_engine import serialize, types
from tosa_engine.errors import DataError, Problems, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph

RNG = np.random.default_rng(2)
SAMPLES = [{"x": RNG.normal(size=(1, 4, 4, 3)).astype(np.float32)} for _ in range(5)]


def network() -> Graph:
    f = Floats()
    x = f.input((1, 4, 4, 3))
    for i, (inputs, outputs) in enumerate([(3, 6), (6, 6), (6, 4)]):
        weight = RNG.normal(size=(outputs, 1, 1, inputs)).astype(np.float32)
        x = f.relu(f.conv(x, weight, RNG.normal(size=outputs).astype(np.float32), name=f"conv{i}"))
    return f.outputs(x)


NETWORK = network()
EVERYTHING = Options(
    equalize=True, smooth=0.5, rounding="adaround", bias_correction=True, weight_bits=4,
    rules=(LayerRule("conv0", "int16"),), rounding_layers=("conv1", "conv2"), bias_layers=("op:CONV2D",),
)  # fmt: skip


def test_all_methods_together() -> None:
    told: list[str] = []
    result = quantize_from_samples(NETWORK, SAMPLES, EVERYTHING, told.append)
    assert told == result.notes
    kinds = [note.split(": ")[0] for note in told]
    assert kinds == ["precision", *["equalize"] * 2, *["smooth"] * 2, *["adaround"] * 2, *["bias"] * 4]
    assert all(note.endswith((": kept", ": dropped")) for note in told if note.startswith(("equalize", "smooth")))
    assert re.fullmatch(r"bias: \d of 3 corrections kept", told[-1])
    assert result.precisions == {"conv0": "int16", "conv1": "int4", "conv2": "int4"}
    assert {t.dtype for t in result.graph.main.tensors.values()} >= {types.i4, types.i16, types.i48}
    assert not any(t.dtype.is_float for t in result.graph.main.tensors.values())
    again = quantize_from_samples(NETWORK, SAMPLES, EVERYTHING)
    assert serialize.tosa_to_bytes(again.graph) == serialize.tosa_to_bytes(result.graph)


def test_layers_that_stay_in_float_are_left_alone() -> None:
    options = Options(rounding="adaround", bias_correction=True, rules=(LayerRule("conv1", "float"),))
    result = quantize_from_samples(NETWORK, SAMPLES, options)
    assert [note.split(": ")[1] for note in result.notes[1:-1]] == ["conv0", "conv2"] * 2
    (middle,) = (op for op in result.graph.main.operators if op.attributes.get("acc_type") is types.fp32)
    assert middle.name == "conv1"


def test_every_selector_without_a_layer_is_an_error() -> None:
    options = Options(rounding="adaround", bias_correction=True, rounding_layers=("nobody",), bias_layers=("op:ADD",))
    with pytest.raises(Problems) as raised:
        quantize_from_samples(NETWORK, SAMPLES, options)
    assert [str(p) for p in raised.value.problems] == [
        "'nobody' matches no layer for adaround; there are conv0, conv1, conv2",
        "'op:ADD' matches no layer for bias correction; there are conv0, conv1, conv2",
    ]


def test_samples_that_can_be_read_once_are_refused() -> None:
    with pytest.raises(UsageError, match="read several times"):
        quantize_from_samples(NETWORK, iter(SAMPLES))
    with pytest.raises(DataError, match="at least one sample"):
        quantize_from_samples(NETWORK, [])


@pytest.mark.parametrize("wrong", [{"rounding": "up"}, {"weight_bits": 5}])
def test_options_that_do_not_exist(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Options(**wrong)


def test_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    model, data, out = tmp_path / "net.tosa", tmp_path / "data.npz", tmp_path / "int.tosa"
    serialize.write(NETWORK, model)
    np.savez(data, x=np.stack([sample["x"] for sample in SAMPLES]))
    flags = ("--equalize", "--smooth", "--rounding", "adaround", "--bias-correction", "--layer", "conv1=int4")
    done = command("quantize", model, "--data", data, "--samples", 4, *flags, "-o", out)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "precision: 2 layers int8, 1 int4 (conv1)"
    assert done.out.count("adaround: ") == 3
    record = json.loads(out.with_suffix(".config.json").read_text())
    assert record["options"]["rules"] == ["conv1 = int4"]
    assert record["options"]["smooth"] == 0.5
    assert record["layers"] == {"conv0": "int8", "conv1": "int4", "conv2": "int8"}
    assert record["data"]["used"] == 4
    assert any(t.dtype is types.i4 for t in serialize.read(out).main.tensors.values())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--equalize"], "--equalize needs samples: give --data"),
        (["--rounding", "adaround", "--bias-correction"], "--rounding, --bias-correction needs samples: give --data"),
        (["--random", "3", "--statistics", "s.json"], "--statistics and --random each say how to quantize"),
        (
            ["--random", "3", "--rounding-layers", "a"],
            "--rounding-layers chooses layers for --rounding adaround, which",
        ),
        (["--layers", "f"], "--layers needs ranges for these precisions: give --statistics or --data"),
        (["--random", "3", "--layer", "nobody=int8"], "'nobody = int8' matches no layer"),
        (["--random", "3", "--bits", "16", "--weight-bits", "4"], "no operator of 16-bit activations and 4-bit"),
    ],
)
def test_wrong_flags(command: Callable[..., Any], tmp_path: Path, flags: list[str], message: str) -> None:
    model = tmp_path / "net.tosa"
    serialize.write(NETWORK, model)
    done = command("quantize", model, *flags, "-o", tmp_path / "int.tosa")
    assert (done.code, message in done.err) == (2, True), done.err
