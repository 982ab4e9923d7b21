"""If and Loop that data decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from onnx import TensorProto, helper
from onnx_models import FLOAT, model, written

from tosa_engine import oracle
from tosa_engine.check import validate
from tosa_engine.errors import RequireViolation, Unsupported
from tosa_engine.load import load
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from pathlib import Path

LONG, INT, BOOL = TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
TABLE = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def inner(nodes: list[Any], inputs: dict[str, Any], outputs: str) -> Any:
    """A graph that is an attribute. `inputs`: name -> (element type, shape)."""
    ports = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]
    return helper.make_graph(nodes, "inner", ports, [helper.make_empty_tensor_value_info(n) for n in outputs.split()])


def decided(yes: list[Any], no: list[Any], condition: str = "c") -> Any:
    return node("If", condition, "y", then_branch=inner(yes, {}, "t"), else_branch=inner(no, {}, "e"))


def graph_of(folder: Path, nodes: list[Any], inputs: dict[str, Any], outputs: str = "y", **held: Any) -> Any:
    graph = load(written(folder, model(nodes, inputs, outputs.split(), held)))
    validate(graph)
    return graph


def operators(graph: Any) -> set[str]:
    return {op.op for op in graph.main.operators}


def test_branches_that_cannot_fail_are_both_computed(tmp_path: Path) -> None:
    nodes = [
        node("ReduceMax", "x", "m", keepdims=0), node("Greater", "m two", "c"),
        decided([node("Mul", "x two", "t")], [node("Neg", "x", "n"), node("Add", "n m", "e")]), node("Relu", "y", "z"),
    ]  # fmt: skip
    graph = graph_of(tmp_path, nodes, {"x": [3]}, "y z", two=np.float32(2))
    assert "SELECT" in operators(graph)
    assert len(graph.regions) == 1
    for x in (floats(1, 2, 3), floats(1, -1, 0)):
        wanted = x * 2 if x.max() > 2 else x.max() - x
        found = oracle.run(graph, {"x": x})
        assert found["y"].tolist() == wanted.tolist()
        assert found["z"].tolist() == np.maximum(wanted, 0).tolist()


def test_a_branch_that_may_fail_runs_only_where_it_is_taken(tmp_path: Path) -> None:
    nodes = [decided([node("Gather", "table i", "t")], [node("Add", "x x", "e")])]
    inputs: dict[str, Any] = {"c": (BOOL, [1]), "i": (LONG, []), "x": [2]}
    graph = graph_of(tmp_path, nodes, inputs, table=TABLE)
    assert operators(graph) >= {"COND_IF"}
    feeds: dict[str, Any] = {"c": np.array([False]), "i": np.array(99, np.int32), "x": floats(7, 8)}
    assert oracle.run(graph, feeds)["y"].tolist() == [14, 16]
    with pytest.raises(RequireViolation):
        oracle.run(graph, {**feeds, "c": np.array([True])})
    feeds |= {"c": np.array([True]), "i": np.array(-1, np.int32)}
    assert oracle.run(graph, feeds)["y"].tolist() == [5, 6]
    assert Session(graph, threads=1).run(None, feeds)[0].tolist() == [5, 6]


def test_places_in_a_branch_that_may_not_run_bound_nothing_outside(tmp_path: Path) -> None:
    nodes = [decided([node("Gather", "table i", "t")], [node("Add", "x x", "e")]), node("Mul", "i i", "s")]
    inputs: dict[str, Any] = {"c": (BOOL, [1]), "i": (LONG, []), "x": [2]}
    with pytest.raises(Unsupported, match="'s' is int64 from -46116860"):
        graph_of(tmp_path, nodes, inputs, "y s", table=TABLE)


def test_branches_inside_of_branches_read_what_is_around_both(tmp_path: Path) -> None:
    deep = node("If", "d", "t", then_branch=inner([node("Gather", "table i", "g"), node("Add", "g x", "u")], {}, "u"),
                else_branch=inner([node("Gather", "table j", "v")], {}, "v"))  # fmt: skip
    nodes = [decided([deep], [node("Sub", "x x", "e")])]
    inputs: dict[str, Any] = {"c": (BOOL, []), "d": (BOOL, []), "i": (LONG, []), "j": (LONG, []), "x": [2]}
    graph = graph_of(tmp_path, nodes, inputs, table=TABLE)
    base: dict[str, Any] = {"i": np.array(0, np.int32), "j": np.array(2, np.int32), "x": floats(10, 20)}
    for c, d, wanted in ((1, 1, [11, 22]), (1, 0, [5, 6]), (0, 1, [0, 0])):
        feeds: dict[str, Any] = {**base, "c": np.array(c, bool), "d": np.array(d, bool)}
        assert oracle.run(graph, feeds)["y"].tolist() == wanted


def test_branches_of_different_shapes_are_refused(tmp_path: Path) -> None:
    nodes = [node("Not", "b", "c"), decided([node("Relu", "x", "t")], [node("ReduceSum", "x", "e")])]
    with pytest.raises(Unsupported) as caught:
        graph_of(tmp_path, nodes, {"b": (BOOL, []), "x": [3]})
    said = "m.onnx: If of 'y': branches that give float[3] and float[1], chosen by data: Not of 'c' <- 'b'"
    assert str(caught.value) == said


def step(nodes: list[Any], kind: Any, outputs: str = "on s2") -> Any:
    return inner(nodes, {"i": (LONG, []), "go": (BOOL, []), "s": kind}, outputs)


def test_a_loop_whose_number_of_steps_is_data(tmp_path: Path) -> None:
    body = step([node("Identity", "go", "on"), node("Mul", "s x", "p"), node("Cast", "i", "f", to=FLOAT),
                 node("Add", "p f", "s2")], (FLOAT, [2]))  # fmt: skip
    nodes = [node("Loop", "n yes x", "y", body=body)]
    graph = graph_of(tmp_path, nodes, {"n": (LONG, []), "x": [2]}, yes=np.array(True))
    x = floats(2, -1)
    for n in (0, 1, 5):
        wanted = x
        for i in range(n):
            wanted = wanted * x + np.float32(i)
        feeds: dict[str, Any] = {"n": np.array(n, np.int32), "x": x}
        assert oracle.run(graph, feeds)["y"].tolist() == wanted.tolist()
    assert Session(graph, threads=1).run(None, feeds)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize("most", ["", "limit"])
@pytest.mark.parametrize("first", ["", "go0"])
def test_a_loop_that_data_end(most: str, first: str, tmp_path: Path) -> None:
    """Where the first step is known to run, it stands in front of the loop."""
    body = step([node("Add", "s x", "s2"), node("Less", "s2 end", "on")], (FLOAT, []))
    loop = helper.make_node("Loop", [most, first, "x"], ["y"], body=body)
    inputs: dict[str, Any] = {"x": [], **({"go0": (BOOL, [])} if first else {})}
    held: dict[str, Any] = {"end": np.float32(10), **({"limit": np.int64(3)} if most else {})}
    graph = graph_of(tmp_path, [loop], inputs, **held)
    for x, go in ((3, True), (4, True), (30, True), (1, False)):
        wanted, on, i = x, go or not first, 0
        while on and (not most or i < 3):
            wanted, i = wanted + x, i + 1
            on = wanted < 10
        feeds: dict[str, Any] = {"x": np.float32(x), **({"go0": np.array(go)} if first else {})}
        assert oracle.run(graph, feeds)["y"] == wanted


def test_integers_in_a_loop_are_tested_in_runs(tmp_path: Path) -> None:
    def looped(op: str) -> Any:
        body = step([node("Identity", "go", "on"), node(op, "s s", "s2")], (LONG, []))
        return graph_of(tmp_path, [node("Loop", "n yes one", "y", body=body)], {"n": (LONG, [])},
                        yes=np.array(True), one=np.int64(1))  # fmt: skip

    graph = looped("Add")
    assert oracle.run(graph, {"n": np.array(30, np.int32)})["y"] == 1 << 30
    with pytest.raises(RequireViolation):
        oracle.run(graph, {"n": np.array(31, np.int32)})
    with pytest.raises(Unsupported, match="int64 from"):
        looped("Mul")


@pytest.mark.parametrize(
    ("body", "outputs", "text"),
    [
        (step([node("Identity", "go", "on"), node("Concat", "s s", "s2", axis=0)], (FLOAT, [2])), "y",
         "value 0 that a loop carries on, whose end data decide: float[2] becomes float[4]"),
        (step([node("Identity", "go", "on"), node("Relu", "s", "s2"), node("Neg", "s", "o")], (FLOAT, [2]), "on s2 o"),
         "y z", "a loop whose steps are stacked, and whose number of steps depends on data: 'n'"),
    ],
)  # fmt: skip
def test_loops_that_are_refused(body: Any, outputs: str, text: str, tmp_path: Path) -> None:
    loop = helper.make_node("Loop", ["n", "", "x"], outputs.split(), body=body)
    with pytest.raises(Unsupported) as caught:
        graph_of(tmp_path, [loop], {"n": (LONG, []), "x": [2]}, outputs)
    assert str(caught.value) == f"m.onnx: Loop of 'y': {text}"
