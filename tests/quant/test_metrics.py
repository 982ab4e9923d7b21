"""Metrics by hand-made numbers, and where their targets come from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.metrics import Reading, find_targets, parse, read_targets
from quant.metrics.metric import Metric
from tosa_engine import Session, serialize, types
from tosa_engine.errors import DataError, UsageError
from tosa_engine.graph import Tensor
from tosa_engine.samples.arrays import RandomSamples, array_samples
from tosa_engine.samples.images import ImageSamples, Preparation
from tosa_engine.samples.loader import LoaderSamples

if TYPE_CHECKING:
    from collections.abc import Sequence

SCORES = [[[0.1, 0.7, 0.2]], [[0.5, 0.4, 0.1]], [[0.2, 0.2, 0.6]], [[0.1, 0.5, 0.4]]]


def value(metric: str | Metric, outputs: Sequence[Any], targets: Sequence[Any]) -> float:
    tally = (parse(metric) if isinstance(metric, str) else metric).tally()
    for output, target in zip(outputs, targets, strict=True):
        tally.add({"y": np.asarray(output)}, np.asarray(target))
    return tally.value()


def test_accuracy_and_top_k() -> None:
    assert value("accuracy", SCORES, [1, 1, 2, 0]) == 50
    assert value("top2", SCORES, [1, 1, 2, 0]) == 75
    assert value("top3", SCORES, [1, 1, 2, 0]) == 100
    assert value("top1", [[1.0, 1.0]], [1]) == 0  # the first of equal ones is the largest, as for accuracy
    assert value("accuracy", [np.array([2]), np.array([1])], [2, 2]) == 50  # what ARGMAX gives


def test_accuracy_of_every_place() -> None:
    """Classes along axis 1 (NNEF) or last (TOSA): the axis that the target doesn't have."""
    classes = np.array([[0, 1, 2], [2, 1, 0]])
    scores = np.eye(3)[classes]  # 2 x 3 places of 3 classes
    wrong = classes.copy()
    wrong[0, 0] = 1
    assert value("accuracy", [scores[None]], [classes]) == 100
    assert value("accuracy", [scores.transpose(2, 0, 1)[None]], [wrong]) == pytest.approx(100 * 5 / 6)
    with pytest.raises(DataError, match=r"shape \[4\] isn't one number for each place of an output of \[1, 2, 3, 3\]"):
        value("accuracy", [scores[None]], [np.zeros(4, int)])


