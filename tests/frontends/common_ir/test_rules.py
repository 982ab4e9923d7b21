"""Every rule of the Common IR text, with documents that break it, or that do what it allows."""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from common_ir_documents import OPERATORS, graph, library, node, operator, port, relu, tensor, written

from tosa_engine import oracle
from tosa_engine.errors import DataError, UsageError
from tosa_engine.formats import open_model
from tosa_engine.frontends.common_ir.rules import RULES
from tosa_engine.load import load

pytest.importorskip("onnx", reason="needs the extra `onnx`")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Outcome

    Json = dict[str, Any]
    Change = Callable[[Json], object]

ROOT = Path(__file__).parents[3]
FUNCTION = {
    "name": "twice", "inputs": [port("a")], "outputs": [port("b")],
    "nodes": [node("n", "Add", ["a", "a"], ["b"])],
}  # fmt: skip
WEIGHT = {"name": "w", "type": tensor(2), "data": [1, 2]}


def without(key: str) -> Change:
    return lambda d: d.pop(key)


def put(**fields: Any) -> Change:
    return lambda d: d.update(fields)


def nodes(*given: Json) -> Change:
    return put(nodes=list(given))


def in_node(**fields: Any) -> Change:
    return lambda d: d["nodes"][0].update(fields)


def own(*operators: Json) -> Change:
    return put(operators=list(operators))


BROKEN: list[tuple[str, Change, str]] = [
    ("CIR.M1",
     nodes(node("a", "Add", ["x", "q"], ["p"]), node("b", "Relu", ["p"], ["q"]), node("c", "Neg", ["q"], ["y"])),
     "net.cir.json: nodes[0] 'a': nodes go in a circle: a -> b -> a"),
    ("CIR.M1", nodes(node("a", "Relu", ["y"], ["y"])), "net.cir.json: nodes[0] 'a': nodes go in a circle: a -> a"),
    ("CIR.M2", without("name"), "net.cir.json: has no 'name'"),
    ("CIR.M2", without("domain"), "net.cir.json: has no 'domain'"),
    ("CIR.M2", put(domain="no domain"), "net.cir.json: domain: 'no domain' is no DNS name"),
    ("CIR.M3", without("inputs"), "net.cir.json: has no 'inputs'"),
    ("CIR.M3", without("outputs"), "net.cir.json: has no 'outputs'"),
    ("CIR.M3", put(outputs=[{"name": "y"}]), "net.cir.json: outputs[0] 'y': has no 'type'"),
    ("CIR.M4", put(doc_string="A <b>net</b>."), "net.cir.json: doc_string: '<b>' is no markdown"),
    ("CIR.M4", in_node(doc_string="&amp;"), "net.cir.json: nodes[0] 'n': doc_string: '&amp;' is no markdown"),
    ("CIR.M5", put(initializers=[WEIGHT, WEIGHT]), "net.cir.json: the name 'w' is given twice"),
    ("CIR.M5", put(initializers=[{**WEIGHT, "name": "x"}]), "net.cir.json: the name 'x' is given twice"),
    ("CIR.M5", own(operator("O", attributes=[{"name": "a", "type": "int64"}] * 2)),
     "net.cir.json: operators[0] 'O': the name 'a' is given twice"),
    ("CIR.M6", own(operator("twice"), operator("twice")), "net.cir.json: 'twice' is declared twice"),
    ("CIR.M6", put(operators=[operator("twice")], functions=[FUNCTION]), "net.cir.json: 'twice' is declared twice"),
    ("CIR.M7", put(name="a net"), "net.cir.json: name: 'a net' is no C identifier"),
    ("CIR.M7", nodes(node("n", "Relu", ["x"], ["1y"])), "net.cir.json: nodes[0] 'n': '1y' is no C identifier"),
    ("CIR.M7", put(inputs=[port("x", tensor("a b"))]),
     "net.cir.json: inputs[0] 'x': type.shape: the dimension variable 'a b' is no C identifier"),
    ("CIR.M8", nodes(node("n", "Relu", ["x"], ["y"]), node("n", "Relu", ["x"], ["z"])),
     "net.cir.json: the name 'n' is given twice"),
    ("CIR.M8", nodes(node("y", "Relu", ["x"], ["y"])), "net.cir.json: the name 'y' is given twice"),
    ("CIR.M9", put(functions=[{**FUNCTION, "nodes": [node("a", "Relu", ["a"], ["b"])]}]),
     "net.cir.json: functions[0] 'twice': the name 'a' is given twice"),
    ("CIR.M10", lambda d: d["nodes"][0].pop("arg_count"), "net.cir.json: nodes[0] 'n': has no 'arg_count'"),
    ("CIR.M11", in_node(arg_count=[1, 0]),
     "net.cir.json: nodes[0] 'n': arg_count has 2 entries, 'Relu' has 1 parameters"),
    ("CIR.M12", nodes(node("a", "Relu", ["z"], ["y"]), node("b", "Relu", ["x"], ["z"])),
     "net.cir.json: nodes[0] 'a': comes before the node 'b', which it needs"),
    ("CIR.M12", nodes(node("a", "Relu", ["x"], ["y"], control_inputs=["b"]), node("b", "Relu", ["x"], ["z"])),
     "net.cir.json: nodes[0] 'a': comes before the node 'b', which it needs"),
    ("CIR.M13", put(imports=["onnx.cir.json", "unused.cir.json"]),
     "net.cir.json: imports 'unused.cir.json', which isn't there"),
    ("CIR.M14", put(imports=[]), "net.cir.json: nodes[0] 'n': the operator 'Relu' isn't declared"),
    ("CIR.M14", in_node(domain="com.other"),
     "net.cir.json: nodes[0] 'n': the operator 'Relu' of com.other isn't declared"),
    ("CIR.M15", own({"name": "O", "inputs": [{"name": "a"}], "outputs": []}),
     "net.cir.json: operators[0] 'O': inputs[0] 'a': has no 'type'"),
    ("CIR.M16", own(operator("O", attributes=[{"name": "a"}])),
     "net.cir.json: operators[0] 'O': attributes[0] 'a': has no 'type'"),
    ("CIR.M16", in_node(attributes=[{"name": "a", "value": 1}]),
     "net.cir.json: nodes[0] 'n': attributes[0] 'a': has no 'type'"),
    ("CIR.M17", put(inputs=[port("x", {"map": ["string", {"list": "int64"}]})]),
     "net.cir.json: inputs[0] 'x': type: the value of a map is a collection"),
    ("CIR.M17", put(inputs=[port("x", {"map": [{"tensor": "int64"}, "int64"]})]),
     "net.cir.json: inputs[0] 'x': type: the key of a map is a collection"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "change", "message"), BROKEN, ids=[f"{b[0]}-{i}" for i, b in enumerate(BROKEN)])
