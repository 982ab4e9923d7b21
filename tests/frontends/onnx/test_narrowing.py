"""64-bit integers in int32: what is proved to fit runs, what isn't is refused with its range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from onnx import TensorProto, helper
from onnx_models import model, written

from tosa_engine import oracle
from tosa_engine.errors import Problems, RequireViolation, Unsupported, UsageError
from tosa_engine.frontends.onnx.source import ModelSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    from tosa_engine.graph import Graph

LONG = TensorProto.INT64
TABLE = np.float32([[1, 2], [3, 4], [5, 6]])


def loaded(folder: Path, nodes: list[Any], kind: int = LONG, constants: Any = None, **options: Any) -> Graph:
    """A model of the inputs a and b, of two integers each as far as they are used."""
    used = [name for name in ("a", "b") if any(name in node.input for node in nodes)]
    proto = model(nodes, {name: (kind, [2]) for name in used}, [nodes[-1].output[0]], constants)
    return ModelSource(written(folder, proto), **options).graph()


def node(op: str, *inputs: str, result: str = "y", **attributes: Any) -> Any:
    return helper.make_node(op, list(inputs), [result], **attributes)


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int32)


def test_a_sum_of_two_inputs_is_refused_with_its_range(tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, [node("Add", "a", "b")])
    assert str(caught.value) == (
        "m.onnx: 'y' is int64 from -4294967296 to 4294967294, int32 goes from -2147483648 to 2147483647: "
        "--within a=LOW,HIGH tells the range of what it is made of, as for b"
    )


def test_a_range_that_is_told_makes_it_fit_and_runs_test_it(tmp_path: Path) -> None:
    graph = loaded(tmp_path, [node("Add", "a", "b")], within={"a": (0, 1 << 30), "b": (-5, 5)})
    assert oracle.run(graph, {"a": ints(1 << 30, 0), "b": ints(5, -5)})["y"].tolist() == [(1 << 30) + 5, -5]
    for wrong in (ints(0, 6), ints(-6, 0)):
        with pytest.raises(RequireViolation) as caught:
            oracle.run(graph, {"a": ints(1, 2), "b": wrong})
        assert caught.value.node == "b/within"


@pytest.mark.parametrize("kind", [TensorProto.UINT32, TensorProto.UINT64])
@pytest.mark.parametrize("told", [{}, {"within": {"a": (-9, 9)}}, {"within": {"a": (0, 9)}}])
def test_a_negative_number_for_an_unsigned_input_is_refused(kind: int, told: dict[str, Any], tmp_path: Path) -> None:
    graph = loaded(tmp_path, [node("Identity", "a")], kind, **told)
    assert oracle.run(graph, {"a": ints(0, 9)})["y"].tolist() == [0, 9]
    with pytest.raises(RequireViolation) as caught:
        oracle.run(graph, {"a": ints(1, -2)})
    assert caught.value.node == "a/within"


@pytest.mark.parametrize("ends", [(-(1 << 31), -7), (7, (1 << 31) - 1), (-(1 << 31), (1 << 31) - 1), (3, 3)])
def test_the_test_of_a_range_changes_no_value(ends: tuple[int, int], tmp_path: Path) -> None:
    graph = loaded(tmp_path, [node("Identity", "a")], within={"a": ends})
    assert oracle.run(graph, {"a": ints(*ends)})["y"].tolist() == list(ends)
    for beyond in (ends[0] - 1, ends[1] + 1):
        if -(1 << 31) <= beyond < 1 << 31:
            with pytest.raises(RequireViolation):
                oracle.run(graph, {"a": ints(ends[0], beyond)})


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([node("Mul", "a", "b")], "from -4611686016279904256 to 4611686018427387904"),
        ([node("Sub", "a", "b")], "from -4294967295 to 4294967295"),
        ([node("Neg", "a")], "from -2147483647 to 2147483648"),
        ([node("Abs", "a")], "from 0 to 2147483648"),
        ([node("Div", "a", "b")], "from -2147483648 to 2147483648"),
        ([node("ReduceSum", "a")], "from -4294967296 to 4294967294"),
        ([node("CumSum", "a", "zero")], "from -4294967296 to 4294967294"),
        ([node("ScatterElements", "a", "axis", "b", reduction="add")], "from -4294967296 to 4294967294"),
    ],
)
def test_results_that_grow_are_refused(nodes: list[Any], text: str, tmp_path: Path) -> None:
    held = {"zero": np.int64(0), "axis": np.array([0, 1])}
    used = {name: value for name, value in held.items() if name in nodes[0].input}
    with pytest.raises(Unsupported, match=text):
        loaded(tmp_path, nodes, constants=used)
    loaded(tmp_path, nodes, constants=used, within={name: (1, 99) for name in ("a", "b") if name in nodes[0].input})


@pytest.mark.parametrize(
    ("nodes", "constants", "wanted"),
    [
        ([node("Sub", "a", "a")], {}, [0, 0]),
        ([node("Mod", "a", "three")], {"three": np.int64(3)}, [1, 0]),
        ([node("Div", "a", "three", result="q"), node("Add", "q", "three")], {"three": np.int64(3)}, [5, -1]),
        ([node("Clip", "a", "three", "ten", result="c"), node("Mul", "c", "c")],
         {"three": np.int64(3), "ten": np.int64(10)}, [49, 9]),
        ([node("Greater", "a", "three", result="g"), node("Cast", "g", result="n", to=LONG), node("Add", "n", "n")],
         {"three": np.int64(3)}, [2, 0]),
    ],
)  # fmt: skip
def test_what_fits_for_all_inputs_runs(
    nodes: list[Any], constants: dict[str, Any], wanted: list[int], tmp_path: Path
) -> None:
    graph = loaded(tmp_path, nodes, constants=constants)
    feeds = {name: ints(7, -12) for name in graph.main.inputs}
    assert oracle.run(graph, feeds)["y"].tolist() == wanted


def test_places_in_a_table_are_bounded_by_it(tmp_path: Path) -> None:
    """GATHER tests them in every run, so that other arithmetic on the same input fits, too."""
    nodes = [node("Gather", "table", "a", result="g"), node("Mul", "a", "a", result="s")]
    proto = model(nodes, {"a": (LONG, [2])}, ["g", "s"], {"table": TABLE})
    graph = ModelSource(written(tmp_path, proto)).graph()
    assert oracle.run(graph, {"a": ints(2, -3)})["s"].tolist() == [4, 9]


@pytest.mark.parametrize("op", ["ArgMax", "TopK"])
def test_places_that_floats_decide_are_bounded(op: str, tmp_path: Path) -> None:
    found = node(op, "a", result="p") if op == "ArgMax" else helper.make_node("TopK", ["a", "k"], ["v", "p"])
    held = {"one": np.int64(1), **({"k": np.array([1])} if op == "TopK" else {})}
    graph = loaded(tmp_path, [found, node("Add", "p", "one")], TensorProto.FLOAT, held)
    assert oracle.run(graph, {"a": np.array([1, 5], np.float32)})["y"].tolist() in ([2], [[2]])


def test_unsigned_results_are_not_negative(tmp_path: Path) -> None:
    kind = TensorProto.UINT32
    with pytest.raises(Unsupported, match="'y' is uint32 from -2147483647 to 2147483647, int32 goes from 0 to"):
        loaded(tmp_path, [node("Sub", "a", "b")], kind)
    with pytest.raises(Unsupported, match="'y' is uint32 from 0 to 4294967294, int32 goes from 0 to"):
        loaded(tmp_path, [node("BitShift", "a", "one", direction="LEFT")], kind, {"one": np.uint32([1, 1])})
    graph = loaded(tmp_path, [node("Sub", "a", "b")], kind, within={"a": (9, 20), "b": (0, 9)})
    assert oracle.run(graph, {"a": ints(9, 20), "b": ints(9, 1)})["y"].tolist() == [0, 19]


def test_floats_that_are_made_integers_have_a_warning(tmp_path: Path) -> None:
    nodes = [node("Cast", "a", result="c", to=LONG), node("Identity", "c")]
    graph = loaded(tmp_path, nodes, TensorProto.FLOAT)
    assert graph.warnings == ["m.onnx: 'c' is int64 made of floats: beyond int32 it is the end of int32"]
    assert loaded(tmp_path, nodes, TensorProto.FLOAT, within={"c": (0, 9)}).warnings == []
    nodes = [nodes[0], node("Add", "c", "c")]
    with pytest.raises(Unsupported, match="--within c=LOW,HIGH tells"):
        loaded(tmp_path, nodes, TensorProto.FLOAT)
    graph = loaded(tmp_path, nodes, TensorProto.FLOAT, within={"c": (0, 9)})
    assert oracle.run(graph, {"a": np.float32([8.9, 0])})["y"].tolist() == [16, 0]


def test_doubles_inside_are_floats_with_a_warning(tmp_path: Path) -> None:
    double = TensorProto.DOUBLE
    nodes = [node("Cast", "a", result="d", to=double), node("Mul", "d", "third", result="p"), node("Cast", "p", to=1)]
    third = {"third": np.float64(1 / 3)}
    graph = loaded(tmp_path, nodes, TensorProto.FLOAT, third)
    assert graph.warnings == ["m.onnx: 'd' and 1 more are double in the model and computed as float"]
    assert oracle.run(graph, {"a": np.array([3, 1], np.float32)})["y"].tolist() == [1, float(np.float32(1 / 3))]
    with pytest.raises(Unsupported, match="input 'a': TOSA has no number format for double"):
        loaded(tmp_path, [node("Neg", "a")], double)


def test_ranges_that_say_nothing_are_refused(tmp_path: Path) -> None:
    nodes = [node("Add", "a", "b")]
    with pytest.raises(UsageError, match="the model has no value 'c' that its outputs need, to be within a range"):
        loaded(tmp_path, nodes, within={"c": (0, 1)})
    with pytest.raises((UsageError, Problems), match="--within a=5,1: 'a' is int64, "):
        loaded(tmp_path, nodes, within={"a": (5, 1)})
    with pytest.raises(UsageError, match="--within a=0,1: 'a' is float, "):
        loaded(tmp_path, [node("Relu", "a")], TensorProto.FLOAT, within={"a": (0, 1)})


def test_the_command_tells_ranges(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    path = written(tmp_path, model([node("Add", "a", "a")], {"a": (LONG, [2])}, ["y"]))
    np.save(tmp_path / "a.npy", np.array([3, 4]))
    assert "--within a=LOW,HIGH tells" in command("run", path, "-i", tmp_path / "a.npy").err
    out = tmp_path / "y.npy"
    done = command("run", path, "--within", "a=0,9", "-i", tmp_path / "a.npy", "-o", out)
    assert done.code == 0, done.err
    assert np.load(out).tolist() == [6, 8]
    np.save(tmp_path / "a.npy", np.array([3, 40]))
    done = command("run", path, "--within", "a=0,9", "-i", tmp_path / "a.npy")
    assert done.code == 4
    assert "a/within" in done.err
