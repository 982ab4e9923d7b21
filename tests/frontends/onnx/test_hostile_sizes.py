"""ONNX models that would take much: one error each, soon and in little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from limits import within_limits

from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from onnx import TensorProto, helper, numpy_helper

from tosa_engine.frontends.onnx import mapping

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

node = helper.make_node
Y = helper.make_empty_tensor_value_info("y")
HELD = {
    "huge": np.array([1 << 40]), "long": np.array(1 << 40), "half": np.array([1 << 28]), "many": np.arange(100_000),
    "ones": np.ones(100_000, np.int64), "one": np.ones(1, np.float32), "zero": np.array(0), "step": np.array(1),
    "pair": np.array([0, 1], np.float32), "wide": np.ones((1, 30_000), np.float32),
    "tall": np.ones((30_000, 1), np.float32), "places": np.array([1]), "mega": np.array([1 << 18]),
    "pads": np.array([1 << 40, 0]), "yes": np.array(True), "steps": np.array(4000),
}  # fmt: skip


def port(name: str, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def written(
    folder: Path, nodes: Sequence[Any], functions: Sequence[Any] = (), shape: Sequence[int] = (4,), **more: Any
) -> Path:
    read = {name for one in nodes for name in one.input}
    held = [numpy_helper.from_array(array, name) for name, array in HELD.items() if name in read]
    graph = helper.make_graph([*nodes], "g", [port("x", *shape)], [Y], held, **more)
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, functions=[*functions], opset_imports=sets)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


def refusal(path: Path) -> str:
    with pytest.raises(TosaEngineError) as caught, within_limits():
        load(path)
    return str(caught.value)


def added(*nodes: Any) -> list[Any]:
    return [*nodes, node("Add", ["x", "c"], ["y"])]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (added(node("ConstantOfShape", ["huge"], ["c"])), "a constant of shape [1099511627776] would be too large"),
        (added(node("ConstantOfShape", ["half"], ["c"])), "a constant of shape [268435456] would be too large"),
        (added(node("Expand", ["one", "half"], ["c"])), "a constant of shape [268435456] would be too large"),
        (added(node("Tile", ["one", "half"], ["c"])), "a constant of shape [268435456] would be too large"),
        (added(node("Range", ["zero", "long", "step"], ["c"])), "a constant of shape [1099511627776] would be too"),
        (added(node("Add", ["wide", "tall"], ["c"])), "a constant of shape [30000, 30000] would be too large"),
        ([node("Expand", ["x", "huge"], ["y"])], "shape [4] doesn't broadcast to [1099511627776]"),
        ([node("Pad", ["x", "pads"], ["y"])], "'y' would have shape [1099511627780]"),
        (added(node("OneHot", ["places", "long", "pair"], ["c"])), "a depth of 1099511627776; it is from 1 to"),
        ([node("Unsqueeze", ["x", "many"], ["y"])], "a tensor of 100001 dimensions; at most 32 are made"),
        (added(node("Unsqueeze", ["one", "many"], ["c"])), "a tensor of 100001 dimensions; at most 32 are made"),
        ([node("Unsqueeze", ["x", "many"], ["z"]), node("Relu", ["z"], ["y"])], "at most 32 are made"),
        ([node("LRN", ["x"], ["y"], size=3)], "3 neighbours in shape [4]"),
        ([node("Bogus", ["x"], [f"v{i}"]) for i in range(3000)]
         + [node("Sum", [f"v{i}" for i in range(3000)], ["y"])], "... and 901 more"),
    ],
)  # fmt: skip
def test_sizes_that_no_array_has(tmp_path: Path, nodes: list[Any], message: str) -> None:
    found = refusal(written(tmp_path, nodes))
    assert message in found
    assert len(found) < 20_000


@pytest.mark.parametrize("size", [0, -1])
def test_local_response_of_no_neighbours(tmp_path: Path, size: int) -> None:
    path = written(tmp_path, [node("LRN", ["x"], ["y"], size=size)], shape=(1, 4, 2, 2))
    assert f"{size} neighbours in shape [1, 4, 2, 2]" in refusal(path)


def test_local_response_of_more_neighbours_than_channels(tmp_path: Path) -> None:
    with within_limits():
        graph = load(written(tmp_path, [node("LRN", ["x"], ["y"], size=1 << 40)], shape=(1, 4, 2, 2)))
    assert sum(op.op == "SLICE" for op in graph.main.operators) == 7


def test_computed_arrays_that_take_much_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "MOST_KNOWN", 8 << 20)
    nodes = [node("ConstantOfShape", ["mega"], [f"c{i}"]) for i in range(9)]  # 1 MiB each
    path = written(tmp_path, [*nodes, node("Sum", [f"c{i}" for i in range(9)], ["c"]), node("Add", ["x", "c"], ["y"])])
    assert "the arrays that are computed of constants take more than 8 MB together" in refusal(path)


def function(number: int, nodes: Sequence[Any]) -> Any:
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    return helper.make_function("own", f"f{number}", ["a"], ["b"], [*nodes], sets, [])


@pytest.mark.parametrize("last", ["Relu", "Bogus"])
def test_functions_that_double_thirty_times(tmp_path: Path, last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "MOST_INNER", 2000)
    functions = [
        function(i, [node(f"f{i + 1}", ["a"], ["t"], domain="own"), node(f"f{i + 1}", ["a"], ["u"], domain="own"),
                     node("Add", ["t", "u"], ["b"])])
        for i in range(30)
    ]  # fmt: skip
    path = written(
        tmp_path, [node("f0", ["x"], ["y"], domain="own")], [*functions, function(30, [node(last, ["a"], ["b"])])]
    )
    said = "functions, branches and loops make more than 2000 nodes" if last == "Relu" else "this operator is unknown"
    assert said in refusal(path)


def test_loops_in_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "MOST_INNER", 2000)
    number = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    given, going = (helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in "kg")

    def loop(depth: int, x: str, y: str) -> Any:
        inner = loop(depth - 1, "a", "d") if depth else node("Relu", ["a"], ["d"])
        nodes = [node("Identity", ["k"], ["g"]), inner]
        body = helper.make_graph(nodes, "b", [number, given, port("a", 4)], [going, port("d", 4)])
        return node("Loop", ["steps", "yes", x], [y], body=body)

    assert "loops make more than 2000 nodes" in refusal(written(tmp_path, [loop(3, "x", "y")]))


def test_ten_thousand_results_of_one_node(tmp_path: Path) -> None:
    count = 10_000
    path = written(
        tmp_path, [node("Split", ["x"], ["y", *(f"y{i}" for i in range(1, count))], num_outputs=count)], shape=(count,)
    )
    with within_limits():
        assert len(load(path).main.operators) == 3


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = written(tmp_path, [node("Relu", ["x"], ["y"], name="first")])
    path.write_bytes(path.read_bytes().replace(b"Relu", b"Re\xffu"))
    assert refusal(path) == f"{path} is damaged: the name b'Re\\xffu' isn't UTF-8"


def test_a_sparse_tensor_that_would_fill_the_memory(tmp_path: Path) -> None:
    values = helper.make_tensor("c", TensorProto.FLOAT, [1], [1.0])
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [1], [0]), [1 << 28])
    assert "sparse tensor 'c' has shape [268435456]" in refusal(written(tmp_path, added(), sparse_initializer=[sparse]))


def test_external_data_that_end_too_early(tmp_path: Path) -> None:
    held = TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[1 << 28], data_location=TensorProto.EXTERNAL)
    held.external_data.add(key="location", value="w.bin")
    (tmp_path / "w.bin").write_bytes(bytes(8))
    graph = helper.make_graph(added(), "g", [port("x", 4)], [Y], [held])
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    assert "w.bin ends before byte 1073741824" in refusal(tmp_path / "m.onnx")
