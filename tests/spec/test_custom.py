"""Custom operators: declared like our own, found by domain and name, refused where nobody registered them."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import Session, custom, oracle, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.check import check
from tosa_engine.errors import ErrorIf, RequireViolation, TosaEngineError, Unsupported, UsageError
from tosa_engine.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

DOMAIN = "example.org"
X = np.array([[1, 2, 3], [4, 5, 6]], np.int8)


def rotate(call: custom.Call, input1: Array, input2: Array) -> Array:
    input1 += 1  # it may change what it gets
    if (input2 > 100).any():
        raise RequireViolation("input2 is at most 100", label="example.org:rotate.R1", node=call.operator.name)
    return np.roll(input1 - 1 + input2, call.by, axis=1)


def decode(attributes: bytes) -> dict[str, int]:
    return {"by": int(attributes)}


@pytest.fixture
def declared() -> Iterator[dict[str, Any]]:
    declaration = {
        "inputs": [custom.tensor("input1", "in_t", "shape", (2, 2)), custom.tensor("input2", "in_t", "shape", (2, 2))],
        "outputs": [custom.tensor("output", "in_t", "shape", (2, 2))],
        "rows": [custom.row("8-bit", "PRO-INT", in_t=types.i8), custom.row("16-bit", "EXT-INT16", in_t=types.i16)],
        "shapes": lambda c: [c["shape"]],
        "decode": decode,
        "checks": [
            custom.Check("example.org:rotate.E1", lambda c: c.by < 0, "by is at least 0, got {by}", lambda case: None)
        ],
        "requires": [custom.Require("example.org:rotate.R1", "input2 is at most 100")],
    }  # fmt: skip
    custom.register(DOMAIN, "rotate", rotate, **declaration)
    yield declaration
    with contextlib.suppress(UsageError):
        custom.unregister(DOMAIN, "rotate")


def rotation(by: bytes = b"1", dtype: types.DType = types.i8) -> Graph:
    b = Builder()
    x, y = (b.input(dtype, (2, 3), name) for name in ("x", "y"))
    b.output(
        b.op(
            "CUSTOM",
            [x, y],
            domain_name=DOMAIN,
            operator_name="rotate",
            implementation_attrs=by,
            dtype=dtype,
            output="z",
        )
    )
    return b.graph()


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize("checked", [False, True])
def test_it_runs(checked: bool) -> None:
    session = Session(rotation(), checked=checked)
    feeds = {"x": X, "y": np.zeros((2, 3), np.int8)}
    for _ in range(2):
        np.testing.assert_array_equal(session.run(None, feeds)[0], np.roll(X, 1, axis=1))
    np.testing.assert_array_equal(oracle.run(rotation(), feeds)["z"], np.roll(X, 1, axis=1))
    with pytest.raises(RequireViolation, match=r"example\.org:rotate\.R1.*node 'z'"):
        session.run(None, feeds | {"y": np.full((2, 3), 101, np.int8)})


@pytest.mark.usefixtures("declared")
def test_files() -> None:
    graph = rotation(bytes(range(48, 50)))
    for again in (
        serialize.tosa_from_bytes(serialize.tosa_to_bytes(graph)),
        serialize.json_from_text(serialize.json_to_text(graph)),
    ):
        assert again.main.operators[0].attributes == {
            "domain_name": DOMAIN, "operator_name": "rotate", "implementation_attrs": b"01",
        }  # fmt: skip
        assert check(again) == []


@pytest.mark.usefixtures("declared")
def test_its_rules_are_checked() -> None:
    graph = rotation()
    graph.main.operators[0].attributes["implementation_attrs"] = b"-1"
    assert [str(p) for p in check(graph)] == ["example.org:rotate.E1: by is at least 0, got -1 (node 'z')"]
    graph.main.operators[0].attributes["implementation_attrs"] = b"one"
    (problem,) = check(graph)
    assert isinstance(problem, ErrorIf)
    assert problem.label == "example.org:rotate.attributes"
    graph = rotation()
    graph.main.operators[0].inputs.pop()
    assert [p.label for p in check(graph)] == ["example.org:rotate.inputs"]
    graph = rotation()
    for name in "xyz":
        graph.main.tensors[name].dtype = types.i32
    assert [p.label for p in check(graph)] == ["example.org:rotate.types"]
    (problem,) = check(rotation(dtype=types.i16), Target(extensions=frozenset()))
    assert problem.label == "example.org:rotate.profile"


@pytest.mark.usefixtures("declared")
def test_shapes_are_inferred_and_compared() -> None:
    graph = rotation()
    graph.main.tensors["z"].shape = None
    assert check(graph) == []
    assert Session(graph).outputs[0].shape == (2, 3)
    graph.main.tensors["z"].shape = (3, 2)
    assert [p.label for p in check(graph)] == ["example.org:rotate.shape.output"]


def test_an_operator_that_nobody_registered(declared: dict[str, Any]) -> None:
    graph = rotation()
    custom.unregister(DOMAIN, "rotate")
    message = "CUSTOM.operator: no custom operator 'rotate' of domain 'example.org' is registered (tosa_engine.custom)"
    (problem,) = check(graph)
    assert isinstance(problem, Unsupported)
    assert (str(problem), problem.exit_code) == (f"{message} (node 'z')", 5)
    with pytest.raises(Unsupported):
        Session(graph)
    with pytest.raises(UsageError, match=r"no custom operator 'rotate' of domain 'example\.org' is registered"):
        custom.unregister(DOMAIN, "rotate")
    custom.operator(DOMAIN, "rotate", **declared)(lambda call, input1, input2: input1)
    assert check(graph) == []
    with pytest.raises(UsageError, match="is registered already"):
        custom.register(DOMAIN, "rotate", rotate, **declared)


@pytest.mark.parametrize("result", [X.astype(np.int16), X[:1], [X, X], []])
def test_a_function_that_gives_something_else(declared: dict[str, Any], result: Any) -> None:
    graph = rotation()
    custom.unregister(DOMAIN, "rotate")
    custom.register(DOMAIN, "rotate", lambda call, input1, input2: result, **declared)
    with pytest.raises(
        TosaEngineError, match=r"CUSTOM\.result: the function of example\.org:rotate must give int8\[2, 3\]"
    ):
        Session(graph).run(None, {"x": X, "y": X})


def test_a_function_that_gives_values_of_no_int48(declared: dict[str, Any]) -> None:
    """They lie in int64: what follows would take them for values that were proved not to occur."""
    declared["rows"] = [custom.row("48-bit", "EXT-INT16", in_t=types.i48)]
    custom.unregister(DOMAIN, "rotate")
    custom.register(DOMAIN, "rotate", lambda call, input1, input2: input1 + input2, **declared)
    session, most = Session(rotation(dtype=types.i48)), types.i48.maximum
    x = np.full((2, 3), most, np.int64)
    session.run(None, {"x": x, "y": x * 0})
    with pytest.raises(
        TosaEngineError, match=rf"CUSTOM\.result: .* must give values -{most + 1} \.\. {most} for i48; it gave 0 \.\."
    ):
        session.run(None, {"x": x, "y": np.array([[1, 0, 0], [0, 0, -most]])})


MODULE = """
from tosa_engine import custom, types

