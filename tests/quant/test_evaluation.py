"""`tosa-engine evaluate`: a metric and a hash of a whole data set, the same however the work was divided."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net

from quant.evaluation import Evaluator
from quant.metrics import parse, read_targets
from tosa_engine import serialize, types
from tosa_engine.graph import QParams
from tosa_engine.journal import Journal
from tosa_engine.samples.arrays import array_samples

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = 40
IMAGES = np.random.default_rng(1).integers(-100, 100, (NUMBER, 6)).astype(np.int8)
LABELS = np.where(np.arange(NUMBER) % 4, (-IMAGES).argmax(axis=1), 7 - 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """model.tosa: NEGATE, so that the class is the least of six; data.npz: images, and labels of which 3 in 4 are right
    (and some more).
    """
    net = Net()
    zeros = net.const(types.i8, [0]), net.const(types.i8, [0])
    net.op("NEGATE", "y", types.i8, net.input("x", types.i8, 1, 6), *zeros)
    graph = net.done("y")
    for name in ("x", "y"):
        graph.main.tensors[name].quant = QParams((0.5,), (0,), 8)
    serialize.write(graph, tmp_path / "model.tosa")
    np.savez(tmp_path / "data.npz", x=IMAGES, labels=LABELS)
    return tmp_path


def accuracy() -> float:
    return 100 * float(np.mean((-IMAGES).argmax(axis=1) == LABELS))


def expected_hash() -> str:
    found = hashlib.sha256()
    for image in IMAGES:
        found.update(b"y |i1 [1, 6]\n" + (-image).tobytes())
    return found.hexdigest()


def test_a_data_set(command, folder: Path) -> None:
    outcome = command("evaluate", folder / "model.tosa", "--data", folder / "data.npz", "-o", folder / "r.json")
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines() == [
        f"accuracy {accuracy():.2f} %", "40 samples", f"sha256 of the outputs: {expected_hash()}",
    ]  # fmt: skip
    assert json.loads((folder / "r.json").read_text()) == {
        "samples": 40, "metric": {"name": "accuracy", "value": accuracy()}, "sha256": expected_hash(),
        "integer_outputs": True,
    }  # fmt: skip
    assert not list(folder.glob("*.journal"))


def test_real_numbers_become_the_integers_of_the_model(command, folder: Path) -> None:
    np.savez(folder / "real.npz", x=(IMAGES * 0.5).astype(np.float32), labels=LABELS)
    outcome = command("evaluate", folder / "model.tosa", "--data", folder / "real.npz", "--metric", "top6")
    assert outcome.out.splitlines() == ["top6 100.00 %", "40 samples", f"sha256 of the outputs: {expected_hash()}"]


def test_without_labels_there_is_a_hash_alone(command, folder: Path) -> None:
    np.save(folder / "x.npy", IMAGES[:5])
    outcome = command("evaluate", folder / "model.tosa", "--data", folder / "x.npy", "--samples", "3")
    assert outcome.out.splitlines()[:2] == ["no metric: give --metric and --labels", "3 samples"]


def test_an_interrupted_run_goes_on(command, folder: Path) -> None:
    samples = array_samples(folder / "data.npz", serialize.read(folder / "model.tosa").inputs, integers=True)
    graph = serialize.read(folder / "model.tosa")
    targets = read_targets(f"{folder / 'data.npz'}:labels")

    def evaluator() -> Evaluator:
        return Evaluator(graph, samples, range(NUMBER), parse("accuracy"), targets)

    begun = evaluator().run_here(Journal(folder / "j", {"work": "evaluate"}))
    for _ in range(7):
        next(begun)
    journal = Journal(folder / "j", {"work": "evaluate"}, resume=True)
    again = evaluator()
    assert again.missing(journal) == list(range(7, NUMBER))
    assert sum(again.run_here(journal)) == NUMBER - 7
    found = again.result(journal)
    assert (found.sha256, found.reading and found.reading.value) == (expected_hash(), accuracy())


def test_a_journal_of_another_model_is_refused(command, folder: Path) -> None:
    given = ("--data", folder / "data.npz", "--journal", folder / "j")
    assert command("evaluate", folder / "model.tosa", *given).code == 0
    assert command("evaluate", folder / "model.tosa", *given, "--resume").code == 0
    graph = serialize.read(folder / "model.tosa")
    graph.main.tensors["y"].quant = None
    serialize.write(graph, folder / "model.tosa")
    outcome = command("evaluate", folder / "model.tosa", *given, "--resume")
    assert outcome.code != 0
    assert "made with another model" in outcome.err


def test_fewer_targets_than_samples(command, folder: Path) -> None:
    np.save(folder / "few.npy", LABELS[:9])
    outcome = command("evaluate", folder / "model.tosa", "--data", folder / "data.npz", "--labels", folder / "few.npy")
    assert "few.npy: 9 targets for 40 samples" in outcome.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "evaluate needs one of --data and --random"),
        (["--random", "3", "--workers", "2"], "'2' is not dask, dask:PROCESSES or dask:ADDRESS"),
        (["--random", "3", "--resume"], "--resume needs the place of the journal"),
    ],
)
def test_wrong_flags(flags: list[str], message: str, command, folder: Path) -> None:
    outcome = command("evaluate", folder / "model.tosa", *flags)
    assert message in outcome.err
    assert outcome.code == 2


@pytest.mark.slow("two processes of dask are started: 10 s")
def test_dask_gives_the_same_hash(command, folder: Path) -> None:
    given = ("--data", folder / "data.npz", "--workers", "dask:2")
    outcome = command("evaluate", folder / "model.tosa", *given)
    assert outcome.out.splitlines()[-1] == f"sha256 of the outputs: {expected_hash()}"