def test_what_must_be(tmp_path: Path, label: str, change: Change, message: str) -> None:
    document = relu()
    change(document)
    with pytest.raises(DataError) as caught:
        load(written(tmp_path, document))
    assert str(caught.value) == f"{label}: {message}"


def test_a_name_that_two_libraries_declare_needs_a_domain(tmp_path: Path) -> None:
    other = library(operator("Relu"), domain="org.other")
    document = relu() | {"imports": ["a.cir.json", "b.cir.json"]}
    document["bundled"] = {"a.cir.json": OPERATORS, "b.cir.json": other}
    with pytest.raises(DataError, match=r"^CIR.M6: .*: 'Relu' is declared by ai.onnx and org.other: 'domain' says"):
        load(written(tmp_path, document))
    document["nodes"][0]["domain"] = "ai.onnx"
    assert load(written(tmp_path, document)).outputs[0].shape == (2,)


SHOULD: list[tuple[str, Change, str]] = [
    ("CIR.S1", lambda d: d["nodes"].append(node("idle", "Relu", ["x"], [])),
     "net.cir.json: nodes[1] 'idle': has no outputs"),
    ("CIR.S2", put(domain="example.org"), "net.cir.json: 'example.org' is no reverse domain name"),
    ("CIR.S3", without("doc_string"), "net.cir.json: has no documentation string"),
    ("CIR.S4", own({"name": "O", "inputs": [port("a", {"tensor": "int8"})], "outputs": []}),
     "net.cir.json: operands of 'O' have no shape"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "change", "message"), SHOULD, ids=[one[0] for one in SHOULD])
def test_what_should_be_is_a_warning(
    tmp_path: Path, command: Callable[..., Outcome], label: str, change: Change, message: str
) -> None:
    document = relu()
    assert open_model(written(tmp_path, document)).warnings == []
    change(document)
    found = command("check", written(tmp_path, document))
    assert found.code == 0, found.err
    assert f"warning: {label}: {message}\n" in found.err


def run(path: Path, **feeds: Any) -> dict[str, list[float]]:
    arrays = {name: np.asarray(value, np.float32) for name, value in (feeds or {"x": [-1, 2]}).items()}
    return {name: array.tolist() for name, array in oracle.run(load(path), arrays).items()}


def test_a1_documentation_is_markdown(tmp_path: Path) -> None:
    text = "# A net\n\n*sharp*, `a < b`, `<b>`, <https://example.org>, 1 < 2 > 0 & so on\n\n```\n<html>\n```\n"
    assert run(written(tmp_path, relu() | {"doc_string": text})) == {"y": [0, 2]}


