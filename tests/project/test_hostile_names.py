"""What names hold never steers a terminal and never begins a line: every verb, with names of control characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import serialize, types
from tosa_engine.errors import DataError, ParseError
from tosa_engine.graph import Block, Graph, Operator, Region, Tensor
from tosa_engine.text import say, shown

if TYPE_CHECKING:
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
)  # fmt: skip


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
    for line in COMMANDS:
        outcome = command(*line.format(**files).split())
        assert outcome.code in range(7), (line, outcome)
        text = outcome.out + outcome.err
        assert [c for c in text if not c.isprintable() and c not in CLEAN] == [], line
        assert not any(one.startswith("FORGED") for one in text.splitlines()), line


def test_what_a_line_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown("a\n\x1b\u202e\ud800\x7fé") == "a\\u000a\\u001b\\u202e\\ud800\\u007fé"
    assert shown("abcdef", 3) == "abc..."
    assert str(DataError("a\nb", node="n\r", tensor="t\x1b")) == "a\\u000ab (node 'n\\u000d', tensor 't\\u001b')"
    error = ParseError("wrong", file="f\n", line=1, column=3, source_line="\x1bab")
    assert str(error) == "f\\u000a:1:3: wrong\n    \\u001bab\n           ^"
    say("a\nb", "c")
    assert capsys.readouterr().out == "a\\u000ab\nc\n"
