"""Common IR graphs as a whole: functions, collections, the way to ONNX and back, hostile files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from common_ir_documents import OPERATORS, graph, library, node, port, relu, tensor, written
from limits import within_limits

from tosa_engine import oracle
from tosa_engine.errors import DataError, Unsupported
from tosa_engine.frontends.common_ir import flatten
from tosa_engine.load import load

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

ROOT = Path(__file__).parents[3]
COLLECTIONS = {"imports": ["onnx.cir.json", "commonir:collections"]}


def run(path: Path, **feeds: Any) -> dict[str, list[float]]:
    arrays = {name: np.asarray(value, np.float32) for name, value in feeds.items()}
    return {name: array.tolist() for name, array in oracle.run(load(path), arrays).items()}


def test_functions_take_attributes_lists_and_what_is_left_out(tmp_path: Path) -> None:
    axis = {"name": "axis", "type": "int64", "from": "along"}
    body = [node("c", "Concat", ["parts"], ["r"], arg_count=[1], attributes=[axis])]
    function = {
        "name": "join", "inputs": [port("parts", count="repeated")], "outputs": [port("r")], "nodes": body,
        "attributes": [{"name": "along", "type": "int64", "default": 0}],
    }  # fmt: skip
    calls = [node("j", "join", ["x", "x", "x"], ["y"], arg_count=[3])]
    document = graph(calls, outputs=[port("y", tensor(6))], functions=[function])
    assert run(written(tmp_path, document), x=[1, 2]) == {"y": [1, 2] * 3}
    document["nodes"][0]["attributes"] = [{"name": "along", "type": "int64", "value": 5}]
    with pytest.raises(DataError, match="axis 5"):
        load(written(tmp_path, document))


def test_tuples_and_maps_are_taken_apart(tmp_path: Path) -> None:
    def at(name: str, value: Any, kind: str) -> list[Any]:
        return [{"name": name, "type": kind, "value": value}]

    steps = [
        node("second", "tuple_at", ["t"], ["b"], attributes=at("index", 1, "int64")),
        node("half", "map_at", ["table"], ["h"], attributes=at("key", "half", "string")),
        node("both", "list", ["b", "h"], ["items"], arg_count=[2]),
        node("more", "list_append", ["items", "b"], ["longer"]),
        node("rest", "list_tail", ["longer"], ["shorter"]),
        node("first", "list_at", ["shorter"], ["one"], attributes=at("index", 0, "int64")),
        node("n", "Relu", ["b"], ["y"]),
        node("m", "Neg", ["one"], ["z"]),
    ]
    pair = {"tuple": [tensor(1), tensor(2)]}
    table = {"name": "table", "type": {"map": ["string", "float32"]}, "data": {"half": 0.5}}
    outputs = [port("y", tensor(2)), port("z", tensor())]
    path = written(tmp_path, graph(steps, {"t": pair}, outputs, initializers=[table], **COLLECTIONS))
    assert run(path, t_0=[9], t_1=[-1, 3]) == {"y": [0, 3], "z": -0.5}


def test_sparse_initializers_become_dense(tmp_path: Path) -> None:
    held = {"name": "w", "type": {"sparse_tensor": "float32", "shape": [2]}, "data": {"values": [7], "indices": [[1]]}}
    document = graph([node("n", "Add", ["x", "w"], ["y"])], initializers=[held])
    assert run(written(tmp_path, document), x=[1, 2]) == {"y": [1, 9]}


@pytest.mark.parametrize(("kind", "data", "name"), [("int64", 1, "w"), ({"list": "int64"}, [1], "w_0")])
def test_scalars_are_no_operands(tmp_path: Path, kind: Any, data: Any, name: str) -> None:
    with pytest.raises(DataError) as caught:
        load(written(tmp_path, relu() | {"initializers": [{"name": "w", "type": kind, "data": data}]}))
    assert str(caught.value) == f"CIR.TYPE: net.cir.json: '{name}' is int64: a scalar is a tensor of shape []"


def test_what_isnt_static_is_refused(tmp_path: Path) -> None:
    document = graph([node("n", "Relu", ["x"], ["y"])], {"x": {"list": tensor(2)}})
    with pytest.raises(
        Unsupported, match=r"input 'x': a list of tensor of float32.* isn't known before the graph runs"
    ):
        load(written(tmp_path, document))


def there_and_back(tmp_path: Path, path: Path, command: Callable[..., Outcome]) -> tuple[Any, Any]:
    """A model before and after Common IR."""
    between, after = tmp_path / "between.cir.json", tmp_path / "after.onnx"
    assert command("convert", path, "-o", between).err == ""
    assert command("convert", between, "-o", after).err == ""
    return onnx.load(path), onnx.load(after)


def assert_same(before: Any, after: Any) -> None:
    for side in ("input", "output"):
        assert list(getattr(before.graph, side)) == list(getattr(after.graph, side))
    for one, other in zip(before.graph.node, after.graph.node, strict=True):
        one.ClearField("doc_string")
        if not one.domain:
            one.ClearField("domain")
        assert one == other
    for one, other in zip(before.graph.initializer, after.graph.initializer, strict=True):
        assert one.name == other.name
        left, right = onnx.numpy_helper.to_array(one), onnx.numpy_helper.to_array(other)
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)


def digits() -> Any:
    """The network of examples/digits in ONNX, with names as exporters give them."""
    from tosa_engine.frontends.nnef.files.dat import read_dat

    folder = ROOT / "examples" / "digits" / "digits.nnef"
    held: list[Any] = []
    nodes: list[Any] = []

    def weight(label: str) -> str:
        values = np.asarray(read_dat((folder / f"{label}.dat").read_bytes(), label).array)
        values = values.reshape(-1) if values.shape[0] == 1 else values
        held.append(onnx.numpy_helper.from_array(values, f"{label}:0"))
        return f"{label}:0"

    def add(op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(onnx.helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def layer(x: str, n: int, pad: int) -> str:
        conv = add("Conv", [x, weight(f"c{n}/filter")], f"c{n}/conv", pads=[pad] * 4, group=16 if n == 2 else 1)
        given = [weight(f"c{n}/{word}") for word in ("scale", "offset", "mean", "variance")]
        return add("BatchNormalization", [conv, *given], f"c{n}/norm", epsilon=1e-5)

    x = "input"
    for n, pad in ((1, 1), (2, 1), (3, 0)):
        x = add("Relu", [layer(x, n, pad)], f"c{n}/relu")
    pooled = add("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
    skip = add("Relu", [layer(pooled, 4, 1)], "c4/relu")
    total = add("Relu", [add("Add", [layer(skip, 5, 1), skip], "sum")], "c5/relu")
    features = add("Flatten", [add("GlobalAveragePool", [total], "mean")], "features")
    logits = add("Gemm", [features, weight("fc/filter"), weight("fc/bias")], "logits", transB=1)
    add("Softmax", [logits], "output")
    ports = [
        onnx.helper.make_tensor_value_info(name, 1, shape)
        for name, shape in (("input", ["batch.size", 1, 8, 8]), ("output", ["batch.size", 10]))
    ]
    made = onnx.helper.make_graph(nodes, "digits.net", ports[:1], ports[1:], held)
    return onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)])


def test_digits_go_to_common_ir_and_back(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    path = tmp_path / "digits.onnx"
    path.write_bytes(digits().SerializeToString())
    assert_same(*there_and_back(tmp_path, path, command))
    pixels = np.load(ROOT / "examples" / "digits" / "digits_data.npz")
    x = next(np.asarray(a, np.float32).reshape(-1, 1, 8, 8)[:1] for a in pixels.values() if a.size % 64 == 0)
    results = [
        oracle.run(load(tmp_path / name, dim={"batch.size": 1}), {"input": x})["output"].tobytes()
        for name in ("digits.onnx", "between.cir.json", "after.onnx")
    ]
    assert results[0] == results[1] == results[2]
    reference = oracle.run(load(ROOT / "examples" / "digits" / "digits.nnef"), {"input": x})["output"]
    assert np.abs(np.frombuffer(results[0], np.float32) - reference.reshape(-1)).max() < 1e-5


MAGIKA = ROOT.parent / "shared" / "models" / "real" / "magika"


@pytest.mark.skipif(not MAGIKA.is_dir(), reason="needs the network `magika` beside the repository")
def test_magika_goes_to_common_ir_and_back(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    assert_same(*there_and_back(tmp_path, MAGIKA / "model.onnx", command))


def test_branches_are_refused_by_name(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    branch = onnx.helper.make_graph([], "b", [], [])
    made = onnx.helper.make_node("If", ["c"], ["y"], name="choose", then_branch=branch, else_branch=branch)
    ports = [onnx.helper.make_tensor_value_info(name, code, []) for name, code in (("c", 9), ("y", 1))]
    model = onnx.helper.make_model(onnx.helper.make_graph([made], "g", ports[:1], ports[1:]))
    path = tmp_path / "if.onnx"
    path.write_bytes(model.SerializeToString())
    found = command("convert", path, "-o", tmp_path / "if.cir.json")
    assert found.code == 5
    assert re.match(r"error: if\.\S+: If choose: ", found.err)
    assert not (tmp_path / "if.cir.json").exists()


def test_shapes_arent_bound_on_the_way(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    out = tmp_path / "n.onnx"
    found = command("convert", written(tmp_path, relu()), "--dim", "n=2", "-o", out)
    assert found.err == f"error: --dim has no effect on '{out}', which has the model as it is\n"


def test_what_no_onnx_file_can_say(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    path = written(tmp_path, relu() | {"ir_version": 256})
    found = command("convert", path, "-o", tmp_path / "n.onnx")
    assert found.code == 6
    assert found.err.startswith(f"error: {path}: as an ONNX model it breaks a rule of ONNX: Your model ir_version 256")
    assert found.err.count("\n") == 1


HOSTILE: dict[str, tuple[bytes, str]] = {
    "deep": (b'{"common_ir":' + b"[" * 200_000, "net.cir.json: is nested too deeply"),
    "no JSON": (b"{", "net.cir.json: is no JSON: "),
    "no text": (b"\xff", "net.cir.json: is no UTF-8: byte 0"),
    "huge": (b'{"common_ir": ' + b"9" * 5000 + b"}",
             "net.cir.json: the number 999999999999999999999999... doesn't fit int64"),
    "exponent": (b'{"common_ir": 1e999}', "net.cir.json: the number 1e999 is beyond float64"),
    "NaN": (b'{"common_ir": NaN}', "net.cir.json: NaN is no JSON; write it as a string"),
    "twice": (b'{"common_ir": 1, "common_ir": 1}', "net.cir.json: 'common_ir' is given twice in one object"),
    "list": (b"[]", "net.cir.json: isn't an object"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "net.cir.json"
    path.write_bytes(HOSTILE[name][0])
    with pytest.raises(DataError) as caught:
        load(path)
    assert str(caught.value).startswith(f"CIR.FORM: {HOSTILE[name][1]}")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("../up.cir.json", "imports '../up.cir.json', which is outside of its folder"),
        ("/etc/passwd", "imports '/etc/passwd', which is outside of its folder"),
        ("a/../../up", "imports 'a/../../up', which is outside of its folder"),
        ("C:\\x", "imports 'C:\\x', which is outside of its folder"),
        ("\ud800", "imports '\\ud800', which is no name of a file"),
        ("a\nb", "imports 'a\\u000ab', which is no name of a file"),
        ("link.cir.json", "imports 'link.cir.json', which leads out of its folder"),
        ("file:///etc/passwd", "imports 'file:///etc/passwd', which is neither a path nor an http or https address"),
        ("net.cir.json", "imports go in a circle: net.cir.json -> net.cir.json"),
    ],
)
def test_a_hostile_import(tmp_path: Path, place: str, message: str) -> None:
    outside = written(tmp_path, OPERATORS, "up.cir.json")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link.cir.json").symlink_to(outside)
    with pytest.raises(DataError) as caught:
        load(written(tmp_path, relu() | {"imports": [place]}, "in/net.cir.json"))
    assert str(caught.value) == f"CIR.FORM: net.cir.json: {message}"


def test_libraries_in_a_circle_and_functions_without_end(tmp_path: Path) -> None:
    bundled = {
        "a.cir.json": library(domain="org.a", imports=["b.cir.json"]),
        "b.cir.json": library(domain="org.b", imports=["a.cir.json"]),
    }
    with pytest.raises(DataError, match=r"imports go in a circle: a.cir.json -> b.cir.json -> a.cir.json"):
        load(written(tmp_path, relu() | {"imports": ["a.cir.json"], "bundled": bundled}))
    itself = {"name": "f", "inputs": [port("a")], "outputs": [port("b")], "nodes": [node("n", "f", ["a"], ["b"])]}
    with pytest.raises(Unsupported, match="functions are nested more than 32 deep, or call themselves"):
        load(written(tmp_path, graph([node("n", "f", ["x"], ["y"])], functions=[itself])))


def test_functions_that_double_and_very_many_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flatten, "MOST_NODES", 1000)
    ends = {"inputs": [port("a", tensor("m*"))], "outputs": [port("b", tensor("m*"))]}

    def twice(operator: str) -> list[Any]:
        return [node("t", operator, ["a"], ["c"]), node("u", operator, ["c"], ["b"])]

    functions = [{"name": f"f{i}", **ends, "nodes": twice(f"f{i + 1}" if i < 29 else "Relu")} for i in range(30)]
    many = [node(f"n{i}", "Relu", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 1000 else "y"]) for i in range(1001)]
    for document in (graph([node("n", "f0", ["x"], ["y"])], functions=functions), graph(many)):
        with pytest.raises(Unsupported, match="has more than 1000 nodes, with those of its functions"), within_limits():
            load(written(tmp_path, document))


def test_a_tensor_too_large_is_refused_before_it_is_made(tmp_path: Path) -> None:
    for kind, data in ((tensor(1 << 20, 1 << 20), []), ({"sparse_tensor": "int8", "shape": [1 << 30, 1 << 10]}, {})):
        held = {"name": "w", "type": kind, "data": data}
        with pytest.raises(DataError, match="has more than 268435456 elements"):
            load(written(tmp_path, relu() | {"initializers": [held]}))


def test_the_schema_has_the_fields_that_are_read(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "tosa_engine/frontends/common_ir/schema.json").read_text(encoding="utf-8"))
    kinds = schema["$defs"]
    document = relu()
    for place, name in ((document, "graph"), (document["nodes"][0], "node"), (document["inputs"][0], "port")):
        assert set(kinds[name]["required"]) <= set(place) <= set(kinds[name]["properties"])
        for field in kinds[name]["required"]:
            kept = place.pop(field)
            with pytest.raises(DataError, match=f"has no '{field}'"):
                load(written(tmp_path, document))
            place[field] = kept
        place["more"] = 1
        with pytest.raises(DataError, match="'more' isn't known here"):
            load(written(tmp_path, document))
        del place["more"]
