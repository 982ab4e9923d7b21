"""Documents that are written: the same after reading them again, in folders and archives, on the command line."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nnef_tools import write_nnef

from tosa_engine import serialize
from tosa_engine.cli import main
from tosa_engine.errors import DataError, TosaEngineError, UsageError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.document import parse_text
from tosa_engine.frontends.nnef.flattening import lower
from tosa_engine.frontends.nnef.mapping import Shapes
from tosa_engine.frontends.nnef.source import DocumentSource

if TYPE_CHECKING:
    from tosa_engine.frontends.nnef.language.flat import Document

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.nnef"
EXTENSIONS = "extension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n"
TEXT = (
    "version 1.0;\n" + EXTENSIONS + "fragment own<? = integer>(a: tensor<?>, b: tensor<?>[], "
    "p: (integer, scalar)[] = [(1, 2.5)],"
    " s: string = 'it\\'s', f: logical = true) -> (y: tensor<?>, z: tensor<logical>[]);\n"
    "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>) { b = (a - 1.5) * 2.0; }\n"
    "graph g(x) -> (y, z) {\n x = external(shape = [2, 4]);\n w = variable(shape = [2, 4], label = 'a/w.1');\n"
    ' i = variable<integer>(shape = [], label = "i");\n c = constant<logical>(shape = [1], value = [true]);\n'
    " y = f(conv(x, w, 0.0, padding = [(0, 1)]) if true else x);\n [p, q] = split(x, axis = 1, ratios = [1, 3]);\n"
    " s = select(c, 1e-30, -2.0);\n z = cast<scalar>(c);\n"
    " t, [u, v] = own<scalar>(x, [x, s], p = [(3, -4.0)], f = false);\n"
    " m, n = moments(x, axes = [1]);\n k = avg_pool(x, size = [1, 2], stride = [1, 2]);\n}\n"
)
FLAT = """\
version 1.0;

extension KHR_enable_fragment_definitions;

fragment own<? = integer>( a: tensor<?>, b: tensor<?>[], p: (integer, scalar)[] = [(1, 2.5)], s: string = "it's", \
f: logical = true ) -> ( y: tensor<?>, z: tensor<logical>[] );

