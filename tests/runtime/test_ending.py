"""Runs that are ended: by Ctrl-C, by their time limit; and what the session does then."""

from __future__ import annotations

import _thread
import copy
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net, feeds_of, residual_net

from tosa_engine import oracle, types
from tosa_engine.builder import Builder
from tosa_engine.cli import main
from tosa_engine.errors import RequireViolation, TimeLimit, UsageError
from tosa_engine.kernels import _jit
from tosa_engine.plan import expand
from tosa_engine.runtime import batch_parallel, bound, deadline, plain, program, team
from tosa_engine.runtime.session import Session
from tosa_engine.serialize import write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.spec.table import Call

needs_jit = pytest.mark.skipif(not _jit.JIT, reason="plain Python would take days")


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells start processes without it
    yield
    signal.signal(signal.SIGINT, before)


def convolution(pixels: int, kernel: int, channels: int = 64) -> Graph:
    """pixels ** 2 * kernel ** 2 * channels ** 2 products, of weights 1."""
    net = Net()
    size = pixels + kernel - 1
    x = net.input("x", types.i8, 1, size, size, channels)
    weight = net.const(types.i8, np.ones((channels, kernel, kernel, channels), np.int8))
    zero = net.const(types.i8, [0])
    net.op(
        "CONV2D", "y", types.i32, x, weight, net.const(types.i32, [0]), zero, zero,
        pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    return net.done("y")


def endless() -> Graph:
    b = Builder()
    cond, body = b.region("cond"), b.region("body")
    cond.input(types.i32, (1,))
    cond.output(cond.const(np.array([True])))
    body.output(body.op("ABS", body.input(types.i32, (1,))))
    b.output(*b.op("WHILE_LOOP", [b.input(types.i32, (1,), "x")], cond_graph="cond", body_graph="body"))
    return b.graph()


@needs_jit
@pytest.mark.parametrize("threads", [1, 2])
def test_a_convolution_of_a_trillion_products_ends_within_a_second(threads: int) -> None:
    graph = convolution(pixels=244, kernel=64)
    session = Session(graph, threads, compiled=True, time_limit=0.3)
    feeds = feeds_of(graph)
    session.plan()
    begin = time.monotonic()
    with pytest.raises(TimeLimit, match=r"RUN.time: the run was ended at its time limit of 0.3 s, in CONV2D") as caught:
        session.run(None, feeds)
    assert caught.value.exit_code == 124
    assert caught.value.node
    session.time_limit = None
    timer = threading.Timer(0.2, _thread.interrupt_main)
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.run(None, feeds)
    assert time.monotonic() - begin < 1.2
    timer.join()


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps count as long."""
    for module in (bound, program, team, batch_parallel):
        monkeypatch.setattr(module, "AT_ONCE", 10.0)


@needs_jit
@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_pieces_have_the_bytes_of_the_whole(threads: int) -> None:
    graph = residual_net()
    session = Session(graph, threads, compiled=True)
    found = session.run(None, feeds_of(graph))
    wanted = oracle.run(expand(graph), feeds_of(graph))
    for name, array in zip(graph.main.outputs, found, strict=True):
        np.testing.assert_array_equal(array, wanted[name])
    feeds = {name: np.stack([array] * 3) for name, array in feeds_of(graph).items()}
    for name, arrays in zip(graph.main.outputs, session.run_each(None, feeds), strict=True):
        assert all((array == wanted[name]).all() for array in arrays)


@needs_jit
@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_require_that_fails_in_a_piece_is_told(threads: int) -> None:
    net = Net()
    x = net.input("x", types.i32, 300, 1000)
    graph = net.done(net.op("ADD", "y", types.i32, x, x))
    values = np.zeros((300, 1000), np.int32)
    values[299, 7] = 1 << 30
    session = Session(graph, threads, compiled=True)
    with pytest.raises(RequireViolation) as caught:
        session.run(None, {"x": values})
    assert caught.value.index == (299, 7)
    values[299, 7] = 1
    assert session.run(None, {"x": values})[0].sum() == 2


@needs_jit
@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_session_runs_on_behind_an_interrupt(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt comes in the middle of the network; no worker writes behind it."""
    graph = residual_net()
    session = Session(graph, threads, compiled=True)
    wanted = session.run(None, feeds_of(graph))
    looks = 0

    def check(calls: Sequence[Call]) -> None:
        nonlocal looks
        looks += 1
        if looks == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(team, "check", check)
        with pytest.raises(KeyboardInterrupt):
            session.run(None, {name: array + 1 for name, array in feeds_of(graph).items()})
    assert looks == 5
    for array, other in zip(session.run(None, feeds_of(graph)), wanted, strict=True):
        np.testing.assert_array_equal(array, other)


def test_an_interrupt_waits_for_the_workers() -> None:
    """Also where it comes twice."""
    done = threading.Event()

    def work() -> None:
        time.sleep(0.2)
        done.set()

    with ThreadPoolExecutor(1) as pool:
        timers = [threading.Timer(after, _thread.interrupt_main) for after in (0.05, 0.1)]
        other = pool.submit(work)
        for timer in timers:
            timer.start()
        with pytest.raises(KeyboardInterrupt):
            team._wait([other])
        assert done.is_set()


def test_an_endless_loop_ends_at_its_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(endless(), time_limit=0.1)
    begin = time.monotonic()
    with pytest.raises(TimeLimit, match=r"time limit of 0.1 s, in "):
        session.run(None, {"x": np.zeros(1, np.int32)})
    assert 0.1 <= time.monotonic() - begin < 1
    write(endless(), tmp_path / "endless.tosa")
    np.save(tmp_path / "x.npy", np.zeros(1, np.int32))
    words = ["run", str(tmp_path / "endless.tosa"), "-i", str(tmp_path / "x.npy"), "--time-limit", "0.1"]
    assert main(words) == 124
    assert capsys.readouterr().err.startswith("error: RUN.time: the run was ended at its time limit of 0.1 s, in ")


def test_the_limit_is_that_of_each_run() -> None:
    graph = residual_net()
    session = Session(graph, 1, time_limit=60)
    assert copy.deepcopy(session).time_limit == 60
    assert [session.run(None, feeds_of(graph)) is not None for _ in range(2)] == [True, True]
    with pytest.raises(UsageError, match="time_limit must be more than 0 seconds, got 0"):
        Session(graph, time_limit=0)


def test_plain_runs_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between operators, and in the middle of a product of matrices, whose parts give the same bytes."""
    graph = expand(convolution(pixels=9, kernel=3, channels=4))
    feeds = feeds_of(graph)
    runs = plain.PlainRuns(graph)
    (wanted,) = runs.run(feeds, ["y"])
    monkeypatch.setattr(plain, "AT_ONCE", 100.0)
    (found,) = runs.run(feeds, ["y"])
    np.testing.assert_array_equal(found, wanted)
    looks = 0

    def look() -> float:
        nonlocal looks
        looks += 1
        return 0.0 if looks < 12 else 9.0

    monkeypatch.setattr(deadline.time, "monotonic", look)
    with deadline.limited(1), pytest.raises(TimeLimit, match="in CONV2D"):
        runs.run(feeds, ["y"])


FORK = """
import os, sys
import numpy as np
from tosa_engine.runtime import bound, program, team
from tosa_engine.runtime.session import Session
if sys.argv[2] == "compiled":
    for module in (bound, program, team):
        module.AT_ONCE = 10.0
session = Session(sys.argv[1], 2, compiled=sys.argv[2] == "compiled")
feeds = {p.name: np.ones(p.shape, p.dtype) for p in session.inputs}
wanted = session.run(None, feeds)
assert session.is_compiled == (sys.argv[2] == "compiled")
child = os.fork()
equal = all((a == b).all() for a, b in zip(wanted, session.run(None, feeds)))
if child == 0:
    os._exit(0 if equal else 1)
sys.exit(0 if equal and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else 1)
"""


def forked(folder: Path, how: str, **environment: str) -> int:
    net = Net()
    x = net.input("x", types.i32, 200, 1000)
    write(net.done(net.op("ABS", "y", types.i32, x)), folder / "net.tosa")
    command = [sys.executable, "-c", FORK, str(folder / "net.tosa"), how]
    return subprocess.run(command, env=os.environ | environment, timeout=60, check=False).returncode


@needs_jit
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_has_workers_of_its_own(tmp_path: Path) -> None:
    """The threads of its parent aren't there: it would wait for them forever."""
    assert forked(tmp_path, "compiled") == 0


@needs_jit
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.slow("processes compile in an empty cache")
def test_a_fork_behind_a_plain_run_runs(tmp_path: Path) -> None:
    """The child doesn't have the processes that compile for its parent."""
    cache = {"TOSA_ENGINE_CACHE_DIR": str(tmp_path / "cache"), "TOSA_ENGINE_FIRST_RUN": "plain"}
    assert forked(tmp_path, "plain", **cache) == 0


RUN = """
import sys
import numpy as np
from tosa_engine.runtime.session import Session
session = Session(sys.argv[1], 1)
while not session.is_compiled:
    assert session.run(None, {"x": np.full((200, 1000), -3, np.int32)})[0].sum() == 600_000
assert session.run(None, {"x": np.full((200, 1000), -3, np.int32)})[0].sum() == 600_000
"""


@needs_jit
@pytest.mark.slow("nothing that is compiled can be kept")
def test_a_read_only_file_system_keeps_nobody_from_running(tmp_path: Path) -> None:
    """Runs are plain until the processes that compile have ended; then this one compiles, and keeps nothing."""
    net = Net()
    write(net.done(net.op("ABS", "y", types.i32, net.input("x", types.i32, 200, 1000))), tmp_path / "net.tosa")
    mount = shlex.join(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(tmp_path / "cache")])
    (tmp_path / "cache").mkdir()
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "sh", "-c", mount], check=False).returncode:
        pytest.skip("needs a mount of its own")
    command = shlex.join([sys.executable, "-c", RUN, str(tmp_path / "net.tosa")])
    environment = {"TOSA_ENGINE_CACHE_DIR": str(tmp_path / "cache"), "TOSA_ENGINE_FIRST_RUN": "plain"}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount} && exec {command}"], env=os.environ | environment, timeout=60,
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "compiled kernels can't be kept: [Errno 30] Read-only file system" in done.stderr