def test_squares() -> None:
    targets, outputs = [1.0, 2.0, 3.0, 6.0], [[1.5], [2.0], [2.0], [6.0]]
    assert value("rmse", outputs, targets) == pytest.approx(math.sqrt(1.25 / 4))
    assert value("r2", outputs, targets) == pytest.approx(1 - 1.25 / 14)
    assert value("psnr", outputs, targets) == pytest.approx(10 * math.log10(25 / (1.25 / 4)))
    assert value("psnr", targets, targets) == math.inf
    two = [[t, 10 * t] for t in targets]  # the mean of both columns, as scikit-learn's default
    assert value("r2", [[[o[0], 10 * t]] for o, t in zip(outputs, targets, strict=True)], two) == pytest.approx(
        1 - 1.25 / 14 / 2
    )
    assert not parse("rmse").higher
    assert parse("rmse").loss(1.0, 1.5) == 0.5
    assert parse("r2").loss(1.0, 1.5) == -0.5
    assert parse("psnr").loss(math.inf, math.inf) == 0


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of the current folder with a name of its own."""
    name = f"metrics_of_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(
        "def bias(targets, outputs):\n    assert outputs.shape == (4, 3) and targets.shape == (4,)\n"
        "    return (outputs.argmax(1) - targets).mean()\n"
        "def pairs():\n    return [([1.0, 2.0, 3.0], 4), ([1.0, 2.0, 3.0], 5)]\n"
        "def bare():\n    return [x for x, _ in pairs()]\n"
        "def bad(targets, outputs):\n    raise KeyError('x')\n"
    )
    monkeypatch.chdir(tmp_path)
    return name


def test_a_function_gets_all_samples(module: str) -> None:
    assert value(f"{module}:bias", SCORES, [1, 1, 2, 0]) == 0
    assert value(f"{module}:bias", SCORES, [1, 0, 2, 0]) == 0.25
    assert not parse(f"{module}:bias:lower").higher
    with pytest.raises(UsageError, match=f"--metric {module}:bad: KeyError: 'x'"):
        value(f"{module}:bad", SCORES, [1, 1, 2, 0])
    with pytest.raises(UsageError, match=f"module '{module}' has no function 'none'"):
        parse(f"{module}:none")


@pytest.mark.parametrize(
    ("metric", "outputs", "targets", "message"),
    [
        ("accuracy", [[0.3]], [1], "accuracy is of the largest of several values, and the output has one"),
        ("accuracy", SCORES, [1, 1, 2, 3], r"a target is 3 \.\. 3, the classes are 0 \.\. 2"),
        ("accuracy", SCORES, [1.0, 1.0, 2.0, 2.0], "targets of accuracy are indices: integers, not float64"),
        ("r2", [[1.0], [2.0]], [1.0, 1.0], "r2 needs targets that differ; all of them are 1"),
        ("rmse", [[1.0, 2.0]], [1.0], "a target has 1 numbers, the output 2"),
        ("rmse", [[1.0]], [math.nan], "the target of sample 0 has NaN or infinity in it"),
        (
            "f1",
            [],
            [],
            r"unknown metric 'f1'; choose from: accuracy, topK \(top5\), r2, rmse, psnr, or module:function",
        ),
        ("nowhere:f", [], [], "--metric nowhere:f: ModuleNotFoundError"),
    ],
)
def test_what_makes_no_sense(metric: str, outputs: list[Any], targets: list[Any], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        value(metric, outputs, targets)


def test_several_outputs_are_for_functions() -> None:
    tally = parse("rmse").tally()
    with pytest.raises(UsageError, match=r"the network has 2 outputs \(a, b\): give --metric module:function"):
        tally.add({"a": np.zeros(1), "b": np.zeros(1)}, np.zeros(1))
    every = Metric("every", lambda: tally)
    assert every.higher


def test_readings_have_units() -> None:
    shown = [str(Reading(name, 99.1234567)) for name in ("accuracy", "top5", "psnr", "r2", "m:f")]
    assert shown == ["accuracy 99.12 %", "top5 99.12 %", "psnr 99.12 dB", "r2 99.123", "m:f 99.123"]


X = Tensor("x", types.fp32, (1, 3))


def test_targets_lie_next_to_the_samples(tmp_path: Path) -> None:
    x, y = np.zeros((4, 3), np.float32), np.array([1, 2, 0, 1])
    for keys in ({"x": x, "y": y}, {"x": x, "labels": y}, {"test_images": x, "test_labels": y, "labels": y[:2]}):
        file = tmp_path / f"{'_'.join(keys)}.npz"
        np.savez(file, **keys)  # type: ignore[arg-type]
        if "x" in keys:
            found = find_targets(array_samples(file, [X]))
            assert (len(found), int(found[1]), found.are_labels) == (4, 2, True)
    np.savez(tmp_path / "pair.npz", calibration_images=x, calibration_labels=y, labels=y[:2])
    assert find_targets(array_samples(tmp_path / "pair.npz", [X])).source.endswith("pair.npz:calibration_labels")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    assert find_targets(array_samples(tmp_path / "x.npy", [X])).source == str(tmp_path / "y.npy")
    parts = tmp_path / "parts"
    parts.mkdir()
    for i in range(2):
        np.savez(parts / f"{i}.npz", x=x[: i + 1], y=y[: i + 1])
    assert find_targets(array_samples(parts, [X])).array.tolist() == [1, 1, 2]


def test_class_folders_are_labels() -> None:
    files = [Path("data", *where) for where in (("cat", "1.png"), ("cat", "2.png"), ("dog", "1.png"))]
    pictures = ImageSamples(files, Tensor("x", types.fp32, (1, 2, 2, 3)), Preparation(), "NHWC", Path("data"))
    found = find_targets(pictures)
    assert (found.array.tolist(), found.are_labels, found.source) == ([0, 0, 1], True, "2 class folders: cat, dog")
    with pytest.raises(UsageError, match="a metric needs the right answers"):
        find_targets(replace(pictures, folder=Path("data", "cat"), files=files[:2]))


def test_pairs_of_a_function_have_labels(module: str) -> None:
    assert find_targets(LoaderSamples(f"{module}:pairs", [X])).array.tolist() == [4, 5]
    with pytest.raises(UsageError, match="bare: a metric needs the right answers: give pairs of an array and a label"):
        find_targets(LoaderSamples(f"{module}:bare", [X]))


def test_targets_that_are_not_there(tmp_path: Path) -> None:
    x, y = np.zeros((4, 3), np.float32), np.array([1, 2, 0, 1])
    np.savez(tmp_path / "none.npz", x=x)
    np.savez(tmp_path / "two.npz", x=x, y=y, labels=y)
    np.savez(tmp_path / "short.npz", x=x, y=y[:3])
    np.save(tmp_path / "x.npy", x)
    for name, message in {
        "none.npz": "none of y, targets, labels is in it; give --targets FILE.npz:NAME",
        "two.npz": "which array has the targets",
        "short.npz": "array 'y': 3 targets for 4 samples",
        "x.npy": "no y, targets, labels.npy is next to",
    }.items():
        with pytest.raises((DataError, UsageError), match=message):
            find_targets(array_samples(tmp_path / name, [X]))
    with pytest.raises(UsageError, match=r"give --targets FILE.npy or FILE.npz:NAME"):
        find_targets(RandomSamples(2, 0, [X]))


def test_targets_come_from_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1, 2]))
    np.savez(tmp_path / "b.npz", labels=np.array([3, 4], np.uint8), x=np.zeros((2, 2)))
    assert read_targets(str(tmp_path / "a.npy")).array.tolist() == [1, 2]
    assert read_targets(f"{tmp_path / 'b.npz'}:labels").array.tolist() == [3, 4]
    assert read_targets(str(tmp_path / "b.npz")).array.tolist() == [3, 4]
    assert not read_targets(f"{tmp_path / 'b.npz'}:x").are_labels
    (tmp_path / "c.npy").write_text("nothing")
    (tmp_path / "d.npz").write_text("nothing")
    np.save(tmp_path / "e.npy", np.array("text"))
    for name in ("b.npz:y", "c.npy", "d.npz:x", "d.npz", "e.npy"):
        with pytest.raises(DataError, match=name.partition(":")[0]):
            read_targets(str(tmp_path / name))


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """A matrix product with 3 classes, 8 samples, and the float network's own answers as labels but for the last."""
    rng = np.random.default_rng(4)
    f = Floats()
    x = f.input((1, 1, 1, 4))
    graph = f.outputs(f.conv(x, rng.normal(size=(3, 1, 1, 4)).astype(np.float32), np.zeros(3, np.float32), name="y"))
    serialize.write(graph, tmp_path / "net.tosa")
    arrays = rng.normal(size=(8, 1, 1, 4)).astype(np.float32)
    labels = np.array([Session(graph).run(None, {"x": array[None]})[0].argmax() for array in arrays])
    labels[-1] = (labels[-1] + 1) % 3
    np.savez(tmp_path / "test.npz", x=arrays, y=labels)
    np.savez(tmp_path / "calib.npz", x=arrays[:4])
    return tmp_path


