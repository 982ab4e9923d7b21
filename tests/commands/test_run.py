"""`run`, `check` and `inspect` on small graphs: what goes in, what comes out, what is printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import arrays, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.graph import Operator, QParams, Tensor, new_graph
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from pathlib import Path

A = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
B = np.array([[10, 20, 30]], np.int32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """sum = a + b, and top = max(sum, a); the name of `sum` is no file name."""
    graph = new_graph()
    block = graph.main
    for name, shape in (("a", (2, 3)), ("b", (1, 3)), ("layer/../sum", (2, 3)), ("top", (2, 3))):
        block.add(Tensor(name, types.i32, shape))
    block.inputs, block.outputs = ["a", "b"], ["top", "layer/../sum"]
    block.operators = [
        Operator("ADD", ["a", "b"], ["layer/../sum"]),
        Operator("MAXIMUM", ["layer/../sum", "a"], ["top"], {"nan_mode": "PROPAGATE"}),
    ]
    serialize.write(graph, tmp_path / "model.tosa")
    return tmp_path / "model.tosa"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    np.savez(tmp_path / "in.npz", a=A, b=B)
    return tmp_path / "in.npz"


def test_outputs_are_written_by_name(command, model: Path, bundle: Path, tmp_path: Path) -> None:
    outcome = command("run", model, "-i", bundle, "-o", tmp_path / "out.npz")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    found = arrays.read_bundle(tmp_path / "out.npz")
    assert list(found) == ["top", "layer/../sum"]
    for array in found.values():
        np.testing.assert_array_equal(array, A + B, strict=True)


def test_inputs_by_name_and_in_order(command, model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "b.npy", B)
    for given in (["a.npy", "b.npy"], ["b=@b.npy", "a.npy"], ["a=@a.npy", "b.npy"]):
        inputs = [word for text in given for word in ("-i", text.replace("a.npy", f"{tmp_path}/a.npy"))]
        inputs = [word.replace("b.npy", f"{tmp_path}/b.npy") for word in inputs]
        assert command("run", model, *inputs, "-o", tmp_path / "out.npz").code == 0
        np.testing.assert_array_equal(arrays.read_bundle(tmp_path / "out.npz")["top"], A + B)


def test_without_a_file_the_outputs_are_shown(command, model: Path, bundle: Path) -> None:
    outcome = command("run", model, "-i", bundle)
    assert outcome.code == 0
    assert outcome.out.startswith("top: int32[2, 3]\n[[11, 22, 33],\n [14, 25, 36]]\n")


def test_expected_outputs(command, model: Path, tmp_path: Path) -> None:
    io = {"a": A, "b": B, "top": A + B, "layer/../sum": A + B}
    arrays.write(tmp_path / "io.npz", io)
    outcome = command("run", model, "-i", tmp_path / "io.npz", "--expect", tmp_path / "io.npz")
    assert (outcome.code, outcome.out) == (0, "EQUAL: 2 of 2 outputs, 12 elements, bit for bit\n")
    wrong = A + B
    wrong[1, 0] -= 3
    arrays.write(tmp_path / "io.npz", {**io, "layer/../sum": wrong})
    outcome = command("run", model, "-i", tmp_path / "io.npz", "--expect", tmp_path / "io.npz")
    assert outcome.code == 1
    assert outcome.out == (
        "DIFFERENT: 1 of 2 outputs; output 'layer/../sum' first differs at [1, 0]: got 14, expected 11; "
        "1 of 6 elements differ, by at most 3 LSB\n"
    )


@pytest.mark.parametrize("flags", [[], ["--checked"], ["--threads", "1"], ["--threads", "3"], ["--level", "none"]])
def test_flags_change_no_byte(command, model: Path, bundle: Path, tmp_path: Path, flags: list[str]) -> None:
    assert command("run", model, "-i", bundle, "-o", tmp_path / "plain.npz").code == 0
    assert command("run", model, "-i", bundle, "-o", tmp_path / "other.npz", *flags).code == 0
    assert (tmp_path / "plain.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()


def test_intermediates_are_dumped_and_change_no_byte(command, model: Path, bundle: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    assert command("run", model, "-i", bundle, "-o", tmp_path / "plain.npz").code == 0
    assert command("run", model, "-i", bundle, "-o", tmp_path / "out.npz", "--dump-intermediates", dump).code == 0
    assert (tmp_path / "plain.npz").read_bytes() == (tmp_path / "out.npz").read_bytes()
    index = json.loads((dump / "index.json").read_text(encoding="utf-8"))
    assert {"top", "layer/../sum"} <= set(index)
    assert sorted(p.name for p in dump.iterdir()) == sorted(
        ["index.json", *(entry["file"] for entry in index.values())]
    )
    assert index["top"]["dtype"] == "int32"
    assert index["top"]["shape"] == [2, 3]
    np.testing.assert_array_equal(arrays.read(dump / index["layer/../sum"]["file"]), A + B)


def test_check_names_the_target(command, model: Path) -> None:
    outcome = command("check", model, "--profile", "PRO-INT", "--extension", "EXT-INT16,EXT-INT4", "--level", "none")
    assert outcome.code == 0
    target = "PRO-INT, EXT-INT16, EXT-INT4, level none"
    assert outcome.out == f"{model}: no problem; operators: 2; target: {target}\n"


def test_inspect_tells_what_is_in_a_model(command, model: Path) -> None:
    found = json.loads(command("inspect", model, "--format", "json").out)
    assert found["inputs"] == [
        {"name": "a", "type": "i32", "shape": [2, 3]},
        {"name": "b", "type": "i32", "shape": [1, 3]},
    ]
    assert [t["name"] for t in found["outputs"]] == ["top", "layer/../sum"]
    assert found["operators"] == {"ADD": 1, "MAXIMUM": 1}
    assert found["types"] == {"i32": 4}
    assert (found["constant_bytes"], found["macs"], found["problems"]) == (0, 0, [])
    text = command("inspect", model).out
    assert "input      a: i32[2, 3]\ninput      b: i32[1, 3]\noutput     top: i32[2, 3]\n" in text


def test_inspect_counts_multiplications(command, digits: Path) -> None:
    found = json.loads(command("inspect", digits / "digits.nnef", "--format", "json").out)
    convolutions = 64 * 16 * 9 + 64 * 16 * 9 + 64 * 32 * 16 + 16 * 48 * 32 * 9 + 16 * 48 * 48 * 9
    assert found["macs"] == convolutions + 48 * 10


def test_inspect_counts_multiplications_of_every_convolution(command, tmp_path: Path) -> None:
    b = Builder()
    x = b.input(types.i8, (2, 5, 6, 3), "x")
    weight, bias = b.const(np.ones((4, 2, 3, 3), np.int8)), b.const(np.zeros(4, np.int32))
    y = b.op("TRANSPOSE_CONV2D", x, weight, bias, 0, 0, out_pad=(0, 0, 0, 0), stride=(2, 2), local_bound=False)
    assert y.shape == (2, 10, 13, 4)
    depth = b.input(types.i8, (1, 4, 5, 6, 3), "d")
    cube = b.const(np.ones((4, 2, 2, 3, 3), np.int8))
    settings = {"dilation": (1, 1, 1), "stride": (1, 1, 1), "pad": (0,) * 6}
    z = b.op("CONV3D", depth, cube, bias, 0, 0, local_bound=False, **settings)
    assert z.shape == (1, 3, 4, 4, 4)
    b.output(y, z)
    serialize.write(b.graph(), tmp_path / "model.tosa")
    found = json.loads(command("inspect", tmp_path / "model.tosa", "--format", "json").out)
    assert found["macs"] == 2 * 5 * 6 * 3 * 4 * 2 * 3 + 3 * 4 * 4 * 4 * 2 * 2 * 3 * 3


def test_floats_for_an_integer_model_say_what_to_do(command, model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "floats.npz", a=A.astype(np.float32), b=B)
    outcome = command("run", model, "-i", tmp_path / "floats.npz")
    assert (outcome.code, outcome.out) == (6, "")
    assert outcome.err == (
        "error: DATA.floats: got float32 for i32: the model takes integers, real / scale + zero point; --real computes "
        "them by the scales in the model's file, and real numbers of the outputs (tensor 'a')\n"
    )


@pytest.fixture
def scaled(tmp_path: Path) -> Path:
    """y = -x, quantized, with an axis for the batch; z has none."""
    b = Builder()
    x = b.input(types.i8, (1, 3), "x")
    y = b.op("NEGATE", x, 0, 0, output="y")
    b.output(y)
    b.output(b.op("RESHAPE", y, np.array([3]), output="z"))
    graph = b.graph()
    for name in ("x", "y"):
        graph.main.tensors[name].quant = QParams((0.5,), (0,), 8)
    serialize.write(graph, tmp_path / "scaled.tosa")
    np.savez(tmp_path / "samples.npz", x=np.array([[1, 2, 3], [4, 5, 6], [-7, 8, 60]], np.float32))
    return tmp_path


def test_samples_are_stacked_along_the_first_axis(command, scaled: Path) -> None:
    line = ["run", scaled / "scaled.tosa", "--data", scaled / "samples.npz"]
    assert command(*line, "-o", scaled / "y.npz").code == 0
    found = arrays.read_bundle(scaled / "y.npz")
    wanted = np.array([[-2, -4, -6], [-8, -10, -12], [14, -16, -120]], np.int8)
    np.testing.assert_array_equal(found["y"], wanted, strict=True)
    np.testing.assert_array_equal(found["z"], wanted, strict=True)
    assert command(*line, "--expect", scaled / "y.npz").out.startswith("EQUAL: 2 of 2 outputs, 18 elements")
    assert command(*line, "--samples", "2", "--real", "-o", scaled / "real.npz").code == 0
    np.testing.assert_array_equal(arrays.read_bundle(scaled / "real.npz")["y"], wanted[:2].astype(np.float32) / 2)


def test_samples_that_were_done_before_an_interrupt_are_kept(
    command, scaled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, done = Session.run, []

    def interrupted(*args: object, **words: object) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return run(*args, **words)

    monkeypatch.setattr(Session, "run", interrupted)
    outcome = command("run", scaled / "scaled.tosa", "--data", scaled / "samples.npz", "-o", scaled / "y.npz")
    assert (outcome.code, (scaled / "y.npz").exists()) == (130, False)
    assert "y.part.npz: the outputs of the first 2 of 3 samples" in outcome.err
    assert arrays.read_bundle(scaled / "y.part.npz")["y"].shape == (2, 3)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--data", "x.npz", "-i", "x.npy"], "-i is for a single run; --data and --random give samples"),
        (["--random", "2", "--dump-intermediates", "d"], "--dump-intermediates is for a single run"),
        (["--random", "2", "--data", "x.npz"], "not of both"),
        (["--samples", "2"], "--samples counts those of --data or --random"),
    ],
)
def test_flags_of_samples(command, scaled: Path, flags: list[str], message: str) -> None:
    outcome = command("run", scaled / "scaled.tosa", *flags)
    assert outcome.code == 2
    assert message in outcome.err
