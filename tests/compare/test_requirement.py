"""`compare` says of no tensor that it is equal unless it was compared, and pairs no tensors of other numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net

from tosa_engine import arrays, oracle, serialize, types
from tosa_engine.compare import causes, read_dump, read_model, run_model
from tosa_engine.compare.comparison import compare_sides
from tosa_engine.compare.forms import is_rounded, whole_numbers
from tosa_engine.compare.names import Named, line_up
from tosa_engine.compare.trial import OutOfTime, Trial
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.types import Array

X = np.arange(-48, 48, dtype=np.int8).reshape(1, 4, 4, 6)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """model.tosa: a CLAMP and a RESCALE to `out`, whose integers stand for multiples of 0.5, 3 less."""
    net = Net()
    x = net.input("x", types.i8, 1, 4, 4, 6)
    net.op("CLAMP", "relu", types.i8, x, min_val=-20, max_val=30, nan_mode="PROPAGATE")
    net.rescale("out", "relu", types.i8, types.i8, 31, zero=(2, 1), multiplier=[1 << 30])
    graph = net.done("out")
    graph.main.tensors["out"].quant = QParams((0.5,), (3,), 8)
    serialize.write(graph, tmp_path / "model.tosa")
    return tmp_path


def values(folder: Path) -> dict[str, Array]:
    graph = serialize.read(folder / "model.tosa")
    seen = oracle.run(graph, {"x": X})
    return {"relu": np.clip(X, -20, 30), "out": seen["out"]}


def compared(command, folder: Path, dump: dict[str, Array], *more: object) -> dict[str, Any]:
    arrays.write(folder / "device.npz", dump)
    arrays.write(folder / "x.npz", {"x": X})
    given = ("-i", folder / "x.npz", *more)
    outcome = command("compare", folder / "model.tosa", folder / "device.npz", "--format", "json", *given)
    assert outcome.code in (0, 1), outcome.err
    found: dict[str, Any] = json.loads(outcome.out)[0]
    outcome = command("compare", folder / "model.tosa", folder / "device.npz", *given)
    return found | {"code": outcome.code, "verdict": outcome.out.splitlines()[-2:]}


def test_an_echoed_input_is_no_comparison(command, folder: Path) -> None:
    found = compared(command, folder, {"x": X})
    assert found["code"] == 1
    assert found["verdict"] == [
        "NOT COMPARED: output 'out' of the side here: no tensor there is its partner", "nothing could be compared"
    ]  # fmt: skip
    assert found["tensors"][0]["input"]


def test_echoed_inputs_do_not_count(command, folder: Path) -> None:
    found = compared(command, folder, {"x": X} | values(folder))
    assert (found["code"], found["verdict"][-1]) == (0, "EQUAL: 2 tensors")


def test_an_input_of_another_sample_is_a_difference(command, folder: Path) -> None:
    found = compared(command, folder, {"x": X + np.int8(1)} | values(folder))
    assert (found["code"], found["first"], found["verdict"][-1]) == (1, "x", "DIFFERENT: 1 of 3 tensors")


@pytest.mark.parametrize(
    ("require", "dumped", "code"),
    [
        ("outputs", ["out"], 0), ("outputs", ["relu"], 1), ("none", ["relu"], 0),
        ("all", ["out"], 1), ("all", ["relu", "out"], 0),
    ],
)  # fmt: skip
def test_what_must_be_compared(require: str, dumped: list[str], code: int, command, folder: Path) -> None:
    dump = {name: values(folder)[name] for name in dumped}
    assert compared(command, folder, dump, "--require", require)["code"] == code


def test_of_selected_tensors_these_outputs_alone(command, folder: Path) -> None:
    dump = {"relu": values(folder)["relu"]}
    assert compared(command, folder, dump, "--tensors", "relu")["code"] == 0


def test_integers_of_an_unknown_scale_beside_floats_are_not_compared(command, folder: Path) -> None:
    graph = serialize.read(folder / "model.tosa")
    graph.main.tensors["out"].quant = None
    serialize.write(graph, folder / "model.tosa")
    found = compared(command, folder, {"out": values(folder)["out"] * np.float32(0.37)})
    assert found["code"] == 1
    assert found["not_compared"][0]["why"] == "integers beside floats, and their scale is unknown"


@pytest.mark.parametrize("unsigned", [False, True])
def test_whole_numbers_in_floats_are_integers(unsigned: bool, command, folder: Path) -> None:
    right = values(folder)["out"]
    dump = right.astype(np.float32) + (128 if unsigned else 0)
    found = compared(command, folder, {"out": dump})
    assert (found["code"], found["tensors"][0]["relation"], found["tensors"][0]["different"]) == (0, "exact", 0)
    dump[0, 1, 2, 3] += 1
    found = compared(command, folder, {"out": dump})
    assert (found["code"], found["tensors"][0]["different"]) == (1, 1)


def test_real_numbers_that_are_whole_stay_real(command, folder: Path) -> None:
    right = values(folder)["out"]
    found = compared(command, folder, {"out": np.floor((right.astype(np.float32) - 3) * 0.5)})
    assert found["tensors"][0]["relation"] == "real"


def named(*names: str, shape: tuple[int, ...] = (2,), dtype: str = "int8") -> list[Named]:
    return [Named(name, shape, (), np.dtype(dtype)) for name in names]


@pytest.mark.parametrize(
    ("here", "there"),
    [("rescale_1", "rescale_10"), ("x1_1", "x_11"), ("x.1.1", "x11"), ("conv2", "conv2:1"), ("é1", "ü1")],
)  # fmt: skip
def test_numbers_stay_apart(here: str, there: str) -> None:
    lineup = line_up(named(here, "y"), named(there, "y"))
    assert lineup.pairs == [("y", "y")]


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("conv1/out", "0012_conv1_out_0"), ("conv1/out", "conv1_out:0"), ("a.b", "A_B"), ("x1_1", "x_1_1"),
        ("x_0", "x:0"),
    ],
)  # fmt: skip
def test_other_punctuation(here: str, there: str) -> None:
    assert line_up(named(here), named(there)).pairs == [(here, there)]


def test_of_several_candidates_the_one_that_fits() -> None:
    here = [*named("conv/out", shape=(4,)), *named("conv_out", dtype="int32", shape=(4,))]
    assert line_up(here, named("convOut", shape=(4,), dtype="int32")).pairs == [("conv_out", "convOut")]


def test_order_respects_types() -> None:
    here = [*named("acc", dtype="int32"), *named("y")]
    assert line_up(here, named("t0"), by_order=True).pairs == [("y", "t0")]
    assert line_up(here, [*named("f", dtype="float32"), *named("t0")], by_order=True).pairs == [("y", "t0")]
    floats = line_up(here, named("f", "g", dtype="float32"), by_order=True)
    assert floats.pairs == [("acc", "f"), ("y", "g")]


def test_a_tensor_that_is_somewhere_else_costs_its_own_pair_alone() -> None:
    """Dumps have the order in which a device computes: here `c` comes first."""
    here = [*named("a", "b"), *named("c", dtype="int32"), *named("d")]
    found = line_up(here, [*named("t0", dtype="int32"), *named("t1", "t2", "t3")], by_order=True)
    assert found.pairs == [("a", "t1"), ("b", "t2"), ("d", "t3")]
    assert (found.alone_here, found.alone_there) == (["c"], ["t0"])


def test_integers_beyond_24_bits_in_float32_are_compared_as_far_as_it_holds_them() -> None:
    stored = np.array([[1, -(1 << 24) - 1, (1 << 30) + 5, 1 << 20]], np.int32)
    floats = stored.astype(np.float32)
    assert (floats != stored).sum() == 2
    for array in (floats, floats.reshape(-1)):
        found = whole_numbers(array, stored, None)
        assert found is not None
        np.testing.assert_array_equal(found.reshape(1, 4), stored)
    floats[0, 2] += 128
    found = whole_numbers(floats, stored, None)
    assert found is not None
    assert (found != stored).tolist() == [[False, False, True, False]]
    assert is_rounded(floats)
    assert not is_rounded(floats[:, [0, 3]])


def wrong(folder: Path) -> Path:
    arrays.write(folder / "bad.npz", {"out": values(folder)["out"] ^ 1})
    return folder / "bad.npz"


def test_the_search_for_causes_ends_in_time(folder: Path) -> None:
    model = run_model("m", read_model(str(folder / "model.tosa"), {}), {"x": X})
    found = compare_sides(model, read_dump(wrong(folder)), seconds=1e-9)
    (one,) = found.explanations
    assert (one.stopped, one.causes) == ("after 1e-09 s", [])
    assert not compare_sides(model, read_dump(wrong(folder)), seconds=0).explanations
    (one,) = compare_sides(model, read_dump(wrong(folder))).explanations
    assert not one.stopped


def test_computing_again_ends_in_time(folder: Path) -> None:
    graph = read_model(str(folder / "model.tosa"), {})
    model = run_model("m", graph, {"x": X})
    trial = Trial(graph, model.tensors, ["x"], "out", model.tensors["out"] ^ 1)
    trial.until = 0.0
    with pytest.raises(OutOfTime):
        trial.again(trial.calls[0])


def test_an_interrupt_loses_nothing(command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = wrong(folder)
    arrays.write(folder / "x.npz", {"x": X})

    def interrupted(self: causes.Search, progress: object) -> None:
        self.tried = 7
        raise KeyboardInterrupt

    monkeypatch.setattr(causes.Search, "run", interrupted)
    outcome = command("compare", folder / "model.tosa", dump, "-i", folder / "x.npz")
    assert outcome.code == 130
    assert "first difference: 'out'" in outcome.out
    assert "the search for causes was stopped by an interrupt, with 7 tried" in outcome.out
    assert outcome.out.splitlines()[-1] == "DIFFERENT: 1 of 1 tensor"


def test_no_causes_are_looked_for_on_request(command, folder: Path) -> None:
    dump = wrong(folder)
    arrays.write(folder / "x.npz", {"x": X})
    given = ("compare", folder / "model.tosa", dump, "-i", folder / "x.npz")
    assert "cause:" not in command(*given, "--no-causes").out
    assert "cause:" in command(*given, "--causes-for", "10s").out
    assert "argument --causes-for: invalid" in command(*given, "--causes-for", "0").err
