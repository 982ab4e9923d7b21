"""`tosa-engine compare`: models and dumps beside each other, and which tensor is which."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net

from tosa_engine import Session, arrays, serialize, types
from tosa_engine.compare.names import Named, line_up
from tosa_engine.errors import DataError, Problems

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.types import Array

FEEDS = {"x": np.arange(-48, 48, dtype=np.int8).reshape(1, 4, 4, 6)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """model.tosa: a CLAMP, a RESCALE and a TRANSPOSE; x.npz: its input; device.npz: all that it writes."""
    net = Net()
    x = net.input("x", types.i8, 1, 4, 4, 6)
    net.op("CLAMP", "block1/relu", types.i8, x, min_val=-20, max_val=30, nan_mode="PROPAGATE")
    net.rescale("block1/scaled", "block1/relu", types.i8, types.i8, 31, zero=(2, 1), multiplier=[1 << 30])
    net.op("TRANSPOSE", "out", types.i8, "block1/scaled", perms=(0, 3, 1, 2))
    graph = net.done("out")
    serialize.write(graph, tmp_path / "model.tosa")
    arrays.write(tmp_path / "x.npz", FEEDS)
    arrays.write(tmp_path / "device.npz", tensors(tmp_path))
    return tmp_path


def tensors(folder: Path) -> dict[str, Array]:
    found: dict[str, Array] = {}

    class Keep:
        tensors = None

        def __call__(self, node: str, tensor: str, array: Array) -> None:
            found[tensor] = array

    Session(folder / "model.tosa").run(None, FEEDS, probes=[Keep()])
    return found


def compared(command, folder: Path, dump: str, *more: object) -> dict[str, Any]:
    outcome = command(
        "compare", folder / "model.tosa", folder / dump, "-i", folder / "x.npz", "--format", "json", *more
    )
    assert outcome.code in (0, 1), outcome.err
    found: dict[str, Any] = json.loads(outcome.out)[0]
    return found | {"code": outcome.code}


def test_equal_tensors(command, folder: Path) -> None:
    outcome = command("compare", folder / "model.tosa", folder / "device.npz", "-i", folder / "x.npz")
    assert outcome.code == 0
    assert outcome.out.splitlines()[:3] == [
        f"here   {folder / 'model.tosa'} (integer model)",
        f"there  {folder / 'device.npz'} (dump)",
        "3 tensors lined up (3 by name)",
    ]
    assert outcome.out.splitlines()[-1] == "EQUAL: 3 tensors"


def test_the_first_difference_and_the_histogram(command, folder: Path) -> None:
    dumped = {name: array.copy() for name, array in tensors(folder).items()}
    dumped["block1/scaled"][0, 1, 2, 3] += 1
    dumped["block1/scaled"][0, 2] -= 9
    dumped["out"][...] = 0
    arrays.write(folder / "bad.npz", dumped)
    outcome = command("compare", folder / "model.tosa", folder / "bad.npz", "-i", folder / "x.npz")
    assert outcome.code == 1
    assert "first difference: 'block1/scaled' at [0, 1, 2, 3]: -4 here, -3 there; 25 of 96 elements differ" in (
        outcome.out
    )
    assert "LSB, there - here: beyond -8: 24, +1: 1" in outcome.out
    assert outcome.out.splitlines()[-1] == "DIFFERENT: 2 of 3 tensors"


def test_a_folder_of_dumps_of_our_own(command, folder: Path) -> None:
    assert command("run", folder / "model.tosa", "-i", folder / "x.npz", "--dump-intermediates", folder / "d").code == 0
    assert compared(command, folder, "d")["code"] == 0


def test_names_as_others_write_them(command, folder: Path) -> None:
    for i, (name, array) in enumerate(tensors(folder).items()):
        (folder / "d").mkdir(exist_ok=True)
        np.save(folder / "d" / f"{i:04}_{name.replace('/', '_')}_0.npy".replace("_0.npy", ":0.npy"), array)
    found = compared(command, folder, "d")
    assert found["code"] == 0
    assert [t["here"] for t in found["tensors"]] == ["block1/relu", "block1/scaled", "out"]


def test_names_by_a_map_and_by_order(command, folder: Path) -> None:
    a, b, c = tensors(folder).values()
    arrays.write(folder / "other.npz", {"alpha": a, "beta": b, "gamma": c})
    (folder / "map.json").write_text(json.dumps({"beta": "block1/scaled"}))
    found = compared(command, folder, "other.npz", "--map", folder / "map.json")
    assert (found["code"], found["only_there"]) == (1, ["alpha", "gamma"])
    assert [(m["tensor"], m["output"]) for m in found["not_compared"]] == [("out", True)]
    assert [(t["here"], t["there"]) for t in found["tensors"]] == [("block1/scaled", "beta")]
    found = compared(command, folder, "other.npz", "--map", "order")
    assert found["code"] == 1  # the input has the shape of the first dump, too
    arrays.write(folder / "other.npz", {"first": FEEDS["x"], "alpha": a, "beta": b, "gamma": c})
    found = compared(command, folder, "other.npz", "--map", "order")
    assert (found["code"], len(found["tensors"])) == (0, 4)


def test_a_dump_may_come_first_and_hold_the_inputs(command, folder: Path) -> None:
    arrays.write(folder / "all.npz", FEEDS | tensors(folder))
    outcome = command("compare", folder / "all.npz", folder / "model.tosa")
    assert outcome.code == 0
    arrays.write(folder / "named.npz", FEEDS | {"y": tensors(folder)["block1/scaled"] + 1})
    (folder / "map.json").write_text(json.dumps({"y": "block1/scaled"}))
    outcome = command("compare", folder / "named.npz", folder / "model.tosa", "--map", folder / "map.json")
    assert outcome.code == 1
    assert "first difference: 'y'" in outcome.out


def test_channels_first_and_dimensions_of_one(command, folder: Path) -> None:
    found = tensors(folder)
    arrays.write(
        folder / "other.npz", {"block1/relu": np.moveaxis(found["block1/relu"], -1, 1), "out": found["out"][0]}
    )
    result = compared(command, folder, "other.npz")
    assert result["code"] == 0
    assert all(t["different"] == 0 for t in result["tensors"])


def test_unsigned_dumps(command, folder: Path) -> None:
    """What is int8 here is uint8 there, with 128 more."""
    moved = {name: (array.astype(int) + 128).astype(np.uint8) for name, array in tensors(folder).items()}
    arrays.write(folder / "unsigned.npz", moved)
    outcome = command("compare", folder / "model.tosa", folder / "unsigned.npz", "-i", folder / "x.npz")
    assert outcome.code == 0
    assert outcome.out.count("uint8 there, read as 128 less") == 3
    arrays.write(folder / "unsigned.npz", {name: array.view(np.uint8) for name, array in tensors(folder).items()})
    outcome = command("compare", folder / "model.tosa", folder / "unsigned.npz", "-i", folder / "x.npz")
    assert outcome.code == 0
    assert outcome.out.count("uint8 there, the same bits") == 3


def test_other_shapes_are_a_difference(command, folder: Path) -> None:
    arrays.write(folder / "other.npz", {"out": np.zeros((7, 5), np.int8)})
    outcome = command("compare", folder / "model.tosa", folder / "other.npz", "-i", folder / "x.npz")
    assert outcome.code == 1
    assert "first difference: 'out' is int8[1, 6, 4, 4] here, int8[7, 5] there" in outcome.out


def test_three_sides(command, folder: Path) -> None:
    outcome = command(
        "compare", folder / "model.tosa", folder / "device.npz", folder / "device.npz", "-i", folder / "x.npz"
    )
    assert outcome.code == 0
    assert outcome.out.count("EQUAL: 3 tensors") == 2


def test_float_integer_and_real_numbers_of_a_device(command, digits: Path, tmp_path: Path) -> None:
    """float model -> integer model -> what a device read back as floats."""
    data, quant, integer = digits / "digits_data.npz", tmp_path / "graph.quant", tmp_path / "digits.tosa"
    assert command("calibrate", digits / "digits.nnef", "--data", data, "--samples", 20, "-o", quant).code == 0
    assert command("quantize", digits / "digits.nnef", "--quant", quant, "-o", integer).code == 0
    with np.load(data, allow_pickle=False) as found:
        arrays.write(tmp_path / "x.npz", {"input": found["test_images"][:1].astype(np.float32)})
    run = command("run", digits / "digits.nnef", "-i", tmp_path / "x.npz", "-o", tmp_path / "float.npz")
    assert run.code == 0, run.err
    line = ["compare", digits / "digits.nnef", integer, tmp_path / "float.npz", "-i", tmp_path / "x.npz"]
    outcome = command(*line, "--format", "json")
    assert outcome.code == 0, outcome.err
    first, second = json.loads(outcome.out)
    layers = {t["here"]: t for t in first["tensors"]}
    assert {"input", "r1", "pool", "logits", "output"} <= set(layers)
    assert layers["r1"]["sqnr"] > 25
    assert 0.99 < layers["r1"]["cosine"] <= 1
    (output,) = second["tensors"]
    assert (output["relation"], output["here"]) == ("real", "output")
    assert command(*line, "--min-sqnr", 25).code == 0
    assert command(*line, "--min-sqnr", 90).code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["model.tosa"], 2, "compare needs two sides or more"),
        (["model.tosa", "device.npz", "--tensors", "nowhere"], 2, "--tensors 'nowhere' matches none of the 3 tensors"),
        (["model.tosa", "device.npz", "--tensors", "("], 2, "--tensors '(': missing )"),
        (["model.tosa", "device.npz", "--map", "map.json"], 2, "--map: the model has no tensor 'nowhere'"),
        (["model.tosa", "device.npz", "--map", "none.json"], 6, "none.json: no such map"),
        (["model.tosa", "none.npz"], 6, "none.npz: no such dump"),
        (["model.tosa", "empty"], 6, "empty: the folder has no .npy and no .bin files"),
        (["model.tosa", "strange.npz"], 6, "no tensor of one side has a partner"),
        (["model.tosa", "hostile"], 6, "'x' needs a 'file' in this folder"),
    ],
)
def test_wrong_calls(arguments: list[str], code: int, message: str, command, folder: Path, monkeypatch) -> None:
    (folder / "empty").mkdir()
    (folder / "hostile").mkdir()
    for name in ("../x.npz", "\\u0000", "\\ud800"):
        (folder / "hostile" / "index.json").write_text(f'{{"x": {{"file": "{name}"}}}}')
        assert command("compare", folder / "hostile", folder / "hostile").code == 6
    (folder / "hostile" / "index.json").write_text('{"x": {"file": "../x.npz"}}')
    (folder / "map.json").write_text('{"absent": "nowhere"}')
    arrays.write(folder / "strange.npz", {"absent": np.zeros(3, np.int8)})
    monkeypatch.chdir(folder)
    outcome = command("compare", *arguments, "-i", "x.npz")
    assert outcome.code == code
    assert message in outcome.err


def test_an_input_that_nobody_gives(command, folder: Path) -> None:
    outcome = command("compare", folder / "model.tosa", folder / "device.npz")
    assert outcome.code == 2
    assert "no array for input x; give one with -i or --data" in outcome.err


def test_lining_up() -> None:
    here = [
        Named("conv1/out", (1,)),
        Named("a", (2,), ("first",)),
        Named("b", (3,)),
        Named("c", (3,)),
        Named("d.e", (4,)),
    ]
    there = [
        Named(n, s) for n, s in [("0003_CONV1_out:0", (1,)), ("first", (2,)), ("q", (3,)), ("d/e", (4,)), ("d-e", (4,))]
    ]
    found = line_up(here, there)
    assert found.pairs == [("conv1/out", "0003_CONV1_out:0"), ("a", "first")]  # d/e and d-e: either could be d.e
    assert (found.alone_here, found.alone_there) == (["b", "c", "d.e"], ["q", "d/e", "d-e"])
    assert line_up(here, there, by_order=True).pairs[2:] == [("b", "q"), ("d.e", "d/e")]
    assert line_up(here, there, {"q": "c"}).pairs[-1] == ("c", "q")


def test_all_wrong_names_of_a_map_are_reported() -> None:
    with pytest.raises(Problems) as raised:
        line_up([Named("a", ())], [Named("b", ())], {"x": "a", "y": "nowhere"})
    assert [str(p) for p in raised.value.problems] == [
        "--map: there is no tensor 'x' in the dump",
        "--map: there is no tensor 'y' in the dump",
        "--map: the model has no tensor 'nowhere'",
    ]
    with pytest.raises(DataError, match=r"'a' \(1 in all\) on one side, none on the other"):
        line_up([Named("a", ())], [])
