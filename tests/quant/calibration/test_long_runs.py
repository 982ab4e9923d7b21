"""Calibration that is interrupted, split, or done by several processes: always the same bytes. And pictures as data."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nnef_tools import write_nnef

from quant.calibration import records
from quant.calibration.calibrate import calibrate
from quant.calibration.observe import collect, digest
from quant.calibration.records import Statistics
from tosa_engine import Session, types
from tosa_engine.errors import DataError, UsageError
from tosa_engine.graph import Tensor
from tosa_engine.load import load
from tosa_engine.samples.arrays import RandomSamples, array_samples
from tosa_engine.samples.images import Preparation, image_samples

if TYPE_CHECKING:
    from collections.abc import Callable

DIGITS = Path(__file__).parents[3] / "examples" / "digits"
MODEL, DATA = DIGITS / "digits.nnef", DIGITS / "digits_data.npz"


def test_a_killed_run_resumes_to_the_same_bytes(command: Callable, tmp_path: Path) -> None:
    line = ["calibrate", MODEL, "--data", DATA, "--samples", "200"]
    whole, part = tmp_path / "whole.quant", tmp_path / "part.quant"
    assert command(*line, "-o", whole, "--statistics", tmp_path / "whole.json").code == 0
    kept = Path(f"{part}.stats.json")
    process = subprocess.Popen(
        [sys.executable, "-m", "tosa_engine.cli", *map(str, line), "-o", str(part), "--resume", "--save-every", "0"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not kept.exists() and process.poll() is None:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    counted = records.read(kept).samples
    assert 0 < counted <= 200
    assert not part.exists()
    done = command(*line, "-o", part, "--resume")
    assert done.code == 0
    assert f"{counted} samples are counted already, {200 - counted} to go" in done.err
    assert kept.read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert part.read_bytes() == whole.read_bytes()


def test_parts_of_the_data_are_merged_to_the_same_bytes(command: Callable, tmp_path: Path) -> None:
    line = ["calibrate", MODEL, "--data", DATA]
    out = ["-o", tmp_path / "g.quant", "--statistics"]
    assert command(*line, "--samples", 12, *out, tmp_path / "all.json").code == 0
    assert command(*line, "--samples", 5, *out, tmp_path / "a.json").code == 0
    assert command(*line, "--from", 5, "--samples", 7, *out, tmp_path / "b.json").code == 0
    parts = [tmp_path / "b.json", tmp_path / "a.json"]
    assert command("calibrate", MODEL, "--merge", *parts, *out, tmp_path / "merged.json").code == 0
    assert (tmp_path / "merged.json").read_bytes() == (tmp_path / "all.json").read_bytes()
    twice = command("calibrate", MODEL, "--merge", parts[0], parts[0], *out, tmp_path / "x.json")
    assert (twice.code, twice.err) == (6, f"error: {parts[0]}: sample 5 is counted twice\n")


def test_resuming_with_other_data_is_an_error(command: Callable, tmp_path: Path) -> None:
    out = ["-o", tmp_path / "g.quant", "--resume"]
    assert command("calibrate", MODEL, "--data", DATA, "--samples", 2, *out).code == 0
    done = command("calibrate", MODEL, "--random", 2, *out)
    assert done.code == 6
    assert "made from another data; calibrate without --resume to begin anew" in done.err


def test_dask_gives_the_same_bytes_though_a_worker_is_killed() -> None:
    distributed = pytest.importorskip("distributed", reason="extra 'distributed' isn't installed")
    from quant.calibration.distributed import collect_distributed
    from tosa_engine.cluster import Workers

    graph = load(MODEL)
    samples = RandomSamples(160, 3, graph.inputs)
    alone = Statistics(digest(graph), samples.describe())
    one = collect(graph, samples.read(range(160)))
    one.data = samples.describe()
    killed: list[int] = []
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)

    def kill(count: int) -> None:
        del count
        if not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    try:
        collect_distributed(graph, samples, alone, range(160), Workers(cluster.scheduler_address), seen=kill)
    finally:
        cluster.close()
    assert killed
    assert alone.to_text() == one.to_text()


def test_an_address_without_a_scheduler_is_named(command: Callable, tmp_path: Path, monkeypatch: object) -> None:
    pytest.importorskip("distributed", reason="extra 'distributed' isn't installed")
    from tosa_engine import cluster

    monkeypatch.setattr(cluster, "PATIENCE", "0.2s")
    line = ["calibrate", MODEL, "--data", DATA, "-o", tmp_path / "g.quant"]
    done = command(*line, "--workers", "dask:tcp://127.0.0.1:1")
    assert done.code == 2
    assert "no dask scheduler answers at tcp://127.0.0.1:1" in done.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([], "calibration needs one of --data, --random and --merge; got none"),
        (["--data", "x", "--random", "3"], "got --data and --random"),
        (["--random", "3", "--workers", "2"], "'2' is not dask, dask:PROCESSES or dask:ADDRESS"),
        (["--random", "3", "--workers", "dask:0"], "'dask:0' is not dask, dask:PROCESSES or dask:ADDRESS"),
        (["--random", "3", "--method", "percentile", "--percentile", "40"], "above 50 and at most 100, got 40"),
        (["--data", str(DATA), "--image-mean", "1"], "--image-mean: '"),
        (["--random", "3", "--image-std", "1,x"], "'1,x' isn't a number or a list of numbers with commas"),
        (["--random", "3", "--image-size", "3"], "'3' isn't a height and a width, such as 256x256"),
        (["--random", "3", "--save-every", "-1"], "isn't a number of seconds"),
    ],
)
def test_wrong_lines(command: Callable, tmp_path: Path, line: list[str], message: str) -> None:
    done = command("calibrate", MODEL, "-o", tmp_path / "g.quant", *line)
    assert done.code == 2
    assert message in done.err


def test_random_numbers_only_when_asked_and_the_same_for_a_seed(command: Callable, tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = command("calibrate", MODEL, "--random", 3, "--seed", 7, "-o", tmp_path / f"{name}.quant")
        assert done.code == 0
        assert "warning: random numbers say nothing about the ranges of real data" in done.err
    assert (tmp_path / "a.quant").read_bytes() == (tmp_path / "b.quant").read_bytes()


@pytest.mark.parametrize(
    ("flags", "described"),
    [
        ([], "int8 by mse"),
        (["--method", "minmax", "--symmetric"], "int8 by minmax, symmetric"),
        (["--method", "percentile", "--percentile", "99.9"], "int8 by percentile 99.9"),
        (["--bits", "16"], "int16 by minmax, symmetric"),
        (["--method", "entropy", "--power-of-two", "--weights", "per-tensor"],
         "int8 by entropy, powers of two, weights per tensor"),
    ],
)  # fmt: skip
def test_the_resolved_scheme_is_printed(command: Callable, tmp_path: Path, flags: list[str], described: str) -> None:
    done = command("calibrate", MODEL, "--data", DATA, "--samples", 3, "-o", tmp_path / "g.quant", *flags)
    assert done.code == 0
    assert f"tensors, {described}, ranges of 3 samples" in done.out


def test_a_reader_with_get_next_gives_what_an_iterable_gives() -> None:
    graph = load(MODEL)
    data = [sample for _, sample in array_samples(DATA, graph.inputs).read(range(4))]

    class Reader:
        def __init__(self) -> None:
            self.left = list(data)

        def get_next(self) -> dict[str, np.ndarray] | None:
            return self.left.pop(0) if self.left else None

    assert calibrate(graph, Reader()).qparams == calibrate(graph, data).qparams
    with pytest.raises(DataError, match=r"samples are an iterable or have get_next\(\), got int"):
        calibrate(graph, 3)


def test_samples_are_read_from_anywhere() -> None:
    found = array_samples(DATA, load(MODEL).inputs)
    some = dict(found.read([0, 3, 4, 11]))
    everything = dict(found.read(range(12)))
    assert sorted(some) == [0, 3, 4, 11]
    assert all(np.array_equal(some[n]["input"], everything[n]["input"]) for n in some)


def test_memory_does_not_grow_with_the_samples() -> None:
    import tracemalloc

    graph = load(MODEL)
    samples = RandomSamples(200, 0, graph.inputs)
    collect(graph, samples.read(range(2)))
    peaks = []
    for count in (20, 200):
        tracemalloc.start()
        collect(graph, samples.read(range(count)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.02 + 20000


# pictures


RGB = Tensor("input", types.fp32, (1, 3, 4, 6))


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    image = pytest.importorskip("PIL.Image", reason="extra 'images' isn't installed")
    for name, value in (("b.png", 100), ("a.png", 200)):
        pixels = np.full((8, 12, 3), value, np.uint8)
        pixels[..., 0] = 50
        image.fromarray(pixels).save(tmp_path / name)
    return tmp_path


def test_pictures_become_samples_in_order(pictures: Path) -> None:
    found = image_samples(pictures, [RGB], Preparation((50.0,), (25.0, 50.0, 100.0)))
    assert (found.total, found.layout) == (2, "NCHW")
    (_, first), (_, second) = found.read([0, 1])
    assert first["input"].shape == (1, 3, 4, 6)
    assert [set(plane.reshape(-1).tolist()) for plane in first["input"][0]] == [{0.0}, {3.0}, {1.5}]
    assert second["input"][0, 1, 0, 0] == 1.0
    assert [file["name"] for file in found.describe()["files"]] == ["a.png", "b.png"]
    nhwc = image_samples(pictures, [Tensor("input", types.fp32, (1, 4, 6, 3))], Preparation())
    assert next(nhwc.read([0]))[1]["input"][0, 0, 0].tolist() == pytest.approx([50 / 255, 200 / 255, 200 / 255])


def test_pictures_are_scaled_then_cut_from_the_middle(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="extra 'images' isn't installed")
    pixels = np.zeros((8, 9), np.uint8)
    pixels[2:6, 2:7] = 255
    image.fromarray(pixels).save(tmp_path / "a.png")
    gray = Tensor("x", types.fp32, (1, 1, 4, 5))
    found = image_samples(tmp_path, [gray], Preparation(size=(8, 9)))
    assert next(found.read([0]))[1]["x"].tolist() == np.ones((1, 1, 4, 5)).tolist()
    with pytest.raises(UsageError, match="--image-size 2x2 is smaller than the input, 4x5"):
        list(image_samples(tmp_path, [gray], Preparation(size=(2, 2))).read([0]))


def test_what_is_no_picture(pictures: Path) -> None:
    (pictures / "a.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"a\.png: not a picture that Pillow can read"):
        list(image_samples(pictures, [RGB], Preparation()).read([0]))
    with pytest.raises(DataError, match="pictures are for models with one input; this one has 2"):
        image_samples(pictures, [RGB, RGB], Preparation())
    with pytest.raises(DataError, match="can be read as a picture either way; say --image-layout"):
        image_samples(pictures, [Tensor("x", types.fp32, (1, 3, 5, 3))], Preparation())
    with pytest.raises(DataError, match="can be read as a picture no way"):
        image_samples(pictures, [Tensor("x", types.fp32, (2, 3, 5, 5))], Preparation())
    with pytest.raises(UsageError, match="--image-mean has 2 numbers; 'input' has 3 channels"):
        image_samples(pictures, [RGB], Preparation(mean=(1.0, 2.0)))
    with pytest.raises(UsageError, match="--image-std can't be 0"):
        image_samples(pictures, [RGB], Preparation(std=(0.0,)))


def test_the_statistics_say_what_they_were_made_from(command: Callable, tmp_path: Path) -> None:
    line = ["calibrate", MODEL, "--data", DATA, "--samples", 2, "-o", tmp_path / "g.quant"]
    assert command(*line, "--statistics", tmp_path / "s.json").code == 0
    content = json.loads((tmp_path / "s.json").read_text())
    assert content["done"] == [[0, 2]]
    assert [sorted(file) for file in content["data"]["files"]] == [["name", "samples", "sha256"]]
    assert sorted(content["versions"]) == ["numba", "numpy", "tosa-engine"]
    assert str(tmp_path) not in (tmp_path / "s.json").read_text()


def test_a_model_is_the_same_wherever_it_lies(tmp_path: Path) -> None:
    shutil.copytree(MODEL, tmp_path / "copy.nnef")
    assert digest(load(tmp_path / "copy.nnef")) == digest(load(MODEL))


def test_statistics_quantize_what_has_no_name_in_the_model(command: Callable, tmp_path: Path) -> None:
    """The mean of squares inside local_response_normalization is a tensor of ours alone."""
    text = """version 1.0; graph g(x) -> (y) {
    x = external(shape = [1, 8, 3, 3]);
    y = local_response_normalization(x, size = [1, 5, 1, 1], alpha = 0.5, beta = 0.75, bias = 2.0); }"""
    model = write_nnef(tmp_path / "m.nnef", text)
    stats, tosa = tmp_path / "s.json", tmp_path / "m.tosa"
    line = ["calibrate", model, "--random", 5, "-o", tmp_path / "g.quant", "--statistics", stats]
    assert command(*line).code == 0
    done = command("quantize", model, "--statistics", stats, "-o", tosa)
    assert (done.code, done.err) == (0, "")
    integer, real = load(tosa), Session(model)
    assert not any(tensor.dtype.is_float for tensor in integer.main.tensors.values())
    x = np.random.default_rng([0, 0]).normal(size=(1, 8, 3, 3)).astype(np.float32)
    found = Session(tosa).run_real(None, {"x": x})[0].astype(np.float64)
    wanted = real.run(None, {"x": x})[0]
    assert 10 * np.log10((wanted**2).sum() / ((found - wanted) ** 2).sum()) > 25
    both = command("quantize", model, "--statistics", stats, "--quant", tmp_path / "g.quant", "-o", tosa)
    assert (both.code, "give one of them" in both.err) == (2, True)
