"""What operators compute and move, against numbers worked out by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.npu import Work, work_of

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph


@pytest.fixture
def graph() -> Graph:
    b = Builder()
    x = b.input(types.i16, (2, 5, 6, 3), "x")
    weight = b.const(np.ones((4, 2, 3, 3), np.int8))
    y = b.op(
        "CONV2D", x, weight, b.const(np.zeros(4, np.int64), types.i48), 0, 0, pad=(0, 0, 0, 0), stride=(1, 1),
        dilation=(1, 1), local_bound=False, acc_type=types.i48, output="y",
    )  # fmt: skip
    b.output(b.op("IDENTITY", y, output="z"))
    return b.graph()


def test_products_and_bytes(graph: Graph) -> None:
    outputs = 2 * 4 * 4 * 4
    constants = 4 * 2 * 3 * 3 + 4 * 6 + 2 + 1  # weights, bias of 48 bits, both zero points
    assert work_of(graph) == [
        Work("y", "CONV2D", outputs * 2 * 3 * 3, 2 * 5 * 6 * 3 * 2, constants, outputs * 6),
        Work("z", "IDENTITY", 0, outputs * 6, 0, outputs * 6),
    ]
    assert work_of(graph)[0].moved == 360 + constants + outputs * 6


def test_inspect_shows_them(command, graph: Graph, tmp_path: Path) -> None:
    serialize.write(graph, tmp_path / "m.tosa")
    rows = json.loads(command("inspect", tmp_path / "m.tosa", "--format", "json").out)["work"]
    assert rows[0] == {"node": "y", "op": "CONV2D", "macs": 2304, "read": 360, "constant": 99, "written": 768}
    lines = command("inspect", tmp_path / "m.tosa").out.splitlines()
    at = lines.index("work       2 of 2 operators, those that compute most first")
    assert lines[at + 1].split() == ["MACs", "bytes", "read", "constant", "written", "operator"]
    assert lines[at + 2].split() == ["2,304", "360", "99", "768", "CONV2D", "y"]
    assert lines[at + 3].split() == ["0", "768", "0", "768", "IDENTITY", "z"]
