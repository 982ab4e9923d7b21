"""Calibration: ranges over samples, sharing, weights; and the verbs `calibrate` and `quantize`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.calibration.calibrate import calibrate
from quant.ranges import FIXED, activation_qparams
from tosa_engine import types
from tosa_engine.errors import DataError
from tosa_engine.formats import open_model
from tosa_engine.frontends.nnef.files import graph_quant
from tosa_engine.graph import QParams
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


def network() -> Graph:
    """conv - relu - pad - max pool - reshape - softmax, and a second output through sigmoid."""
    f = Floats()
    rng = np.random.default_rng(0)
    c = f.conv(f.input((1, 4, 4, 2)), rng.normal(size=(3, 1, 1, 2)).astype(np.float32), np.zeros(3, np.float32))
    r = f.relu(c)
    p = f.op("PAD", [r, f.const((0, 0, 1, 1, 0, 0, 0, 0), dtype=types.shape), f.const([0.0])])
    m = f.op("MAX_POOL2D", [p], kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0))
    v = f.op("RESHAPE", [m, f.const((1, 18), dtype=types.shape)])
    return f.outputs(f.composite("softmax", v, axis=1), f.composite("sigmoid", v))


def some(count: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=(1, 4, 4, 2)).astype(np.float32)} for _ in range(count)]


def test_ranges_are_those_of_all_samples_whatever_their_order() -> None:
    samples = some(7)
    found = calibrate(network(), samples)
    everything = np.stack([s["x"] for s in samples])
    assert found.samples == 7
    assert (found.statistics.tensors["x"].low, found.statistics.tensors["x"].high) == (
        everything.min(),
        everything.max(),
    )
    assert found.qparams["x"] == activation_qparams(float(everything.min()), float(everything.max()))
    assert calibrate(network(), samples[::-1]).qparams == found.qparams
    assert calibrate(network(), samples, limit=2).qparams == calibrate(network(), samples[:2]).qparams


def test_who_shares_with_whom() -> None:
    q = calibrate(network(), some(5)).qparams
    relu = q["clamp"]
    assert relu.zero_point == (-128,)
    assert q["conv2d"] == relu
    assert q["pad"] == q["max_pool2d"] == q["reshape"] == relu
    assert (q["softmax"], q["sigmoid"]) == (FIXED["softmax"], FIXED["sigmoid"])


def test_weights_get_a_scale_per_output_channel() -> None:
    q = calibrate(network(), some(1), weights={"w": np.array([[1.27, 0.0], [0.0, -2.54]], np.float32)}).qparams
    assert q["w"].scale == pytest.approx((0.01, 0.02))
    assert q["w"].symmetric
    assert next(iter(q)) == "w"


def test_zeros_and_constants_are_warned_about() -> None:
    f = Floats()
    x = f.input((1, 2))
    zero = f.op("SUB", [x, x], name="nothing")
    one = f.op("ADD", [zero, f.const([[1.5]])], name="constant")
    found = calibrate(f.outputs(zero, one), [{"x": np.ones((1, 2), np.float32)}])
    assert found.warnings == [
        "QUANT.L3: 1.0 everywhere in every sample; the range is from 0 to there (tensor 'x')",
        "QUANT.L3: zero in every sample; the scale is 1/128 (tensor 'nothing')",
        "QUANT.L3: 1.5 everywhere in every sample; the range is from 0 to there (tensor 'constant')",
    ]
    assert found.qparams["nothing"] == QParams((1 / 128,), (0,))


def test_nan_that_only_appears_inside_is_named() -> None:
    f = Floats()
    x = f.input((1, 2))
    y = f.op("EXP", [x], name="huge")
    with pytest.raises(DataError, match=r"calibration sample 1 gives NaN or infinity \(node 'huge', tensor 'huge'\)"):
        calibrate(f.outputs(y), [{"x": np.full((1, 2), v, np.float32)} for v in (1.0, 1000.0)])


def test_no_samples() -> None:
    with pytest.raises(DataError, match="at least one sample"):
        calibrate(network(), [])


# the verbs, on the digits example


DATA = DIGITS / "digits_data.npz"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copied = tmp_path_factory.mktemp("model") / "digits.nnef"
    shutil.copytree(DIGITS / "digits.nnef", copied)
    return copied


def test_calibrate_then_quantize(command: Callable, model: Path, tmp_path: Path) -> None:
    quant, tosa = tmp_path / "graph.quant", tmp_path / "digits.tosa"
    done = command("calibrate", model, "--data", DIGITS / "digits_data.npz", "-o", quant, "--samples", 20)
    assert (done.code, done.err) == (0, "")  # no bar: stderr isn't a terminal
    assert "ranges of 20 samples" in done.out
    found = graph_quant.read(quant)
    assert found["output"] == FIXED["softmax"]
    assert found["input"].zero_point == (-128,)
    assert len(found["c1_filter"].scale) == 16
    assert found["c1_filter"].symmetric
    assert found["n5"] != found["r5"]
    assert "c1_mean" not in found
    done = command("quantize", model, "--quant", quant, "-o", tosa)
    assert (done.code, done.err) == (0, "")
    assert "bits of int32 to spare" in done.out
    assert load(tosa).outputs[0].quant.zero_point == (-128,)
    first = tosa.read_bytes()
    assert command("quantize", model, "--quant", quant, "-o", tosa).code == 0
    assert tosa.read_bytes() == first
    assert sorted(os.listdir(tmp_path)) == ["digits.tosa", "graph.quant"]


def test_the_graph_quant_inside_the_model_is_the_default(command: Callable, model: Path, tmp_path: Path) -> None:
    none = command("quantize", model, "-o", tmp_path / "digits.tosa")
    assert none.code == 2
    assert "has no graph.quant inside: give one with --quant (calibrate makes one), or samples with --data" in none.err
    inside = tmp_path / "digits.nnef"
    shutil.copytree(model, inside)
    data = DIGITS / "digits_data.npz"
    assert command("calibrate", inside, "--data", data, "-o", inside / "graph.quant", "--samples", 3).code == 0
    assert command("quantize", inside, "-o", tmp_path / "digits.tosa").code == 0


def test_weights_keep_all_codes_through_batch_normalisation(model: Path, command: Callable, tmp_path: Path) -> None:
    """graph.quant holds scales of the NNEF variables; folded into the convolution they still use -127 .. 127."""
    from quant.legalize.quantize import Report, quantize

    quant = tmp_path / "graph.quant"
    command("calibrate", model, "--data", DIGITS / "digits_data.npz", "-o", quant, "--samples", 3)
    report = Report()
    integer = quantize(open_model(model).graph(graph_quant.read(quant), for_integers=True), report)
    assert report.notes == []
    filters = [
        integer.main.tensors[op.inputs[1]].data
        for op in integer.main.operators
        if op.op in ("CONV2D", "DEPTHWISE_CONV2D")
    ]
    assert len(filters) == 6
    for stored in filters:
        assert stored is not None
        assert np.abs(stored).max() == 127


def test_a_float_tosa_file_is_calibrated_by_its_own_names(command: Callable, model: Path, tmp_path: Path) -> None:
    """Composites are gone from it; softmax is a TABLE, a sum, a TABLE and a product there."""
    from tosa_engine import Session, load, serialize

    floats, quant, tosa = tmp_path / "float.tosa", tmp_path / "graph.quant", tmp_path / "int.tosa"
    serialize.write(load.load(model), floats)
    assert command("calibrate", floats, "--data", DIGITS / "digits_data.npz", "-o", quant, "--samples", 50).code == 0
    assert command("quantize", floats, "--quant", quant, "-o", tosa).code == 0
    with np.load(DIGITS / "digits_data.npz") as data:
        images, labels = data["test_images"][:40], data["test_labels"][:40]
    found = graph_quant.read(quant)["input"]
    session = Session(tosa)
    stored = np.clip(np.rint(images / found.scale[0]) + found.zero_point[0], -128, 127).astype(np.int8)
    answers = [int(session.run(None, {"input": image[None]})[0].argmax()) for image in stored]
    assert np.mean(np.array(answers) == labels) >= 0.9


def test_missing_lines_are_all_named(command: Callable, model: Path, tmp_path: Path) -> None:
    quant = tmp_path / "graph.quant"
    command("calibrate", model, "--data", DIGITS / "digits_data.npz", "-o", quant, "--samples", 3)
    lines = quant.read_text().splitlines(keepends=True)
    quant.write_text("".join(line for line in lines if not line.startswith(('"logits"', '"mean"', '"features"'))))
    done = command("quantize", model, "--quant", quant, "-o", tmp_path / "digits.tosa")
    assert done.code == 6
    assert "tensor 'logits'" in done.err
    assert "no quantization parameters" in done.err
    assert "graph.nnef:" in done.err
    assert not (tmp_path / "digits.tosa").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["calibrate", "MODEL", "--data", "absent.npz", "-o", "OUT/g.quant"],
            6,
            "absent.npz: no such data",
        ),
        (["calibrate", "MODEL", "--data", "absent.npz", "-o", "OUT/g.txt"], 2, "the name must end in .quant"),
        (["calibrate", "MODEL", "--data", "absent.npz", "-o", "OUT/no/g.quant"], 6, "no such folder"),
        (["calibrate", "MODEL", "--data", "absent.npz", "-o", "OUT/g.quant", "--samples", "0"], 2, "--samples"),
        (["calibrate", "MODEL", "-o", "OUT/g.quant"], 2, "--data"),
        (["quantize", "MODEL", "--quant", "OUT/absent.quant", "-o", "OUT/m.tosa"], 6, "absent.quant"),
        (["quantize", "MODEL", "--quant", "OUT/absent.quant", "-o", "OUT/m.onnx"], 2, "must end in .tosa or .json"),
    ],
)
def test_wrong_calls(
    command: Callable, model: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    done = command(*(a.replace("MODEL", str(model)).replace("OUT", str(tmp_path)) for a in arguments))
    assert done.code == code
    assert message in done.err
    assert os.listdir(tmp_path) == []


def test_names_that_the_model_does_not_have(command: Callable, model: Path, tmp_path: Path) -> None:
    quant = tmp_path / "graph.quant"
    graph_quant.write({"imput": QParams((0.1,), (0,))}, quant)
    done = command("quantize", model, "--quant", quant, "-o", tmp_path / "digits.tosa")
    assert done.code == 6
    assert f"{quant}:1:1: the document has no tensor 'imput'" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["quantize", "--quant", "Q", "--bits", 16, "--method", "mse"],
         "--method, --bits: how ranges are found, but Q has them already; give --statistics or --data"),
        (["quantize", "--quant", "Q", "--weights", "per-tensor"],
         "--weights: how ranges are found, but Q has them already; give --statistics or --data"),
        (["quantize", "--quant", "Q", "--samples", 3],
         "--samples counts those of --data or --random, and neither is given"),
        (["quantize", "--quant", "Q", "--seed", 3], "--seed is for --random"),
        (["quantize", "--quant", "Q", "--image-mean", 3],
         "--image-mean: there is no folder of pictures; give it with --data"),
        (["quantize", "--data", DATA, "--percentile", 99], "--percentile is for --method percentile"),
        (["calibrate", "--merge", "Q", "--from", 3], "--from is for data; --merge takes whole statistics"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_flags_that_would_do_nothing(
    arguments: list[Any], message: str, command: Callable, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = "m.tosa" if arguments[0] == "quantize" else "m.quant"
    done = command(arguments[0], model, *arguments[1:], "-o", output)
    assert (done.code, done.err) == (2, f"error: {message}\n")


def test_a_model_that_is_integer_already(command: Callable, model: Path, tmp_path: Path) -> None:
    integer, floats, stats = tmp_path / "m.tosa", tmp_path / "g.quant", tmp_path / "s.json"
    line = [model, "--data", DATA, "--samples", 3]
    assert command("calibrate", *line, "--statistics", stats, "-o", floats).code == 0
    assert command("quantize", *line, "-o", integer).code == 0
    for again in (
        ["calibrate", integer, "--data", DATA, "-o", floats],
        ["quantize", integer, "--data", DATA, "-o", tmp_path / "x.tosa"],
        ["quantize", integer, "--statistics", stats, "-o", tmp_path / "x.tosa"],
        ["report", integer, model, "--data", DATA, "-o", tmp_path / "r.html"],
        ["search", integer, "--data", DATA, "--statistics", stats, "--sqnr", 30],
    ):
        done = command(*again)
        assert (done.code, done.err) == (2, f"error: '{integer}' computes in integers already: give the float model\n")
