"""`warmup`: what later processes find compiled; progress on terminals; what can't be compiled or kept is told."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from child import PYTHONPATH
from nets import feeds_of, residual_net

from tosa_engine import Session, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.commands.standard_nets import standard
from tosa_engine.runtime.warm_up import steps_to_run, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph

ROOT = Path(__file__).parents[2]
MODELS = ROOT.parent / "shared" / "models" / "tosa"


class Ended(NamedTuple):
    """How a process ended, and after how many seconds."""

    code: int
    out: str
    err: str
    seconds: float


def start(*arguments: object, cache: Path, jit: str = "1", **how: object) -> Callable[[], Ended]:
    """Starts `tosa-engine ARGUMENTS` with a cache of its own; call the result to wait for it."""
    environment = {
        **os.environ, "PYTHONPATH": PYTHONPATH, "TOSA_ENGINE_CACHE_DIR": str(cache), "TOSA_ENGINE_JIT": jit,
    }  # fmt: skip
    code = "import sys; from tosa_engine.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    since = time.perf_counter()
    process = subprocess.Popen(words, text=True, env=environment, **pipes)

    def wait() -> Ended:
        out, err = process.communicate()
        return Ended(process.returncode, out, err, time.perf_counter() - since)

    return wait


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that needs several kernels."""
    path = tmp_path_factory.mktemp("model") / "residual.tosa"
    serialize.write(residual_net(), path)
    return path


@pytest.fixture(scope="module")
def warmed(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Ended]]:
    """A cache that two processes filled at once, and how they ended."""
    cache = tmp_path_factory.mktemp("cache")
    both = [start("warmup", model, cache=cache) for _ in range(2)]
    return cache, [wait() for wait in both]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one kernel."""
    b = Builder()
    x = b.input(types.i8, (1, 4, 4, 2), "x")
    b.output(b.op("MAX_POOL2D", x, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode="PROPAGATE"))
    path = tmp_path_factory.mktemp("model") / "small.tosa"
    serialize.write(b.graph(), path)
    return path


@pytest.mark.slow("two processes compile a network each")
def test_processes_that_fill_a_cache_at_once_both_succeed_and_a_third_finds_all(
    model: Path, warmed: tuple[Path, list[Ended]], report: Callable[[str], None]
) -> None:
    cache, both = warmed
    for ended in both:
        assert (ended.code, ended.err) == (0, "")
        assert re.match(rf"{re.escape(str(model))}: 7 steps, \d functions compiled in ", ended.out)
    third = start("warmup", model, cache=cache)()
    assert (third.code, third.err) == (0, "")
    assert third.out.startswith(f"{model}: 7 steps, nothing to compile (")
    assert third.seconds < min(ended.seconds for ended in both) / 2
    report(f"warmup: two at once {', '.join(f'{e.seconds:.1f} s' for e in both)}; then {third.seconds:.1f} s")


@pytest.mark.slow("uses the cache that two processes fill")
def test_what_is_kept_and_where_is_told(model: Path, warmed: tuple[Path, list[Ended]]) -> None:
    cache, both = warmed
    (folder,) = cache.iterdir()
    files = [path for path in folder.rglob("*") if path.is_file()]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    assert both[-1].out.splitlines()[-1].startswith(f"kept in {folder}: ")
    third = start("warmup", model, cache=cache)()
    assert third.out.splitlines()[-1] == f"kept in {folder}: {len(files)} files, {megabytes:.1f} MB"
    assert not [path for path in files if ".tmp." in path.name]


# what is read from the disk for the standard networks, and what else for models; all has been compiled before, so that
# these are the signatures of whole kernels, not of the functions inside
COVERED = """
import sys
from tosa_engine.cli import main

def signatures():
    kernels = [module for name, module in sys.modules.items() if name.startswith("tosa_engine.kernels.")]
    values = [value for module in kernels for value in vars(module).values() if not isinstance(value, type)]
    found = [value for value in values if hasattr(value, "signatures")]
    return {(f.py_func.__module__, f.py_func.__name__, str(s)) for f in found for s in f.signatures}