def test_a_network_is_written_if_it_is_accepted(command: Any, classifier: Path) -> None:
    call = ["quantize", classifier / "net.tosa", "--data", classifier / "calib.npz", "-o", classifier / "int.tosa"]
    judged = ["--accept-data", classifier / "test.npz"]
    done = command(*call, "--accept", "accuracy=0", *judged)
    assert done.code == 0, done.err
    assert "accepted: accuracy 87.50 % on 8 samples, accuracy 87.50 % in float; a loss of 0 is allowed" in done.out
    (classifier / "int.tosa").unlink()
    (classifier / "int.config.json").unlink()
    targets = classifier / "exact.npy"
    with np.load(classifier / "test.npz") as data:
        graph = serialize.read(classifier / "net.tosa")
        np.save(targets, np.stack([Session(graph).run(None, {"x": x[None]})[0].reshape(3) for x in data["x"]]))
    done = command(*call, "--accept", "accuracy=0", "--accept", "rmse=1e-6", *judged, "--targets", targets)
    assert done.code == 6  # real numbers aren't labels
    done = command(*call, "--accept", "r2=0.1", "--accept", "rmse=1e-6", *judged, "--targets", targets)
    assert done.code == 1
    lines = done.out.splitlines()
    assert [line.partition(":")[0] for line in lines if "a loss of" in line] == ["accepted", "refused"]
    assert lines[-1] == f"{classifier / 'int.tosa'} is not written"
    assert not list(classifier.glob("int.*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--accept-data", "x.npz"], "--accept-data: for --accept METRIC=LOSS, which isn't given"),
        (
            ["--accept", "accuracy"],
            "--accept 'accuracy': wanted METRIC=LOSS with a loss of 0 or more, such as accuracy=1",
        ),
        (["--accept", "r2=-1"], "--accept 'r2=-1': wanted METRIC=LOSS with a loss of 0 or more"),
        (["--accept", "f1=1"], "unknown metric 'f1'"),
    ],
)
def test_wrong_acceptance(command: Any, classifier: Path, words: list[str], message: str) -> None:
    done = command(
        "quantize", classifier / "net.tosa", "--data", classifier / "calib.npz", *words, "-o", classifier / "i.tosa"
    )
    assert (done.code, message in done.err) == (2, True), done.err
    assert not list(classifier.glob("i.*"))
