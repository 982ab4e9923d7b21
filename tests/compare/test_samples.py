"""`tosa-engine compare` over several samples, and with bare elements as inputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net

from tosa_engine import arrays, serialize, types
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.types import Array

SAMPLES = np.arange(6 * 12, dtype=np.int8).reshape(6, 1, 3, 4)


def relu(samples: Array) -> Array:
    return np.clip(samples, -20, 30)


def negative(samples: Array) -> Array:
    return -relu(samples)


def differing() -> Array:
    """What a device wrote: wrong by 2 in 3 elements of sample 2, by 1 in 5 of sample 4."""
    found = negative(SAMPLES)
    found[2, 0, 0, :3] += 2
    found[4, 0, :, 1] -= 1
    found[4, 0, 2, 2:] -= 1
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """model.tosa: `relu`, then `negative`; data.npz and device.npz: six samples."""
    net = Net()
    x = net.input("x", types.i8, 1, 3, 4)
    net.op("CLAMP", "relu", types.i8, x, min_val=-20, max_val=30, nan_mode="PROPAGATE")
    zeros = net.const(types.i8, [0]), net.const(types.i8, [0])
    net.op("NEGATE", "negative", types.i8, "relu", *zeros)
    serialize.write(net.done("negative"), tmp_path / "model.tosa")
    arrays.write(tmp_path / "data.npz", {"x": SAMPLES})
    arrays.write(tmp_path / "device.npz", {"relu": relu(SAMPLES), "negative": differing()})
    return tmp_path


def compared(command, folder: Path, dump: str, *more: object, code: int) -> dict[str, Any]:
    outcome = command("compare", folder / "model.tosa", folder / dump, "--format", "json", *more)
    assert outcome.code == code, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)[0]
    return found


def test_worst_and_mean_over_samples(command, folder: Path) -> None:
    found = compared(command, folder, "device.npz", "--data", folder / "data.npz", code=1)
    assert found["samples"] == 6
    first, second = found["tensors"]
    assert (first["here"], first["different"], first["differing_samples"]) == ("relu", 0, 0)
    assert second == {
        "here": "negative", "there": "negative", "relation": "exact", "elements": 12, "input": False,
        "different": 8, "mean_different": 8 / 6, "differing_samples": 2, "lsb": {"2": 3, "-1": 5},
        "worst": {"sample": 4, "different": 5, "index": [0, 0, 1]},
    }  # fmt: skip
    assert (found["first"], found["sample"]) == ("negative", 4)


def test_the_text_shows_the_worst_sample(command, folder: Path) -> None:
    outcome = command("compare", folder / "model.tosa", folder / "device.npz", "--data", folder / "data.npz")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[4:] == [
        "6 samples",
        "",
        "tensor     elements  different     largest      SQNR    cosine  worst sample",
        "relu             12          0       0 LSB",
        "negative         12      1.333       2 LSB                      4: 5 different",
        "",
        "sample 4:",
        "first difference: 'negative' at [0, 0, 1]: -30 here, -31 there; 5 of 12 elements differ",
        "where: 56 % of channels 1-3",
        "LSB, there - here: -1: 5",
        "cause: none of the known ones (3 were tried)",
        "",
        "DIFFERENT: 1 of 2 tensors, in up to 2 of 6 samples",
    ]


def test_equal_samples(command, folder: Path) -> None:
    arrays.write(folder / "device.npz", {"relu": relu(SAMPLES), "negative": negative(SAMPLES)})
    outcome = command("compare", folder / "model.tosa", folder / "device.npz", "--data", folder / "data.npz")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "EQUAL: 2 tensors in 6 samples")


def test_some_samples_and_one(command, folder: Path) -> None:
    data = ["--data", folder / "data.npz"]
    found = compared(command, folder, "device.npz", *data, "--samples", 4, code=1)
    assert (found["samples"], found["sample"], found["tensors"][1]["different"]) == (4, 2, 3)
    found = compared(command, folder, "device.npz", *data, "--sample", 4, code=1)
    assert (found["first"], found["tensors"][1]["different"]) == ("negative", 5)
    compared(command, folder, "device.npz", *data, "--sample", 3, code=0)


def test_a_dump_of_fewer_samples_goes_with_that_many(command, folder: Path) -> None:
    arrays.write(folder / "device.npz", {"negative": differing()[:3]})
    found = compared(command, folder, "device.npz", "--data", folder / "data.npz", "--samples", 3, code=1)
    assert (found["samples"], found["sample"]) == (3, 2)


def test_a_folder_with_one_dump_per_sample(command, folder: Path) -> None:
    (folder / "dumps").mkdir()
    for i, (x, y) in enumerate(zip(SAMPLES, differing(), strict=True)):
        if i % 2:
            arrays.write(folder / "dumps" / f"{i:03}.npz", {"x": x, "negative": y})
        else:
            (folder / "dumps" / f"{i:03}").mkdir()
            np.save(folder / "dumps" / f"{i:03}" / "x.npy", x)
            np.save(folder / "dumps" / f"{i:03}" / "negative.npy", y)
    found = compared(command, folder, "dumps", code=1)  # the inputs are in the dumps
    assert (found["samples"], found["sample"], found["tensors"][1]["different"]) == (6, 4, 8)
    found = compared(command, folder, "dumps", "--data", folder / "data.npz", "--sample", 2, code=1)
    assert found["tensors"][1]["different"] == 3
    assert command("compare", folder / "dumps", folder / "device.npz").code == 0
    arrays.write(folder / "device.npz", {"negative": negative(SAMPLES)})
    assert command("compare", folder / "dumps", folder / "device.npz").code == 1


def test_inputs_of_several_samples_in_a_stacked_dump(command, folder: Path) -> None:
    arrays.write(folder / "device.npz", {"x": SAMPLES, "negative": differing()})
    found = compared(command, folder, "device.npz", code=1)
    assert (found["samples"], found["tensors"][1]["worst"]["sample"]) == (6, 4)


def test_integers_beside_floats_have_a_worst_sample(command, digits: Path, tmp_path: Path) -> None:
    """All samples together as one array would give, and the worst by itself."""
    data, quant, integer = digits / "digits_data.npz", tmp_path / "graph.quant", tmp_path / "digits.tosa"
    assert command("calibrate", digits / "digits.nnef", "--data", data, "--samples", 10, "-o", quant).code == 0
    assert command("quantize", digits / "digits.nnef", "--quant", quant, "-o", integer).code == 0
    line = ["compare", digits / "digits.nnef", integer, "--data", data, "--format", "json", "--tensors", "logits$"]
    found = [json.loads(command(*line, "--sample", i).out)[0]["tensors"][0] for i in range(4)]
    (together,) = json.loads(command(*line, "--samples", 4).out)
    (logits,) = together["tensors"]
    worst = min(range(4), key=lambda i: found[i]["sqnr"])
    assert logits["worst"]["sample"] == worst
    assert logits["worst"]["sqnr"] == found[worst]["sqnr"]
    assert min(f["sqnr"] for f in found) < logits["sqnr"] < max(f["sqnr"] for f in found)
    assert logits["largest_lsb"] == max(f["largest_lsb"] for f in found)
    between = (logits["worst"]["sqnr"] + logits["sqnr"]) / 2
    assert command(*line, "--samples", 4, "--min-sqnr", between).code == 1, "one sample is below"
    assert command(*line, "--samples", 4, "--min-sqnr", logits["worst"]["sqnr"]).code == 0


def test_random_samples(command, digits: Path) -> None:
    model = digits / "digits.nnef"
    outcome = command("compare", model, model, "--random", 3, "--seed", 5)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "EQUAL: 24 tensors in 3 samples"), outcome.out


@pytest.mark.parametrize("bare", ["x=@x.bin", "x.bin"])
def test_bare_elements(bare: str, command, folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "x.bin").write_bytes(SAMPLES[4].tobytes())
    arrays.write(folder / "device.npz", {"negative": differing()[4]})
    found = compared(command, folder, "device.npz", "-i", bare, code=1)
    assert found["tensors"][0]["different"] == 5


def test_bare_elements_are_of_the_model_in_whose_input_they_fit(command, folder: Path) -> None:
    """Floats for a float model; the integer model beside it gets them by its scale."""
    net = Net()
    x = net.input("x", types.fp32, 1, 3, 4)
    net.op("CLAMP", "relu", types.fp32, x, min_val=-10.0, max_val=15.0, nan_mode="PROPAGATE")
    serialize.write(net.done("relu"), folder / "float.tosa")
    graph = serialize.read(folder / "model.tosa")
    for tensor in (graph.main.tensors["x"], graph.main.tensors["relu"]):
        tensor.quant = QParams((0.5,), (0,), 8)
    serialize.write(graph, folder / "model.tosa")
    (folder / "x.bin").write_bytes((SAMPLES[1] * np.float32(0.5)).tobytes())
    for order in (["model.tosa", "float.tosa"], ["float.tosa", "model.tosa"]):
        outcome = command("compare", *(folder / name for name in order), "-i", folder / "x.bin")
        assert outcome.code == 1, outcome.err
        assert "NOT COMPARED: output 'negative' of the side" in outcome.out
        assert "relu         12               0.00 LSB" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--data", "data.npz", "-i", "data.npz"], 2, "-i and --data or --random both say what the inputs are"),
        (["--data", "data.npz", "--random", "2"], 2, "--data and --random both say what the inputs are"),
        (["--data", "data.npz", "--sample", "6"], 2, "--sample 6: there are 6 samples, counted from 0"),
        (["--data", "data.npz", "--sample", "1", "--samples", "2"], 2, "--sample is one of them, --samples says how"),
        (["other.npz", "--data", "data.npz"], 6, "other.npz: the dump is of one sample, or not stacked along the"),
        (["dumps", "--data", "data.npz"], 6, "dumps: 2 dumps, one per sample, don't go with 6 samples"),
        (["dumps", "--data", "data.npz", "--sample", "2"], 6, "dumps: 2 dumps, one per sample, don't go with sample 2"),
        (["-i", "short.bin"], 6, "DATA.bin: i8[1, 3, 4] takes 12 bytes, the file has 11 (tensor 'x')"),
        (["--data", "words.npz"], 6, "words.npz, array 'x': samples must be numbers, got <U5"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, message: str, command, folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    arrays.write(folder / "other.npz", {"negative": negative(SAMPLES[0])})
    (folder / "dumps").mkdir()
    for name in ("a.npz", "b.npz"):
        arrays.write(folder / "dumps" / name, {"negative": negative(SAMPLES[0])})
    (folder / "short.bin").write_bytes(bytes(11))
    np.savez(folder / "words.npz", x=np.array(["words"]))
    outcome = command("compare", "model.tosa", "device.npz", *arguments)
    assert outcome.code == code, outcome.err
    assert message in outcome.err


def test_dumps_of_different_numbers_of_samples(command, folder: Path) -> None:
    for name, count in (("a", 2), ("b", 3)):
        (folder / name).mkdir()
        for i in range(count):
            arrays.write(folder / name / f"{i}.npz", {"negative": negative(SAMPLES[i])})
    outcome = command("compare", folder / "a", folder / "b")
    assert outcome.code == 6
    assert f"the dumps are of different numbers of samples: {folder / 'a'} 2, {folder / 'b'} 3" in outcome.err