assert main(["warmup"]) == 0
before = signatures()
assert before
assert main(["warmup", *sys.argv[1:]]) == 0
print(sorted(signatures() - before))
"""


@pytest.mark.slow("plans every shared model")
@pytest.mark.skipif(not MODELS.is_dir(), reason="needs the folder ../shared/models")
def test_the_standard_networks_have_every_kernel_of_the_shared_models() -> None:
    models = sorted(map(str, MODELS.glob("*.int*/model.tosa")))
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "TOSA_ENGINE_JIT": "1"}
    words = [sys.executable, "-c", COVERED, *models]
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("kept in ")] == [lines[4], lines[-2]]
    assert [line.split(":")[0] for line in lines[:4]] == [graph.source for graph in standard()]
    assert len(lines) == len(standard()) + len(models) + 3
    assert lines[-1] == "[]", "kernels that models need and commands/standard_nets.py doesn't"


@pytest.mark.parametrize("graph", standard(), ids=lambda g: g.source)
def test_the_standard_networks_are_legal_and_exact(graph: Graph) -> None:
    (result,) = Session(graph, 1, checked=True).run(None, feeds_of(graph))
    assert len(np.unique(result)) > 2, "values vanish or saturate on their way: kernels compute nothing"


def test_a_model_is_compiled_once_and_runs_from_the_cache(small: Path, tmp_path: Path) -> None:
    first = start("warmup", small, cache=tmp_path)()
    assert (first.code, first.err) == (0, "")
    assert re.match(rf"{re.escape(str(small))}: 1 steps, 1 functions compiled in \d+\.\d s\n", first.out)
    second = start("warmup", small, cache=tmp_path)()
    assert second.out.startswith(f"{small}: 1 steps, nothing to compile (")
    np.save(tmp_path / "x.npy", np.ones((1, 4, 4, 2), np.int8))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    assert start("run", small, "-i", tmp_path / "x.npy", cache=tmp_path)().code == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == before


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
@pytest.mark.parametrize(
    ("flags", "shown"),
    [([], True), pytest.param(["--quiet"], False, marks=pytest.mark.slow("kernels are compiled anew"))],
)
def test_terminals_see_one_line_per_step_that_is_compiled(
    small: Path, tmp_path: Path, flags: list[str], shown: bool
) -> None:
    ours, theirs = os.openpty()
    ended = start("warmup", small, *flags, cache=tmp_path, stderr=theirs)()
    os.set_blocking(ours, False)
    try:
        seen = os.read(ours, 10_000).decode().replace("\r", "")
    except BlockingIOError:
        seen = ""
    os.close(ours)
    os.close(theirs)
    assert ended.code == 0
    threads = r"threads: open_walk, walk, close_walk, sleeps, stop, serve  \d+\.\d s\n"
    line = rf"{threads}{re.escape(str(small))}: 1/1 MAX_POOL2D: max_int  \d+\.\d s\n"
    assert re.fullmatch(line if shown else "", seen)


def test_without_the_jit_there_is_nothing_to_compile(small: Path, tmp_path: Path) -> None:
    ended = start("warmup", small, cache=tmp_path / "cache", jit="0")()
    wanted = "TOSA_ENGINE_JIT=0: kernels run as plain Python, there is nothing to compile\n"
    assert (ended.code, ended.out, ended.err) == (0, wanted, "")
    assert not (tmp_path / "cache").exists()


def no_writing() -> None:
    """A disk that is full, for this process: also the superuser's."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_cache_that_cannot_be_made_is_an_error(small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    ended = start("warmup", small, cache=tmp_path / "file")()
    assert (ended.code, ended.out) == (6, "")
    lines = ended.err.splitlines()
    assert lines[0].startswith("compiled kernels can't be kept: [Errno 20] Not a directory: ")
    assert lines[1].startswith("error: there is no folder to keep compiled kernels in: [Errno 20] Not a directory: ")


def test_a_cache_that_cannot_be_written_is_an_error(small: Path, tmp_path: Path) -> None:
    ended = start("warmup", small, cache=tmp_path, preexec_fn=no_writing)()
    assert ended.code == 6
    lines = ended.err.splitlines()
    assert len(lines) == 2, "one warning for all kernels"
    assert lines[0].startswith("compiled kernels can't be kept: [Errno 27] File too large")
    assert re.match(r"error: \d compiled functions can't be kept: \[Errno 27\] File too large", lines[1])


@pytest.mark.slow("kernels are compiled anew")
def test_a_full_cache_that_cannot_be_written_is_read(small: Path, tmp_path: Path) -> None:
    assert start("warmup", small, cache=tmp_path)().code == 0
    ended = start("warmup", small, cache=tmp_path, preexec_fn=no_writing)()
    assert (ended.code, ended.err) == (0, "")
    assert "nothing to compile" in ended.out


def test_an_illegal_model_and_a_missing_one(command, tmp_path: Path) -> None:
    graph = residual_net()
    next(op for op in graph.main.operators if op.op == "CLAMP").attributes["max_val"] = -100
    serialize.write(graph, tmp_path / "illegal.tosa")
    outcome = command("warmup", tmp_path / "illegal.tosa")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith("error: CLAMP.E1: ")
    outcome = command("warmup", tmp_path / "missing.tosa")
    assert (outcome.code, outcome.err) == (6, f"error: {tmp_path / 'missing.tosa'}: no such model\n")


def endless() -> Graph:
    """A loop that never ends."""
    b = Builder()
    cond, body = b.region("cond"), b.region("body")
    x = cond.input(types.bool_, (), "x")
    cond.output(cond.op("LOGICAL_OR", x, cond.op("LOGICAL_NOT", x)))
    body.output(body.op("LOGICAL_NOT", body.input(types.bool_, (), "x")))
    b.output(*b.op("WHILE_LOOP", [b.input(types.bool_, (), "x")], cond_graph="cond", body_graph="body"))
    return b.graph()


def test_regions_are_rehearsed_and_control_flow_is_not() -> None:
    seen: list[str] = []
    plan = Session(endless(), 1).plan()
    warm_up(plan, lambda step: seen.append(step.operators))
    assert seen == ["LOGICAL_NOT", "LOGICAL_OR", "LOGICAL_NOT"]
    assert len(seen) == steps_to_run(plan)


def test_every_step_is_rehearsed() -> None:
    seen: list[str] = []
    plan = Session(residual_net(), 1).plan()
    warm_up(plan, lambda step: seen.append(step.operators))
    assert seen == [step.operators for step in plan.steps if step.work is not None]


def test_a_require_that_zeros_violate_stops_nothing(command, tmp_path: Path) -> None:
    b = Builder()
    x = b.input(types.i32, (2,), "x")
    b.output(b.op("ABS", b.op("INTDIV", x, x)))
    serialize.write(b.graph(), tmp_path / "division.tosa")
    outcome = command("warmup", tmp_path / "division.tosa")
    assert (outcome.code, outcome.err) == (0, "")
    assert "division.tosa: 2 steps, " in outcome.out
