"""What users get wrong: each ends in one clear error and the right exit code, through the command line, in full."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from limits import within_limits

from tosa_engine import serialize, types
from tosa_engine.graph import Block, Graph, Operator, Region, Tensor
from tosa_engine.spec import TABLE
from tosa_engine.spec.case import Case

if TYPE_CHECKING:
    from pathlib import Path

ADDENDS = {"a": np.ones((2, 3), np.int32), "b": np.full((1, 3), 2, np.int32)}


@pytest.fixture
def add(tmp_path: Path) -> Path:
    """A graph that adds a: i32[2, 3] and b: i32[1, 3]."""
    case = Case("ADD").input("a", types.i32, (2, 3)).input("b", types.i32, (1, 3)).output("sum", types.i32, (2, 3))
    serialize.write(case.graph(), tmp_path / "add.tosa")
    return tmp_path / "add.tosa"


@pytest.fixture
def model(tmp_path: Path, digits: Path) -> Path:
    """A copy of the digits model that may be damaged."""
    return shutil.copytree(digits / "digits.nnef", tmp_path / "digits.nnef")


@pytest.fixture
def fails(command):
    """Runs a command line that must end in `code` and exactly this text on stderr."""

    def run(*args: object, code: int, message: str) -> None:
        outcome = command(*args)
        assert (outcome.code, outcome.err) == (code, f"error: {message}\n")
        assert outcome.out == ""

    return run


def save(path: Path, array: np.ndarray) -> Path:
    np.save(path, array)
    return path


def edited(model: Path, old: str, new: str) -> Path:
    graph = model / "graph.nnef"
    text = graph.read_text(encoding="utf-8")
    assert old in text
    graph.write_text(text.replace(old, new), encoding="utf-8")
    return model


def test_a_missing_file(fails, tmp_path: Path) -> None:
    path = tmp_path / "nothing.tosa"
    fails("check", path, code=6, message=f"{path}: no such model")


def test_a_wrong_suffix(fails, add: Path) -> None:
    path = add.rename(add.with_suffix(".bin"))
    folders = "a .cir.json file, an .nnef folder, an .nnef.tgz or .tar"
    texts = "an .nnef2 folder or archive, a .sknd file, an .mlir, .mlirbc, .jax, .hlo or .pb file"
    kinds = f"{folders}, an .onnx file, {texts}, a .tflite file, a .tosa or a .json file"
    fails("check", path, code=2, message=f"can't tell what '{path}' is by its name: a model is {kinds}")


def test_an_unknown_flag(fails, add: Path) -> None:
    message = "unrecognized arguments: --treads; see tosa-engine --help"
    fails("run", add, "--treads", code=2, message=message)


@pytest.mark.parametrize("length", [0, 3, 8, 20, 200, -1])
def test_a_truncated_tosa_file(command, add: Path, length: int) -> None:
    add.write_bytes(add.read_bytes()[:length])
    outcome = command("check", add)
    assert (outcome.code, outcome.out) == (6, "")
    assert outcome.err.startswith(f"error: {add}: ")
    assert outcome.err.count("\n") == 1


def test_a_truncated_tosa_file_in_full(fails, add: Path) -> None:
    add.write_bytes(add.read_bytes()[:200])
    fails("check", add, code=6, message=f"{add}: byte 360: Version: beyond the end of the file (200 bytes)")


def test_a_tosa_operator_outside_the_table(fails, add: Path) -> None:
    path = add.with_suffix(".json")
    serialize.write(serialize.read(add), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    operator = document["regions"][0]["blocks"][0]["operators"][0]
    operator |= {"op": "ROW_GATHER", "attribute_type": "RowGatherAttribute"}
    path.write_text(json.dumps(document), encoding="utf-8")
    message = "GRAPH.op: operator ROW_GATHER is not implemented (node 'sum')"
    fails("check", path, code=5, message=message)


def test_an_error_if_in_a_graph(fails, tmp_path: Path) -> None:
    case = Case("ADD").input("a", types.i32, (2, 3)).input("b", types.i32, (1, 4)).output("sum", types.i32, (2, 3))
    serialize.write(case.graph(), tmp_path / "add.tosa")
    message = "ADD.E2: shapes [2, 3] and [1, 4] don't broadcast: sizes must be equal or 1 (node 'sum', tensor 'b')"
    fails("check", tmp_path / "add.tosa", code=3, message=message)


def test_a_profile_that_the_target_lacks(fails, tmp_path: Path) -> None:
    case = Case("ADD").input("a", types.fp32, (3,)).input("b", types.fp32, (3,)).output("sum", types.fp32, (3,))
    serialize.write(case.graph(), tmp_path / "add.tosa")
    message = "ADD.profile: ADD with types fp32 needs PRO-FP, which the target lacks (node 'sum')"
    fails("check", tmp_path / "add.tosa", "--profile", "PRO-INT", code=3, message=message)


def test_a_run_that_takes_more_memory_than_it_may(fails, command, add: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "io.npz", **ADDENDS)
    advice = "take a smaller batch, fewer threads, or allow more (--max-memory, Session(max_memory=...))"
    flags = ("run", add, "-i", tmp_path / "io.npz", "--threads", 2, "--max-memory")
    outcome = command(*flags, 40)
    assert (outcome.code, outcome.out) == (6, "")
    assert outcome.err.startswith("error: RUN.memory: a run takes ")
    assert outcome.err.endswith(f" for in- and outputs), 40 are allowed; {advice}\n")
    assert command(*flags, "1M").code == 0
    message = "argument --max-memory: 'x' is not a size, such as 500M or 2G; see tosa-engine run --help"
    fails(*flags, "x", code=2, message=message)


@pytest.mark.parametrize("outputs", [[], ["unknown"]])
def test_converting_a_variable_that_is_read_into_nothing(fails, tmp_path: Path, outputs: list[str]) -> None:
    graph = TABLE["VARIABLE_READ"].example(TABLE["VARIABLE_READ"].rows[0]).graph()
    serialize.write(graph, tmp_path / "v.json")
    content = json.loads((tmp_path / "v.json").read_text(encoding="utf-8"))
    content["regions"][0]["blocks"][0]["operators"][-1]["outputs"] = outputs
    (tmp_path / "v.json").write_text(json.dumps(content), encoding="utf-8")
    node = outputs[0] if outputs else "VARIABLE_READ"
    message = "VARIABLE_READ.tensor: VARIABLE_READ has no tensor of the block to read or write"
    fails("convert", tmp_path / "v.json", "-o", tmp_path / "w.tosa", code=3, message=f"{message} (node '{node}')")


def test_a_missing_input(fails, add: Path, tmp_path: Path) -> None:
    a = save(tmp_path / "a.npy", ADDENDS["a"])
    message = "no array for input 'b'; give one as -i NAME=@FILE.npy or in a bundle"
    fails("run", add, "-i", f"a=@{a}", code=2, message=message)


def test_an_input_that_the_model_lacks(fails, add: Path, tmp_path: Path) -> None:
    c = save(tmp_path / "c.npy", ADDENDS["a"])
    message = f"-i c=@{c}: the model has no input 'c'; its inputs are 'a', 'b'"
    fails("run", add, "-i", f"c=@{c}", code=2, message=message)


def test_one_input_too_many(fails, add: Path, tmp_path: Path) -> None:
    a, b = (save(tmp_path / f"{name}.npy", array) for name, array in ADDENDS.items())
    message = f"-i {b}: the model has no further input; its inputs are 'a', 'b'"
    fails("run", add, "-i", f"a=@{a}", "-i", b, "-i", b, code=2, message=message)


def test_an_input_given_twice(fails, add: Path, tmp_path: Path) -> None:
    a = save(tmp_path / "a.npy", ADDENDS["a"])
    fails("run", add, "-i", f"a=@{a}", "-i", f"a=@{a}", code=2, message=f"-i a=@{a}: input 'a' is given twice")


def test_an_input_that_is_no_array_file(fails, add: Path) -> None:
    fails(
        "run",
        add,
        "-i",
        "a=a.npy.txt",
        code=2,
        message="-i a=a.npy.txt: an input is X.npy, X.bin, NAME=@X.npy, NAME=@X.bin or BUNDLE.npz",
    )


def test_a_wrong_dtype(fails, add: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "io.npz", a=ADDENDS["a"].astype(np.int16), b=ADDENDS["b"])
    message = "wrong input: wanted int32[2, 3] for i32, got int16[2, 3] (tensor 'a')"
    fails("run", add, "-i", tmp_path / "io.npz", code=6, message=message)


def test_a_wrong_shape(fails, add: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "io.npz", a=ADDENDS["a"].T, b=ADDENDS["b"])
    message = "wrong input: wanted int32[2, 3] for i32, got int32[3, 2] (tensor 'a')"
    fails("run", add, "-i", tmp_path / "io.npz", code=6, message=message)


@pytest.mark.parametrize(
    ("arrays", "code", "message"),
    [
        ({"c": np.zeros(1 << 25, np.int8)}, 2, "-i {path}: the model has no input 'c'; its inputs are 'a', 'b'"),
        (
            {"a": np.zeros((1 << 22, 3), np.int32), "b": ADDENDS["b"]}, 6,
            "wrong input: wanted int32[2, 3] for i32, got int32[4194304, 3] (tensor 'a')",
        ),
    ],
    ids=["name", "shape"],
)  # fmt: skip
def test_inputs_are_refused_before_they_are_unpacked(
    fails, add: Path, tmp_path: Path, arrays: dict[str, np.ndarray], code: int, message: str
) -> None:
    path = tmp_path / "small.npz"
    np.savez_compressed(path, **arrays)
    tracemalloc.start()
    fails("run", add, "-i", path, code=code, message=message.format(path=path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20  # what was imported by now included


def nested(depth: int) -> Graph:
    """COND_IFs in COND_IFs."""
    graph = Graph()
    for i in range(depth + 1):
        ports = [Tensor("v", types.i32, ()), Tensor("c", types.bool_, ()), Tensor("o", types.i32, ())]
        block = Block(f"r{i}", ["v", "c"], ["o"], {port.name: port for port in ports})
        next_ = {"then_graph": f"r{i + 1}", "else_graph": f"r{i + 1}"}
        last = Operator("ADD", ["v", "v"], ["o"])
        block.operators = [Operator("COND_IF", ["c", "v", "c"], ["o"], next_) if i < depth else last]
        graph.regions.append(Region(f"r{i}", [block]))
    return graph


def test_regions_nested_deeper_than_pythons_stack(command, tmp_path: Path) -> None:
    serialize.write(nested(1100), tmp_path / "deep.tosa")
    assert (command("inspect", tmp_path / "deep.tosa").code, command("check", tmp_path / "deep.tosa").code) == (0, 3)


@pytest.mark.parametrize(
    ("depth", "code", "said"),
    [
        (64, 0, "o: int32[]\n6\n"),
        (65, 5, "error: RUN.nesting: control flow nested 65 deep, of which 64 are run at most\n"),
    ],
)
def test_regions_that_are_nested_too_deep_to_run(command, tmp_path: Path, depth: int, code: int, said: str) -> None:
    serialize.write(nested(depth), tmp_path / "deep.tosa")
    np.savez(tmp_path / "io.npz", v=np.int32(3), c=np.bool_(True))
    outcome = command("run", tmp_path / "deep.tosa", "--level", "none", "-i", tmp_path / "io.npz")
    assert (outcome.code, outcome.out + outcome.err) == (code, said)


@pytest.mark.parametrize("inputs", [[], ["unknown"] * 5, ["input"] * 9])
def test_inspect_of_a_convolution_without_its_tensors(command, tmp_path: Path, inputs: list[str]) -> None:
    graph = TABLE["CONV2D"].example(TABLE["CONV2D"].rows[0]).graph()
    graph.main.operators[-1].inputs = inputs
    serialize.write(graph, tmp_path / "conv.tosa")
    outcome = command("inspect", tmp_path / "conv.tosa")
    assert (outcome.code, outcome.err) == (0, "")
    assert "MACs       0\n" in outcome.out


def test_a_damaged_array(fails, add: Path, tmp_path: Path) -> None:
    path = save(tmp_path / "a.npy", ADDENDS["a"])
    path.write_bytes(path.read_bytes()[:-1])
    message = f"DATA.npy: {path}: int32 of shape [2, 3] takes 24 bytes, the file has 23"
    fails("run", add, "-i", path, code=6, message=message)


def test_expected_arrays_without_the_output(fails, add: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "io.npz", **ADDENDS)
    message = f"{tmp_path / 'io.npz'} has no array for output 'sum'; it has 'a', 'b'"
    fails("run", add, "-i", tmp_path / "io.npz", "--expect", tmp_path / "io.npz", code=6, message=message)


@pytest.mark.parametrize("flags", [[], ["--checked"]])
def test_a_require_that_does_not_hold(fails, add: Path, tmp_path: Path, flags: list[str]) -> None:
    np.savez(tmp_path / "io.npz", a=np.full((2, 3), 2**31 - 1, np.int32), b=ADDENDS["b"])
    message = (
        "ADD.R1: sum 2147483649 is beyond -2147483648 .. 2147483647 at [0, 0]; 6 of 6 elements violate a REQUIRE"
        " (node 'sum', tensor 'sum')"
    )
    fails("run", add, "-i", tmp_path / "io.npz", *flags, code=4, message=message)


def test_a_folder_without_a_graph(fails, tmp_path: Path) -> None:
    (tmp_path / "empty.nnef").mkdir()
    fails("check", tmp_path / "empty.nnef", code=6, message=f"{tmp_path / 'empty.nnef'}/graph.nnef: no such file")


@pytest.mark.parametrize("length", [-4, 4])
def test_a_dat_file_of_the_wrong_size(fails, model: Path, length: int) -> None:
    path = model / "fc" / "filter.dat"
    data = path.read_bytes()
    path.write_bytes(data[:length] if length < 0 else data + bytes(length))
    sizes = f"[10, 48] items of 32 bits need 128 + 1920 bytes; the header says 1920, the file has {2048 + length}"
    fails("check", model, code=6, message=f"{path}: {sizes}")


def test_a_dat_file_that_is_missing(fails, model: Path) -> None:
    (model / "fc" / "filter.dat").unlink()
    fails("check", model, code=6, message=f"{model}/fc/filter.dat: no such file")


def test_an_archive_member_that_leaves_the_folder(fails, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "evil.nnef.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(model / "graph.nnef", "graph.nnef")
        member = tarfile.TarInfo("../evil.dat")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"evil"))
    fails("check", path, code=6, message=f"{path}: member '../evil.dat' is a path with '..'")
    assert not (tmp_path.parent / "evil.dat").exists()


def test_an_nnef_input_of_many_dimensions(command, tmp_path: Path) -> None:
    shape = ", ".join(["2"] * 10_000)
    text = f"version 1.0;\ngraph n(x) -> (y)\n{{\n    x = external(shape = [{shape}]);\n    y = relu(x);\n}}\n"
    (tmp_path / "graph.nnef").write_text(text, encoding="utf-8")
    outcome = command("check", tmp_path)
    assert outcome.code == 6
    assert "10000 dimensions, at most 32 are read" in outcome.err


@pytest.mark.parametrize("made", ["reshape(x, shape = [{}])", "unsqueeze(x, axes = [{}])", "unsqueeze(c, axes = [{}])"])
def test_an_nnef_result_of_many_dimensions(command, tmp_path: Path, made: str) -> None:
    numbers = ", ".join(str(i) if "axes" in made else "1" for i in range(10_000))
    lines = "x = external(shape = [1]); c = constant(shape = [1], value = [1.0]); y = " + made.format(numbers)
    (tmp_path / "graph.nnef").write_text(f"version 1.0;\ngraph n(x) -> (y) {{ {lines}; }}\n", encoding="utf-8")
    with within_limits():
        outcome = command("check", tmp_path)
    assert outcome.code == 5
    assert " dimensions; at most 32 are made\n" in outcome.err


def test_an_unknown_nnef_operator(fails, model: Path) -> None:
    shown = "        r1 = rellu(n1);\n             ^"
    problem = "NNEF.A1: operation 'rellu' isn't declared, nor is it one of NNEF 1.0.4"
    message = f"{model}/graph.nnef:13:10: {problem}\n{shown}"
    fails("check", edited(model, "relu(n1)", "rellu(n1)"), code=6, message=message)


def test_all_unknown_nnef_operators_at_once(command, model: Path) -> None:
    outcome = command("check", edited(model, "relu(", "rellu("))
    assert outcome.code == 6
    lines = outcome.err.splitlines()
    assert lines[0] == f"error: {model}/graph.nnef: 5 problems"
    assert len(lines) == 1 + 5 * 3  # each with its line and a caret
    assert all("operation 'rellu' isn't declared, nor is it one of NNEF 1.0.4" in line for line in lines[1::3])


def test_an_nnef_syntax_error(fails, model: Path) -> None:
    shown = "        r1 = relu(n1;\n                    ^"
    message = f"{model}/graph.nnef:13:17: NNEF.S1: unexpected ';', expected '(', ')', ',', '=', an operator\n{shown}"
    fails("check", edited(model, "r1 = relu(n1);", "r1 = relu(n1;"), code=6, message=message)


def test_nan_in_the_calibration_data(fails, model: Path, tmp_path: Path) -> None:
    images = np.zeros((3, 1, 1, 8, 8), np.float32)
    images[1, 0, 0, 4, 5] = np.nan
    np.savez(tmp_path / "data.npz", input=images)
    message = f"{tmp_path / 'data.npz'}, array 'input': sample 1 has NaN in it (tensor 'input')"
    fails("calibrate", model, "--data", tmp_path / "data.npz", "-o", tmp_path / "graph.quant", code=6, message=message)
    assert not (tmp_path / "graph.quant").exists()
