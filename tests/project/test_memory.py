"""What a process may take: the machine's memory, control groups, limits of its own, and what the user allows."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tosa_engine
from tosa_engine import arrays, memory, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import DataError
from tosa_engine.graph import Block, Graph, Operator, Region, Tensor
from tosa_engine.watch import KeptTensors, WatchedGraph

if TYPE_CHECKING:
    from pathlib import Path

MEMINFO = "MemTotal: 100 kB\nMemAvailable:   64 kB\n"
LARGE = 1 << 26


def files(root: Path, **content: str) -> Path:
    for name, text in content.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def add(*shape: int) -> Graph:
    names = ["x", "y", "out"]
    block = Block("main", names[:2], names[2:], {n: Tensor(n, types.fp32, shape) for n in names})
    block.operators = [Operator("ADD", names[:2], names[2:])]
    return Graph([Region("main", [block])])


def matmul(weight: types.Array) -> Graph:
    b = Builder()
    x = b.input(types.fp32, (1, 8, 64), "x")
    zero = b.const(np.zeros(1, np.float32))
    b.output(b.op("MATMUL", x, b.const(weight), zero, zero))
    return b.graph()


def test_the_machine(tmp_path: Path) -> None:
    assert memory.free(files(tmp_path, proc__meminfo=MEMINFO)) == 64 << 10


@pytest.mark.parametrize("path", ["/a/b", "/of/another/machine"])
def test_control_groups_of_version_2(tmp_path: Path, path: str) -> None:
    root = files(tmp_path, proc__meminfo=MEMINFO, proc__self__cgroup=f"0::{path}\n")
    own = files(tmp_path / "sys/fs/cgroup", a__b__x="", **{"memory.max": "50000", "memory.current": "20000"})
    assert memory.free(root) == 30000
    files(own, **{"memory.stat": "anon 5\ninactive_file 1000\n"})
    assert memory.free(root) == 31000
    files(own / "a/b", **{"memory.max": "9000", "memory.current": "1000"})
    assert memory.free(root) == (8000 if path == "/a/b" else 31000)
    files(own / "a/b", **{"memory.max": "max"})
    assert memory.free(root) == 31000
    files(own, **{"memory.current": "60000"})
    assert memory.free(root) == 0


def test_control_groups_of_version_1(tmp_path: Path) -> None:
    root = files(tmp_path, proc__meminfo=MEMINFO, proc__self__cgroup="5:cpu:/\n4:cpu,memory:/jobs/1\n0::/\n")
    own = tmp_path / "sys/fs/cgroup/memory/jobs"
    files(own, **{"memory.limit_in_bytes": "40000", "memory.usage_in_bytes": "10000"})
    files(own / "1", **{"memory.limit_in_bytes": "9223372036854771712", "memory.usage_in_bytes": "5"})
    assert memory.free(root) == 30000


CHILD = """
import resource, sys
import tosa_engine
from tosa_engine import memory
from tosa_engine.errors import DataError
session = tosa_engine.Session(sys.argv[1], 1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.{limit}, (used + (100 << 20), resource.RLIM_INFINITY))
assert memory.free() <= 100 << 20
try:
    session.plan()
except DataError as problem:
    print(problem)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space are Linux's")
def test_limits_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serialize.write(add(1 << 25), tmp_path / "large.tosa")
    monkeypatch.setenv("TOSA_ENGINE_JIT", "0")
    command = [sys.executable, "-c", CHILD.format(limit="RLIMIT_AS"), str(tmp_path / "large.tosa")]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.startswith("RUN.memory: a run takes 402,653,184 bytes (402,653,184 for in- and outputs), "), out
    assert " are available; take a smaller batch" in out


def test_all_that_is_made_inside_is_limited() -> None:
    with memory.limited(100):
        session = tosa_engine.Session(add(5, 5), 1)
        with memory.limited(None), memory.limited(2000):
            assert memory.allowed() == 2000
        assert memory.allowed() == 100
    assert memory.allowed() is None
    with pytest.raises(DataError, match=r"300 for in- and outputs\), 100 are allowed"):
        session.plan()
    assert tosa_engine.Session(add(5, 5), 1, max_memory=4000).plan().steps


def test_it_is_refused_before_weights_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = matmul(np.ones((1, 64, 64), np.float32))
    monkeypatch.setattr("tosa_engine.runtime.planner.plan_in_parts", None)
    with pytest.raises(DataError, match="16,388 for constants, 16,384 for constants as kernels read them"):
        tosa_engine.Session(graph, 1, max_memory=20000).plan()


def test_tensors_that_are_kept_count() -> None:
    x = {"x": np.ones((8, 8), np.float32), "y": np.ones((8, 8), np.float32)}
    names = ["x", "out"]
    with memory.limited(1500):
        WatchedGraph(add(8, 8), names, lambda *seen: None, 1).run(x)
    with memory.limited(1500), pytest.raises(DataError, match="512 for tensors that are kept"):
        KeptTensors(add(8, 8), names, 1).run(x)


def test_arrays_of_files_are_refused_before_they_are_unpacked(command, tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", out=np.zeros(LARGE, np.uint8))
    serialize.write(add(2, 2), tmp_path / "m.tosa")
    np.savez(tmp_path / "io.npz", **{n: np.ones((2, 2), np.float32) for n in ("x", "y")})
    bundles = (tmp_path / "zeros.npz", tmp_path / "io.npz")
    tracemalloc.start()
    try:
        run = command("run", tmp_path / "m.tosa", "-i", bundles[1], "--expect", bundles[0])
        side = command("compare", tmp_path / "m.tosa", bundles[0], "-i", bundles[1])
        with memory.limited(LARGE // 2), pytest.raises(DataError, match=r"uint8\[67108864\] takes 67,108,864 bytes, "):
            arrays.read_bundle(bundles[0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (run.code, side.code) == (1, 1), (run, side)
    assert "output 'out' is float32[2, 2], expected uint8[67108864]" in run.out, run
    assert "float32[2, 2] here, uint8[67108864] there" in side.out, side
    assert peak < LARGE // 2


VERBS = (
    "run {m} -i {io}", "compare {m} {m} -i {io}", "calibrate {m} --random 1 -o {out}.quant",
    "quantize {m} --random 1 -o {out}.tosa", "report {m} {int} --random 1 -o {out}.json", "inspect {m} --plan",
    "sensitivity {m} --statistics {stats} --random 1", "search {m} --statistics {stats} --random 1 --sqnr 20",
)  # fmt: skip


def test_every_verb_that_runs_models(command, tmp_path: Path) -> None:
    serialize.write(add(8, 8), tmp_path / "m.tosa")
    np.savez(tmp_path / "io.npz", **{n: np.ones((8, 8), np.float32) for n in ("x", "y")})
    names = {key: tmp_path / name for key, name in
             {"m": "m.tosa", "io": "io.npz", "out": "out", "int": "i.tosa", "stats": "s.json"}.items()}  # fmt: skip
    made = f"calibrate {names['m']} --random 1 -o {tmp_path}/a.quant --statistics {names['stats']}"
    assert command(*made.split()).code == 0
    assert command(*f"quantize {names['m']} --statistics {names['stats']} -o {names['int']}".split()).code == 0
    for line in VERBS:
        outcome = command(*line.format(**names).split(), "--max-memory", "100")
        assert (outcome.code, "error: RUN.memory: a run takes " in outcome.err) == (6, True), (line, outcome)
        assert ", 100 are allowed; " in outcome.err, line
