"""Every lint, by its label, on a graph that triggers it and on one that just doesn't; and the numbers in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.lints import of_statistics, saturated
from quant.calibration.methods import Method
from quant.calibration.observe import collect
from quant.calibration.statistics import TensorStatistics
from quant.legalize.lints import LABELS
from quant.legalize.quantize import Report, quantize
from tosa_engine import serialize, types
from tosa_engine.graph import Graph, QParams
from tosa_engine.qparams import sidecar

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = QParams((0.5,), (0,))
SIXTEEN = QParams((0.5,), (0,), 16, symmetric=True)


def found(graph: Graph) -> list[str]:
    report = Report()
    quantize(graph, report)
    return list(map(str, report.lints))


def convolution(weight: Any, bias: Any, x: QParams = HALF, y: QParams | None = HALF) -> Graph:
    weight = np.asarray(weight, np.float32)
    f = Floats()
    into = f.input((1, 1, 1, weight.shape[-1]), x)
    return f.outputs(f.conv(into, weight.reshape(len(weight), 1, 1, -1), np.asarray(bias, np.float32), y, name="y"))


def lint_bias(large: bool) -> list[str]:
    """The bias is at scale 0.5 * 2^-20 and may have 30 bits: 1024 would be 31."""
    return found(convolution([[127 * 2.0**-20], [1.0]], [1024.0 if large else 256.0, 1.0], y=QParams((8.0,), (0,))))


def lint_accumulator(large: bool) -> list[str]:
    """128 * 127 * N beside 2^31."""
    f = Floats()
    n = 100_000 if large else 60_000
    x = f.input((1, 1, 1, n), HALF)
    return found(f.outputs(f.conv(x, np.ones((1, 1, 1, n)), np.zeros(1), QParams((500.0,), (0,)), name="y")))


def lint_degenerate(large: bool) -> list[str]:
    """`large`: the same in every sample."""
    f = Floats()
    y = f.op("ADD", [f.input((1, 4)), f.const([[0.5]])], name="y")
    graph = f.outputs(y)
    values = [np.full((1, 4), 1.0 if large else 1.0 + i, np.float32) for i in range(3)]
    statistics = collect(graph, enumerate({"x": v} for v in values))
    return [lint for lint in map(str, of_statistics(attach(graph, statistics), statistics.tensors)) if "'y'" in lint]


def lint_concat(large: bool) -> list[str]:
    f = Floats()
    narrow = QParams((0.5 / (32 if large else 16),), (0,))
    parts = [f.input((1, 3), HALF, "a"), f.input((1, 2), narrow, "b")]
    return found(f.outputs(f.op("CONCAT", parts, HALF, name="y", axis=1)))


def lint_scale(large: bool) -> list[str]:
    f = Floats()
    fine = QParams((0.5 / (8192 if large else 4096),), (0,))
    return found(
        f.outputs(f.op("RESHAPE", [f.input((1, 3), HALF), f.const((3, 1), dtype=types.shape)], fine, name="y"))
    )


def lint_saturation(large: bool) -> list[str]:
    """Of 1,000 values 20 or 5 are beyond the range, the latter by little."""
    f = Floats()
    graph = f.outputs(f.op("ABS", [f.input((1, 1000))], name="y"))
    values = np.linspace(0.1, 1, 1000, dtype=np.float32).reshape(1, 1000)
    values[0, -(20 if large else 5) :] = 50.0 if large else 1.01
    statistics = collect(graph, [(0, {"x": values})])
    ready = attach(graph, statistics)
    ready.main.tensors["y"].quant = QParams((1 / 255,), (-128,))
    return [lint for lint in map(str, of_statistics(ready, statistics.tensors)) if "'y'" in lint]


def lint_channels(large: bool) -> list[str]:
    """Channels 8 or 4 times apart, each normalised, with scales that a file gives."""
    f = Floats()
    x = f.op("SUB", [f.input((1, 2), HALF, "y"), f.const([[0.0, 1.0]])], HALF)
    return found(f.outputs(f.op("MUL", [x, f.const([[1.0, 0.125 if large else 0.25]])], HALF)))


CASES = {
    "QUANT.L1": (lint_bias, "the bias of 1 of 2 channels (0) would need up to 1.0 bits more than the 30 that leave"),
    "QUANT.L2": (lint_accumulator, "the accumulator may reach 1625600000, which leaves 0.40 bits of int32"),
    "QUANT.L3": (lint_degenerate, "1.5 everywhere in every sample; the range is from 0 to there"),
    "QUANT.L4": (lint_concat, "CONCAT gives 'b' (32 times, 5.0 bits lost) a coarser step than its own"),
    "QUANT.L5": (lint_scale, "a RESCALE applies the scale 2^13.0, above 2^12"),
    "QUANT.L6": (lint_saturation, "2.0 % of the values are beyond the range 0 .. 1; they reach from 0.1 to 50"),
    "QUANT.L7": (lint_channels, "a step of int8 is 8 times that of its smallest channel"),
}


def test_every_label_has_a_case() -> None:
    assert set(CASES) == set(LABELS)


@pytest.mark.parametrize("label", LABELS)
def test_lint(label: str) -> None:
    make, message = CASES[label]
    (line,) = make(True)
    assert line.startswith(f"{label}: {message}"), line
    assert line.endswith("(tensor 'y')")
    assert make(False) == []


def test_scales_of_int48_can_be_too_small() -> None:
    """Its RESCALE has 16-bit multipliers: scales down to 2^-48 can be applied, but 2^-32 is what targets know."""
    y = QParams((2.0**36,), (0,), 16, symmetric=True)
    report = Report()
    quantize(convolution([[127.0]], [0.0], SIXTEEN, y), report)
    assert [str(lint) for lint in report.lints] == [
        "QUANT.L5: a RESCALE applies the scale 2^-37.0, below 2^-32 (tensor 'y')"
    ]
    assert report.wide_accumulators == {"y"}
    report = Report()
    quantize(convolution([[127.0 * 2**-20]], [0.0], SIXTEEN, y), report)
    assert "weights of 1 of 1 channels (0) are so small that a RESCALE would apply 2^-57.0" in str(report.lints[0])


def test_what_a_clamp_cuts_off_does_not_count_as_saturation() -> None:
    f = Floats()
    y = f.relu(f.conv(f.input((1, 1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros(1), name="conv"), high=1.0)
    graph = f.outputs(y)
    samples = [{"x": np.full((1, 1, 1, 1), v, np.float32)} for v in np.linspace(-5, 5, 50)]
    statistics = collect(graph, enumerate(samples))
    ready = attach(graph, statistics)
    assert saturated(statistics.tensors["conv"], ready.main.tensors["conv"].quant or HALF) > 0.5
    assert [lint for lint in of_statistics(ready, statistics.tensors) if lint.tensor != "x"] == []
    assert list(of_statistics(ready, statistics.tensors, {"x", "conv", "clamp"})) == []


def test_few_values_that_carry_much_are_worth_a_word() -> None:
    """`entropy` cuts off 0.5 % of the values here; `mse` and `minmax` keep them."""
    f = Floats()
    graph = f.outputs(f.op("ABS", [f.input((1, 4000))], name="y"))
    values = np.abs(np.random.default_rng(1).normal(size=(1, 4000))).astype(np.float32)
    values[0, ::200] *= 8
    statistics = collect(graph, [(0, {"x": values})])
    lints = {}
    for method in ("entropy", "mse", "minmax"):
        ready = attach(graph, statistics, Scheme(Method(method)))
        lints[method] = [str(lint) for lint in of_statistics(ready, statistics.tensors) if lint.tensor == "y"]
    assert lints["mse"] == lints["minmax"] == []
    (line,) = lints["entropy"]
    assert re.search(r"QUANT.L6: 0\.\d+ % of the values are beyond .* that costs \d+\.\d dB, the whole range", line), (
        line
    )


def test_the_ends_of_normal_values_are_worth_none() -> None:
    """What `entropy` cuts off there is far below what int8 rounds."""
    f = Floats()
    graph = f.outputs(f.op("ABS", [f.input((1, 4000))], name="y"))
    for seed in range(4):
        values = np.abs(np.random.default_rng(seed).normal(size=(1, 4000))).astype(np.float32)
        statistics = collect(graph, [(0, {"x": values})])
        ready = attach(graph, statistics, Scheme(Method("entropy")))
        assert [lint for lint in of_statistics(ready, statistics.tensors) if lint.tensor == "y"] == []


def test_the_share_that_saturates() -> None:
    seen = TensorStatistics()
    seen.see(np.array([-70.0, -64.0, 0.0, 1.0, 2.0, 63.5, 63.75, 80.0], np.float32))
    assert saturated(seen, HALF) == 0.25  # a step beyond is rounding's
    assert saturated(seen, QParams((1.0,), (0,))) == 0.0


def test_the_command_line_prints_and_keeps_them(command: Callable[..., Any], tmp_path: Path) -> None:
    f = Floats()
    a, b = f.input((1, 3), name="a"), f.input((1, 2), name="b")
    serialize.write(f.outputs(f.op("CONCAT", [a, b], name="y", axis=1)), tmp_path / "net.tosa")
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", a=rng.normal(size=(8, 1, 3)).astype("f4"), b=rng.normal(size=(8, 1, 2)) / 100)
    common = ["--bits", "16", "--statistics", tmp_path / "s.json"]
    done = command(
        "calibrate", tmp_path / "net.tosa", "--data", tmp_path / "x.npz", *common, "-o", tmp_path / "g.quant"
    )
    assert done.code == 0, done.err
    done = command("quantize", tmp_path / "net.tosa", *common, "-o", tmp_path / "int.tosa")
    assert done.code == 0, done.err
    assert "warning: QUANT.L4: CONCAT gives 'b' (" in done.err
    assert any("QUANT.L4" in note for note in sidecar.record(tmp_path / "int.tosa").notes)


def test_the_summary_names_the_accumulators_type(command: Callable[..., Any], tmp_path: Path) -> None:
    serialize.write(convolution([[1.0]], [0.0]), tmp_path / "net.tosa")
    np.save(tmp_path / "x.npy", np.ones((2, 1, 1, 1, 1), np.float32))
    for bits, kind in ((8, "int32"), (16, "int48")):
        done = command("quantize", tmp_path / "net.tosa", "--data", tmp_path / "x.npy", "--bits", bits, "-o",
                       tmp_path / "int.tosa")  # fmt: skip
        assert done.out.splitlines()[-1].endswith(f" bits of {kind} to spare"), done.err


def test_the_page_has_every_label() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lints.md").read_text(encoding="utf-8")
    assert [line.split()[1] for line in page.splitlines() if line.startswith("| QUANT")] == list(LABELS)
