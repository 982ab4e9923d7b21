"""What names hold never steers a terminal and never begins a line: every verb, with names of control characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import common_ir_documents as common_ir
import numpy as np
import pytest

from tosa_engine import serialize, types
from tosa_engine.errors import DataError, ParseError
from tosa_engine.graph import Block, Graph, Operator, Region, Tensor
from tosa_engine.text import say, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

NAMES = {
    "escape": "\x1b[2J\x1b[31mred",
    "line": "a\nFORGED: no problem",
    "return": "a\rFORGED",
    "bidi": "\u202egnp.exe",
    "separator": "a\u2028FORGED",
    "c1": "\x9b31m",
}
CLEAN = "\n"


def model(name: str) -> Graph:
    """An ADD of floats whose tensors, node, region and block have the name in theirs."""
    x, y, out = (f"{name}{i}" for i in range(3))
    block = Block(name, [x, y], [out], {n: Tensor(n, types.fp32, (2, 2)) for n in (x, y, out)})
    block.operators = [Operator("ADD", [x, y], [out])]
    return Graph([Region(name, [block])])


def illegal(name: str) -> Graph:
    graph = model(name)
    graph.main.tensors[f"{name}1"].shape = (3, 2)
    graph.main.operators.append(Operator("ABS", [f"{name}9"], [f"{name}2"]))
    return graph


COMMANDS = (
    "check {m}", "check {m} --ranges", "check {bad}", "inspect {m}", "inspect {bad}", "inspect {m} --plan",
    "inspect {m} --format json", "convert {m} -o {out}.json", "convert {m} -o {out}.nnef", "run {m} -i {io}", "run {m}",
    "run {m} -i {bad_io}", "run {m} -i {io} --expect {io}", "run {m} -i {io} --expect {bad_io}", "run {m} -i {odd_io}",
    "compare {m} {io}", "compare {m} {bad_io}", "compare {m} {io} --format json",
    "calibrate {m} --random 2 -o {out}.quant --statistics {out}.json", "quantize {m} --random 2 -o {out}.tosa",
    "report {m} {m} --random 2 -o {out}.json", "quantize {m} --random 2 --layer a=int7 -o {out}.tosa",
    "report {m} {out}.tosa --random 2 --suggest 1 -o {out}.csv -o {out}.html",
    "sensitivity {m} --statistics {out}.json --random 2 -o {out}.layers",
    "search {m} --statistics {out}.json --random 2 --sqnr 20 -o {out}.layers", "warmup {m}", "warmup {bad}",
    "profile {m} --seconds 0.01", "lut {name}", "lut {name}:{name}",
)  # fmt: skip
OTHER_COMMANDS = (
    "check {m}", "inspect {m}", "inspect {m} --plan", "run {m}", "run {m} --shape {name}=2", "run {m} --dim {name}=2",
    "quantize {m} --random 2 -o {out}.tosa", "calibrate {m} --random 2 -o {out}.quant", "convert {m} -o {out}.tosa",
    "check {bad}",
)  # fmt: skip


def check_shown(command: Any, lines: Iterable[str], places: Mapping[str, object]) -> None:
    for line in lines:
        outcome = command(*(word.format(**places) for word in line.split()))
        assert outcome.code in range(7), (line, outcome)
        text = outcome.out + outcome.err
        assert [c for c in text if not c.isprintable() and c not in CLEAN] == [], line
        assert not any(one.startswith("FORGED") for one in text.splitlines()), line


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_every_verb(command, tmp_path: Path, name: str) -> None:
    serialize.write(model(name), tmp_path / "m.tosa")
    serialize.write(illegal(name), tmp_path / "bad.tosa")
    right = {f"{name}{i}": np.ones((2, 2), np.float32) for i in range(3)}
    np.savez(tmp_path / "io.npz", **right)
    np.savez(tmp_path / "bad_io.npz", **{k: np.zeros((2, 1), np.int8) for k in right})
    np.savez(tmp_path / "odd_io.npz", **right, **{f"{name}?": np.zeros(1)})
    files = {key: tmp_path / f"{key}.npz" for key in ("io", "bad_io", "odd_io")}
    files |= {"m": tmp_path / "m.tosa", "bad": tmp_path / "bad.tosa", "out": tmp_path / "out"}
    check_shown(command, COMMANDS, {**files, "name": name})


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_models_of_onnx(command, tmp_path: Path, name: str) -> None:
    pytest.importorskip("onnx", reason="the extra onnx isn't installed")
    from onnx import helper
    from onnx_models import FLOAT
    from onnx_models import model as onnx_model

    x, y = f"{name}x", f"{name}y"
    for file, kind in (("m", "Relu"), ("bad", f"{name}Operator")):
        node = helper.make_node(kind, [x], [y], name=f"{name}node")
        (tmp_path / f"{file}.onnx").write_bytes(onnx_model([node], {x: (FLOAT, (2, name))}, [y]).SerializeToString())
    places = {"m": tmp_path / "m.onnx", "bad": tmp_path / "bad.onnx", "out": tmp_path / "out", "name": name}
    check_shown(command, OTHER_COMMANDS, places)
    (tmp_path / "bound.onnx").write_bytes(
        onnx_model([helper.make_node("Relu", [x], [y], name=name)], {x: (FLOAT, (2, 2))}, [y]).SerializeToString()
    )
    check_shown(command, OTHER_COMMANDS, {**places, "m": tmp_path / "bound.onnx"})


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_documents_of_common_ir_and_nnef(command, tmp_path: Path, name: str) -> None:
    """Names in JSON hold anything; a text of NNEF that holds such characters is shown where it is wrong."""
    document = common_ir.graph([common_ir.node(f"{name}n", f"{name}Relu", [f"{name}x"], [f"{name}y"])])
    bad = common_ir.written(tmp_path, document)
    text = f"version 1.0;\ngraph {name}(x) -> (y)\n{{ x = external(shape = [2]); y = {name}(x); }}\n"
    (tmp_path / "net.nnef").mkdir()
    (tmp_path / "net.nnef" / "graph.nnef").write_text(text, encoding="utf-8")
    for model_file in (bad, tmp_path / "net.nnef"):
        check_shown(command, ["check {m}", "inspect {m}", "run {m}"], {"m": model_file})


def test_what_a_line_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown("a\n\x1b\u202e\ud800\x7fé") == "a\\u000a\\u001b\\u202e\\ud800\\u007fé"
    assert shown("abcdef", 3) == "abc..."
    assert str(DataError("a\nb", node="n\r", tensor="t\x1b")) == "a\\u000ab (node 'n\\u000d', tensor 't\\u001b')"
    error = ParseError("wrong", file="f\n", line=1, column=3, source_line="\x1bab")
    assert str(error) == "f\\u000a:1:3: wrong\n    \\u001bab\n           ^"
    say("a\nb", "c")
    assert capsys.readouterr().out == "a\\u000ab\nc\n"