@custom.operator(
    "example.org", "rotate",
    inputs=[custom.tensor("input1", "in_t", "shape", (2, 2)), custom.tensor("input2", "in_t", "shape", (2, 2))],
    outputs=[custom.tensor("output", "in_t", "shape", (2, 2))],
    rows=[custom.row("8-bit", "PRO-INT", in_t=types.i8)],
    shapes=lambda c: [c["shape"]],
)
def rotate(call, input1, input2):
    return input1 + input2
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python imports from; what was imported from it is forgotten."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    with contextlib.suppress(UsageError):
        custom.unregister(DOMAIN, "rotate")


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("verb", ["run", "check", "inspect"])
def test_a_module_that_the_command_names(
    verb: str, modules: Path, declared: dict[str, Any], command: Callable[..., Any]
) -> None:
    serialize.write(rotation(), modules / "m.tosa")
    custom.unregister(DOMAIN, "rotate")
    (modules / "my_operators.py").write_text(MODULE)
    np.savez(modules / "in.npz", x=X, y=X)
    inputs = ["-i", modules / "in.npz"] if verb == "run" else []
    if verb != "inspect":
        assert "no custom operator 'rotate'" in command(verb, modules / "m.tosa", *inputs).err
    outcome = command(verb, modules / "m.tosa", "--custom", "my_operators", *inputs)
    assert (outcome.code, outcome.err) == (0, "")
    if verb == "run":
        assert "[[ 2,  4,  6],\n [ 8, 10, 12]]" in outcome.out
        again = command(verb, modules / "m.tosa", "--custom", "my_operators", *inputs)
        assert (again.code, again.out) == (0, outcome.out)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("not_there_at_all", None, "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("broken", "1 / 0", "ZeroDivisionError: division by zero"),
        ("./m", None, "TypeError: "),  # importlib's; a path names no module
        ("nothing", "", "the module registers no custom operator (tosa_engine.custom)"),
    ],
)
def test_a_module_that_is_no_help(
    name: str, content: str | None, message: str, modules: Path, command: Callable[..., Any]
) -> None:
    if content is not None:
        (modules / f"{name}.py").write_text(content)
    outcome = command("run", modules / "m.tosa", "--custom", name)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: --custom {name}: {message}")


def test_the_page_is_true(root: Path) -> None:
    page = (root / "docs" / "custom.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python)?\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(code, names)
    finally:
        custom.unregister("example.org", "repeat")
    assert out.getvalue() == printed
    with pytest.raises(Unsupported) as caught:
        names["b"].graph()
    assert str(caught.value).removesuffix(" (node 'custom')") in page
