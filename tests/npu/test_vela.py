"""Costs by way of Vela, which a package of the same name stands for here; tests/peers has Vela's own numbers."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import Unsupported, UsageError
from tosa_engine.npu import vela
from tosa_engine.npu.figures import OperatorCost

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph

REGOR = """
import os, time
from types import SimpleNamespace as S
def compile(architecture, content, kind, configuration, options, verbose):
    print("talk")
    mode = os.environ["VELA_MODE"]
    if mode == "refuses":
        raise RuntimeError("Non-passthrough operation\\n could not run")
    if mode == "crashes":
        os.abort()
    if mode == "hangs":
        time.sleep(60)
    assert (architecture, kind, content[4:8]) == ("EthosU65", "TOSA", b"TOSA"), (architecture, content[:8])
    assert "macs=256\\ncores=2\\n" in configuration and configuration.endswith("[the ini]\\n"), configuration
    assert "arena_size_limit=393216" in options
    tables = {
        "source": S(header=["id", "ext_key"], data=[["5", "0"], ["6", "1"], ["9", "-1"]]),
        "perf": S(
            header=["id", "source_id", "op_cycles", "npu_cycles", "mac_count"],
            data=[line.split() for line in ("1 6 30 20 4", "2 6 12 1 0", "3 5 50 40 6", "4 9 8 8 0")],
        ),
    }
    access = S(bytesRead=3, bytesWritten=4)
    memory = S(peakUsage=64, totalAccessCycles=7, accesses={"a": access, "b": access})
    report = S(totalCycles=100, npuCycles=69, macCount=5120, cpuOps=0, memories={"Sram": memory})
    return S(perf_report=report, opt_database=S(tables=tables))
"""


@pytest.fixture
def graph() -> Graph:
    b = Builder()
    b.output(b.op("CLZ", b.op("ABS", b.input(types.i32, (2, 3), "x"), output="a"), output="y"))
    return b.graph()


@pytest.fixture
def mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    (tmp_path / "ethosu" / "config").mkdir(parents=True)
    (tmp_path / "ethosu" / "regor.py").write_text(REGOR)
    (tmp_path / "ethosu" / "config" / "vela.ini").write_text("[the ini]\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(vela, "available", lambda: True)
    monkeypatch.setenv("VELA_MODE", "answers")
    return monkeypatch


@pytest.mark.usefixtures("mode")
def test_cycles_of_operators_of_the_graph(graph: Graph) -> None:
    found = vela.costs(graph, "ethos-u65-512")
    assert (found.cycles, found.npu_cycles, found.macs, found.utilisation) == (100, 69, 5120, 0.1)
    assert found.memories == {"Sram": {"peak": 64, "cycles": 7, "read": 6, "written": 8}}
    assert found.operators == (
        OperatorCost("a", "ABS", 50, 40, 6),
        OperatorCost("y", "CLZ", 42, 21, 4),
    )
    assert found.unnamed == 8


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("refuses", "Vela refuses the graph: Non-passthrough operation could not run"),
        ("crashes", "Vela ended with -6: "),
        ("hangs", "Vela takes more than 2 s"),
    ],
)
def test_bad_ends(graph: Graph, mode: pytest.MonkeyPatch, how: str, message: str) -> None:
    mode.setenv("VELA_MODE", how)
    with pytest.raises(Unsupported, match=message):
        vela.costs(graph, "ethos-u65-512", seconds=2)


def test_without_vela(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ethosu", None)
    monkeypatch.setattr(vela, "available", lambda: False)
    with pytest.raises(UsageError, match=r"pip install 'tosa-engine\[vela\]'"):
        vela.costs(graph, "ethos-u55-32")


@pytest.mark.usefixtures("mode")
def test_inspect_shows_costs_or_problems(command, graph: Graph, tmp_path: Path) -> None:
    serialize.write(graph, tmp_path / "m.tosa")
    line = ["inspect", tmp_path / "m.tosa", "--target", "ethos-u65-512"]
    lines = command(*line).out.splitlines()
    at = lines.index("target     ethos-u65-512")
    assert lines[at + 1] == "  100 cycles by Vela, 69 of them the NPU's; 10.0% of its products"
    assert lines[at + 2] == "  Sram: peak 64 bytes, 6 read, 8 written"
    assert lines[at + 3].split() == ["50", "cycles", "50.0%", "ABS", "a"]
    assert json.loads(command(*line, "--format", "json").out)["target"]["costs"]["unnamed"] == 8
    b = Builder()
    b.output(b.op("BITWISE_NOT", b.input(types.i8, (2, 3), "x"), output="y"))
    serialize.write(b.graph(), tmp_path / "n.tosa")
    out = command("inspect", tmp_path / "n.tosa", "--target", "ethos-u65-512").out
    assert "  1 problems, so it has no cycles\n  ethos-u65-512.operator: ethos-u65-512 has no BITWISE_NOT" in out