def test_a2_control_edges_are_an_order_and_nothing_else(tmp_path: Path) -> None:
    document = relu()
    document["nodes"].append(node("m", "Neg", ["x"], ["z"], control_inputs=["n"]))
    assert run(written(tmp_path, document)) == {"y": [0, 2]}
    document["nodes"][1]["control_inputs"] = ["nobody"]
    with pytest.raises(DataError, match=r"nodes\[1\] 'm': waits for the node 'nobody', which there isn't"):
        load(written(tmp_path, document))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a folder of libraries, and what was asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    (tmp_path / "web").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "web"))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


def test_a3_a_library_is_fetched_once_and_only_if_asked(
    tmp_path: Path, served: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    address, asked = served
    written(tmp_path, OPERATORS, "web/deep/onnx.cir.json")
    for name in ("a", "b"):
        written(tmp_path, library(domain=f"org.{name}", imports=["deep/onnx.cir.json"]), f"web/{name}.cir.json")
    document = relu() | {"imports": [f"{address}/a.cir.json", f"{address}/b.cir.json"], "bundled": {}}
    path = written(tmp_path, document)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value) == f"CIR.M13: net.cir.json imports '{address}/a.cir.json': --fetch allows it to be fetched"
    assert not asked
    assert load(path, fetch=True).outputs[0].shape == (2,)
    assert sorted(asked) == ["/a.cir.json", "/b.cir.json", "/deep/onnx.cir.json"]
    document["imports"] = [f"{address}/none.cir.json"]
    with pytest.raises(DataError, match=r"^CIR.M13: .*none.cir.json' can't be fetched: HTTP Error 404"):
        load(written(tmp_path, document), fetch=True)


def test_a4_libraries_are_bundled_by_convert(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    written(tmp_path, OPERATORS, "lib/onnx.cir.json")
    written(tmp_path, library(operator("Mine"), domain="org.mine", imports=["onnx.cir.json"]), "lib/mine.cir.json")
    path = written(tmp_path, relu() | {"imports": ["lib/mine.cir.json"], "bundled": {}})
    out = tmp_path / "elsewhere" / "one.cir.json"
    out.parent.mkdir()
    done = command("convert", path, "-o", out)
    assert (done.code, done.out) == (0, f"{out}: 2 libraries\n"), done.err
    assert run(out) == run(path) == {"y": [0, 2]}


def test_a5_shapes_have_integers_and_variables(tmp_path: Path) -> None:
    both = tensor("n", 3)
    path = written(tmp_path, graph([node("n", "Relu", ["x"], ["y"])], {"x": both}, [port("y", both)]))
    assert load(path, dim={"n": 2}).outputs[0].shape == (2, 3)
    with pytest.raises(UsageError, match=re.escape("input 'x' has the shape [n, 3]: --shape x=N,3, or --dim n=N")):
        load(path)
    bad = graph([node("n", "Relu", ["x"], ["y"])], {"x": tensor(2, 3)}, [port("y", tensor("n", "n"))])
    with pytest.raises(DataError, match=re.escape("'y' has shape [2, 3], which isn't [n, n] with n = 2")):
        load(written(tmp_path, bad))


def test_a6_shapes_have_wildcards(tmp_path: Path) -> None:
    path = written(tmp_path, graph([node("n", "Relu", ["x"], ["y"])], {"x": tensor("*")}, [port("y", tensor("*"))]))
    assert load(path, shape={"x": (2, 3, 4)}).outputs[0].shape == (2, 3, 4)
    with pytest.raises(UsageError, match="input 'x' has no shape: --shape x=N,N,"):
        load(path)
    unlike = {"x": tensor(2), "z": tensor(1, 2)}
    bad = graph([node("n", "Add", ["x", "z"], ["y"])], unlike)
    with pytest.raises(DataError) as caught:
        load(written(tmp_path, bad))
    assert str(caught.value) == (
        "CIR.SHAPE: net.cir.json: nodes[0] 'n': 'operand1' has shape [1, 2], which isn't [m*] with m* = [2]"
    )


def test_all_27_rules_have_a_test_and_a_line_in_the_page() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    page = (ROOT / "docs" / "common-ir.md").read_text(encoding="utf-8")
    assert len(RULES) == 27
    broken = {one[0] for one in (*BROKEN, *SHOULD)} | {f"CIR.A{n}" for n in re.findall(r"def test_a(\d)_", source)}
    assert broken == set(RULES)
    assert re.findall(r"^\| (CIR\.[MSA]\d+) \| (.*?) \|", page, re.MULTILINE) == list(RULES.items())