graph g(x) -> (y, z)
{
    x = external<scalar>(shape = [2, 4]);
    w = variable<scalar>(shape = [2, 4], label = "a/w.1");
    i = variable<integer>(shape = [], label = "i");
    c = constant<logical>(shape = [1], value = [true]);
    y_conv = conv(x, w, padding = [(0, 1)]);
    y_sub = sub(y_conv, 1.5);
    y = mul(y_sub, 2.0);
    [p, q] = split(x, axis = 1, ratios = [1, 3]);
    s = select(c, 1e-30, -2.0);
    z = cast<scalar>(c);
    t, [u, v] = own<scalar>(x, [x, s], p = [(3, -4.0)], f = false);
    m, n = moments(x, axes = [1]);
    k = avg_pool(x, size = [1, 2], stride = [1, 2]);
}
"""


def content(document: Document) -> list[Any]:
    """Everything but the places."""
    return [
        (op.name, repr({k: str(v).split("place=")[0] for k, v in op.arguments.items()}), op.types, op.generic,
         [r.text for r in op.results])
        for op in document.operations
    ]  # fmt: skip


def test_a_flat_document() -> None:
    document = parse_text(TEXT, "graph.nnef")
    assert nnef.format_document(document) == FLAT
    again = parse_text(FLAT, "graph.nnef")
    assert nnef.format_document(again) == FLAT
    assert content(again) == content(document)


def test_a_primitive_document_has_no_compounds() -> None:
    found = parse_text(TEXT, "graph.nnef")
    text = nnef.format_document(lower(found, lambda _: False, Shapes(found)))
    again = parse_text(text, "graph.nnef")
    assert all(op.declaration.body is None for op in again.operations)
    assert nnef.format_document(again) == text
    assert "    k = box(x, size = [1, 2], stride = [1, 2], normalize = true);\n" in text


VALUES = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.lists(VALUES, min_size=1, max_size=5), st.text(st.sampled_from("aB0_-./\\"), min_size=1, max_size=8))
def test_numbers_and_labels_are_written_exactly(values: list[float], label: str) -> None:
    escaped = label.replace("\\", "\\\\")
    text = (
        f"version 1.0; graph g(x) -> (y) {{ x = external(shape = [1]); v = variable(shape = [1], label = '{escaped}');"
        f" y = constant(shape = [{len(values)}], value = [{', '.join(map(repr, values))}]); }}"
    )
    written = nnef.format_document(parse_text(text, "graph.nnef"))
    operations = {op.result: op for op in parse_text(written, "graph.nnef").operations}
    assert repr(operations["y"].arguments["value"]) == repr(tuple(values))
    assert operations["v"].arguments["label"] == label


def model(folder: Path) -> Path:
    """A document with fragments, data of three kinds and quantization."""
    text = (
        f"version 1.0;\n{EXTENSIONS}fragment f(a: tensor<scalar>) -> (b: tensor<scalar>) {{ b = a * 2.0; }}\n"
        "graph g(x) -> (y) { x = external(shape = [1, 2]); w = variable(shape = [3, 2], label = 'l/w');"
        " v = variable(shape = [3, 2], label = 'L/W'); i = variable<integer>(shape = [2], label = 'i');"
        " y = f(linear(x, w + v)); }"
    )
    write_nnef(folder, text, {"l/w": np.arange(6, dtype=np.float32).reshape(3, 2), "i": np.array([1, -2])})
    write_nnef(folder, text, {"L/W": np.ones((3, 2), np.float16)})
    (folder / "graph.quant").write_text(
        "'y': zero_point_linear_quantize(zero_point = 2 - 3, scale = 1.0 / 4.0, bits = 8, signed = true, "
        "symmetric = false);"
    )
    return folder


@pytest.mark.parametrize("name", ["out.nnef", "out.nnef.tgz", "out.tar", "out.nnef.tar.gz"])
def test_convert_writes_graph_data_and_quantization(tmp_path: Path, name: str) -> None:
    source, target = model(tmp_path / "m.nnef"), tmp_path / name
    for _ in range(2):  # the second time over the first
        assert main(["convert", str(source), "-o", str(target)]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["m.nnef", name])
    written = nnef.open_container(target)
    assert written.read("graph.quant") == (
        b'"y": zero_point_linear_quantize(zero_point = -1, scale = 0.25, bits = 8, signed = true, symmetric = false);\n'
    )
    before = nnef.open_container(source)
    for label in ("l/w", "L/W", "i"):
        assert written.read(f"{label}.dat") == before.read(f"{label}.dat")
    again = tmp_path / ("again" + name[3:])
    assert main(["convert", str(target), "-o", str(again)]) == 0
    assert nnef.open_container(again).read("graph.nnef") == written.read("graph.nnef")
    if again.is_file():
        assert again.read_bytes() == target.read_bytes()
    graphs = [serialize.json_to_text(nnef.load(p)) for p in (source, target, again)]
    assert graphs[1] == graphs[2]
    assert nnef.load(source).main.operators[-1].op == nnef.load(target).main.operators[-1].op


def test_convert_writes_tosa(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(DIGITS), "-o", str(tmp_path / "d.tosa")]) == 0
    assert main(["convert", str(tmp_path / "d.tosa"), "-o", str(tmp_path / "d.json")]) == 0
    assert capsys.readouterr().out.count(" operators\n") == 2
    assert serialize.read(tmp_path / "d.json").main.inputs == ["input"]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("x.onnx", "'{}' is written from Common IR, not from NNEF"),
        ("folder.nnef", "'{}' is a folder without graph.nnef: nothing is written over it"),
        ("file.nnef", "'{}' is a file, not a folder"),
    ],
)
def test_what_convert_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str, message: str) -> None:
    (tmp_path / "folder.nnef").mkdir()
    (tmp_path / "file.nnef").write_text("mine")
    target = str(tmp_path / output)
    assert main(["convert", str(DIGITS), "-o", target]) == UsageError.exit_code
    assert capsys.readouterr().err == f"error: {message.format(target)}\n"
    assert (tmp_path / "file.nnef").read_text() == "mine"


def test_tosa_cant_become_nnef(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["convert", str(DIGITS), "-o", str(tmp_path / "d.tosa")])
    capsys.readouterr()
    assert main(["convert", str(tmp_path / "d.tosa"), "-o", str(tmp_path / "d.nnef")]) == UsageError.exit_code
    assert "isn't an NNEF model: TOSA graphs can't be written as NNEF" in capsys.readouterr().err


def test_a_failed_conversion_leaves_what_was_there(tmp_path: Path) -> None:
    source, target = model(tmp_path / "m.nnef"), tmp_path / "out.nnef"
    main(["convert", str(source), "-o", str(target)])
    before = (target / "graph.nnef").read_bytes()
    (source / "i.dat").write_bytes(b"broken")
    assert main(["convert", str(source), "-o", str(target)]) == DataError.exit_code
    assert (target / "graph.nnef").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.nnef", "out.nnef"]


def steps_before_a_problem(path: Path) -> list[str]:
    found = []
    with contextlib.suppress(TosaEngineError):
        for step in DocumentSource(path).steps():
            found.append(step.name)  # noqa: PERF401 - the generator raises
    return found


def test_check_runs_the_steps_of_chapter_6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path / "m.nnef")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        "NNEF step 1, syntax: 5 statements, 1 fragments",
        "NNEF step 2, semantics: 0 warnings",
        "NNEF step 3, arguments: 7 operations",
        "NNEF step 4, data: 3 variables of 52 bytes, 1 quantized tensors",
    ]
    edits = [
        ("a * 2.0;", "a * 2.0", 0, "NNEF.S1"),
        ("a * 2.0;", "a * true;", 1, "NNEF.T7"),
        ("shape = [1, 2]", "shape = [1, 3]", 2, "doesn't fit a filter of shape"),
        ("variable<integer>(shape = [2]", "variable<integer>(shape = [3]", 3, "says [3]"),
        ("y = f(linear(x, w + v));", "z = f(linear(x, w + v)); y = relu(z);", 4, ""),
    ]
    text = (path / "graph.nnef").read_text()
    for old, new, passed, message in edits:
        (path / "graph.nnef").write_text(text.replace(old, new))
        assert steps_before_a_problem(path) == ["syntax", "semantics", "arguments", "data"][:passed], old
        assert main(["check", str(path)]) == (6 if passed < 4 else 0)
        assert message in capsys.readouterr().err
    (path / "graph.nnef").write_text(text)
    (path / "graph.quant").write_text("'q': f(a = 1);\n")
    assert main(["check", str(path)]) == 6
    assert capsys.readouterr().err == (
        f"error: {path}/graph.quant:1:1: the document has no tensor 'q'\n    'q': f(a = 1);\n    ^\n"
    )


def test_check_prints_the_flat_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_nnef(tmp_path / "m.nnef", TEXT)
    assert main(["check", "--flat", str(path)]) == 0
    assert capsys.readouterr().out == FLAT
    assert main(["check", "--flat", "--primitive", str(path)]) == 0
    assert "avg_pool" not in capsys.readouterr().out
    assert main(["check", "--primitive", str(path)]) == UsageError.exit_code


def test_shapes_arent_checked_beside_custom_operations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = (
        line for line in TEXT.split("\n") if not any(word in line for word in ("avg_pool", "conv", "cast", "select"))
    )
    text = "\n".join(kept).replace("(y, z)", "(p, q)").replace("[x, s]", "[x, x]").replace("moments(x", "moments(p")
    path = write_nnef(tmp_path / "m.nnef", text, {"a/w.1": np.zeros((2, 4), np.float32), "i": np.zeros((), np.int32)})
    assert main(["check", str(path)]) == 5
    assert "operation 'own' isn't supported" in capsys.readouterr().err
    assert [step.found for step in DocumentSource(path).steps()][2] == "7 operations; no shapes, because of own"


def test_archives_are_deterministic_and_plain(tmp_path: Path) -> None:
    document = nnef.load_document(model(tmp_path / "m.nnef"))
    nnef.save(document, tmp_path / "a.nnef.tgz")
    with tarfile.open(tmp_path / "a.nnef.tgz") as archive:
        assert [(m.name, m.mtime, m.uid, m.mode) for m in archive] == [
            (name, 0, 0, 0o644) for name in ("graph.nnef", "l/w.dat", "L/W.dat", "i.dat", "graph.quant")
        ]


def test_converting_never_imports_numba(tmp_path: Path) -> None:
    code = f"""
import sys
from tosa_engine.cli import main
main(["convert", {str(DIGITS)!r}, "-o", {str(tmp_path / "o.nnef")!r}])
print("numba" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
