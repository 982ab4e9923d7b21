"""Walks: compiled steps called without Python, shared among workers that come and go."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from child import PYTHONPATH
from hypothesis import HealthCheck, given, settings
from nets import Net, feeds_of, residual_net

from tosa_engine import Session, graph, types
from tosa_engine.compliance.cases import cases
from tosa_engine.errors import RequireViolation
from tosa_engine.kernels import KERNELS, work
from tosa_engine.kernels.work import Chain, Loop
from tosa_engine.plan import expand, make_plan, prepare
from tosa_engine.plan.steps import Step
from tosa_engine.probe import Probe
from tosa_engine.runtime.blocks import Blocks
from tosa_engine.runtime.bound import Bound
from tosa_engine.runtime.program import Program, Single, Span
from tosa_engine.runtime.team import Team
from tosa_engine.runtime.workspace import WORTH_WAKING, shared_cost
from tosa_engine.spec import TABLE, bind_operator

from .test_kernels import ROWS, values_of

if TYPE_CHECKING:
    from tosa_engine.types import Array

ROOT = Path(__file__).parents[2]
MODELS = ROOT.parent / "shared" / "models" / "tosa"
INTEGER_MODELS = sorted(p.name for p in MODELS.glob("*.int*")) if MODELS.is_dir() else []
QUICK_MODELS = ("mobilenet_v2_w100_224.int8", "encoder_block_T64_D128.int8", "ds_cnn_kws.int16")


def bytes_of(arrays: list[Array]) -> list[bytes]:
    return [a.tobytes() for a in arrays]


def ignore(step: Step) -> None:
    """Look at nothing."""


@pytest.fixture(scope="module")
def large() -> graph.Graph:
    net = residual_net(size=48, channels=40)
    assert shared_cost(make_plan(expand(net))) >= WORTH_WAKING
    return net


def two_ways(case: tuple[graph.Graph, dict[str, Array]]) -> list[tuple[bool, bytes]]:
    """Whether a REQUIRE failed, and the output: by calls from Python, and walked by two workers."""
    built, feeds = case
    call, values = bind_operator(built.main.operators[-1], built.main), values_of(built, feeds)
    prepared = prepare(call)
    result = call.tensor(call.spec.outputs[0].name)
    assert result.shape is not None
    found = []
    for walked in (False, True):
        out = np.full(result.shape, 1, result.dtype.storage)
        run = prepared.bind([values[n] for n in call.operator.inputs], [out])
        scratch = [tuple(work.aligned(count, dtype) for dtype, count in prepared.scratch) for _ in range(2)]
        if walked:
            step = Step((call,), (), (result.name,), prepared)
            program = Program([Bound(step, run, prepared.units, prepared.units > 1, tuple(scratch))], 2, frozenset())
            compiled = isinstance(run, (Loop, Chain))
            assert [type(part) for part in program.parts] == [Span if compiled else Single]
            failed = TEAM.walk(program, ignore) is not None
        else:
            failed = run(0, prepared.units, scratch[0]) != work.DONE
        found.append((failed, b"" if failed else out.tobytes()))
    return found


TEAM = Team(2)


# from the other end than test_kernels.py, which may run beside it: each finds what the other has compiled
@pytest.mark.parametrize(("op", "row"), ROWS[::-1])
def test_loops_called_by_address_do_what_calls_from_python_do(op: str, row: str) -> None:
    @settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])
    @given(cases(op, row))
    def run(case: tuple[graph.Graph, dict[str, Array]]) -> None:
        first, second = two_ways(case)
        assert first == second

    run()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_workers_and_probes_change_no_byte(large: graph.Graph, threads: int) -> None:
    wanted = bytes_of(Session(large, 1).run(None, feeds_of(large)))
    session = Session(large, threads)
    seen: dict[str, bytes] = {}
    probe = Probe(lambda node, name, array: seen.update({name: array.tobytes()}), ["stem_relu", "sum", "columns"])
    for _ in range(3):
        assert bytes_of(session.run(None, feeds_of(large))) == wanted
        assert bytes_of(session.run(None, feeds_of(large), [probe])) == wanted
    assert list(seen) == ["stem_relu", "sum", "columns"]


def test_probes_cut_a_program_only_where_they_look(large: graph.Graph) -> None:
    kept = frozenset(["stem_i8"])
    parts = Blocks(make_plan(expand(large), kept), 1).main.program.parts
    looks = [part.bound.step.output for part in parts if isinstance(part, Single)]
    assert (len(parts), looks) == (3, ["stem_i8"])
    assert len(Blocks(make_plan(expand(large)), 1).main.program.parts) == 1


def chain_with_sum() -> graph.Graph:
    """RESCALE, ADD, RESCALE, CLAMP: an ADD that can overflow in the middle of compiled steps."""
    net = Net()
    x = net.input("x", types.i32, 400, 1000)
    doubled = net.op("ADD", "doubled", types.i32, net.rescale("third", x, types.i32, types.i32, 32), x)
    small = net.rescale("small", doubled, types.i32, types.i8, 40)
    net.op("CLAMP", "y", types.i8, small, min_val=-9, max_val=9, nan_mode="PROPAGATE")
    return net.done("y")


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_a_violation_among_compiled_steps_ends_the_run(threads: int) -> None:
    built = chain_with_sum()
    plan = make_plan(expand(built))
    assert [step.operators for step in plan.steps][1] == "ADD"
    assert shared_cost(plan) >= WORTH_WAKING
    calm = np.arange(400_000, dtype=np.int32).reshape(400, 1000)
    wanted = bytes_of(Session(built, 1).run(None, {"x": calm}))
    session = Session(built, threads)
    for place in ((0, 0), (150, 3), (399, 990)):
        feeds = calm.copy()
        feeds[place] = feeds[399, 998] = 1_700_000_000
        with pytest.raises(RequireViolation) as caught:
            session.run(None, {"x": feeds})
        found = caught.value
        assert (found.label, found.node, found.index, found.count) == ("ADD.R1", "doubled", place, 2)
        assert bytes_of(session.run(None, {"x": calm})) == wanted


def test_every_unit_is_taken_once() -> None:
    """Workers take pieces of the same parts from both ends, as fast as they can."""
    from tosa_engine.kernels._jit import jit
    from tosa_engine.kernels.walk import walk
    from tosa_engine.kernels.walk.atomics import LINE, atomic_add, atomic_load, pause

    @jit
    def take_all(word: int, units: int, piece: int, end: int, ready: int, workers: int, counts: Array) -> int:
        atomic_add(ready, 1)
        while atomic_load(ready) < workers:
            pause()
        pieces = 0
        while True:
            low, count = walk.take(word, units, piece, end)
            if count == 0:
                return pieces
            pieces += 1
            for i in range(low, low + count):
                counts[i] += 1

    def race(units: int, piece: int, workers: int) -> list[int]:
        words, counts = work.aligned(2 * LINE // 8, np.int64), np.zeros((workers, units), np.int64)
        address, pieces = words.ctypes.data, [0] * workers

        def compete(worker: int) -> None:
            end = walk.UPPER if worker % 2 else 1
            pieces[worker] = take_all(address, units, piece, end, address + LINE, workers, counts[worker])

        threads = [threading.Thread(target=compete, args=(worker,)) for worker in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (counts.sum(axis=0) == 1).all()
        return pieces

    assert race(10, 1, 1) == [5]  # 5, 2, 1, 1, 1
    assert race(10, 4, 1) == [3]  # 5, 4, 1
    for i in range(300):
        race(1 + i * 7 % 101, 1 + i % 3, 2 + i % 3)


def test_an_error_between_compiled_steps_leaves_the_workers_usable(large: graph.Graph) -> None:
    def fail(node: str, tensor: str, array: Array) -> None:
        raise KeyError(tensor)

    session = Session(large, 3)
    wanted = bytes_of(session.run(None, feeds_of(large)))
    for name in ("stem_relu", "sum"):
        with pytest.raises(KeyError, match=name):
            session.run(None, feeds_of(large), [Probe(fail, [name])])
        assert bytes_of(session.run(None, feeds_of(large))) == wanted


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_in_a_part_of_a_step_of_python_ends_the_run(failing: int) -> None:
    """The other worker does its part; nobody waits for the one that failed."""
    done: list[int] = []

    def run(low: int, high: int, scratch: Any) -> int:
        if low == failing:
            raise MemoryError("no room")
        done.append(low)
        return work.DONE

    step = Step((), (), ("y",), work.Work(2, 1e9, lambda inputs, outputs: run))
    program = Program([Bound(step, run, 2, shared=True, scratch=((), ()))], 2, frozenset())
    with pytest.raises(MemoryError, match="no room"):
        TEAM.walk(program, ignore)
    assert done == [1 - failing]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, which has to end in time."""
    path = {"PYTHONPATH": PYTHONPATH}
    code = "import sys\n" + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **path, **environment}, timeout=120, capture_output=True,
        text=True, check=True,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system can't bind a process to a processor")
def test_more_workers_than_processors_do_not_hang() -> None:
    done = python("""
        import os, time
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        from nets import feeds_of, residual_net
        from tosa_engine import Session
        net = residual_net(size=48, channels=40)
        wanted = Session(net, 1).run(None, feeds_of(net))
        session = Session(net, 8)
        for pause in (0.0, 0.001) * 100:
            got = session.run(None, feeds_of(net))
            assert [a.tobytes() for a in got] == [a.tobytes() for a in wanted]
            time.sleep(pause)
        print("done")
    """)
    assert done.stdout == "done\n"


def test_helpers_that_sleep_wake_and_are_late_change_no_byte() -> None:
    """Pauses about as long as helpers look for the next walk: some sleep, some are just about to."""
    built = chain_with_sum()
    feeds = feeds_of(built)
    feeds["x"] //= 8
    wanted = bytes_of(Session(built, 1).run(None, feeds))
    session = Session(built, 3)
    for i in range(600):
        assert bytes_of(session.run(None, feeds)) == wanted
        end = time.perf_counter() + i % 30 * 5e-6
        while time.perf_counter() < end:
            pass


def test_helpers_end_with_their_session(large: graph.Graph) -> None:
    def helpers() -> set[threading.Thread]:
        return {t for t in threading.enumerate() if t.name.startswith("tosa_engine-")}

    before = helpers()
    session = Session(large, 3)
    session.run(None, feeds_of(large))
    new = helpers() - before
    assert len(new) == 2
    del session
    gc.collect()
    for thread in new:
        thread.join(timeout=10)
        assert not thread.is_alive()


def test_a_process_ends_while_helpers_wait() -> None:
    done = python("""
        from nets import feeds_of, residual_net
        from tosa_engine import Session
        net = residual_net(size=48, channels=40)
        session = Session(net, 4)
        session.run(None, feeds_of(net))
        print("done")
    """)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.slow("a process compiles the walk and a network")
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    code = """
        import numpy as np
        from tosa_engine.kernels import _jit
        from tests.kernels.test_walk import chain_with_sum
        from tosa_engine import Session
        compiled = []
        with _jit.watch(compiled.append):
            Session(chain_with_sum(), 2).run(None, {"x": np.zeros((400, 1000), np.int32)})
        print(len(compiled), "numba" in __import__("sys").modules)
    """
    first, second = (python(code, TOSA_ENGINE_CACHE_DIR=str(tmp_path)).stdout.split() for _ in range(2))
    assert int(first[0]) > 0
    assert second == ["0", "False"], "a second process compiles nothing, and imports no compiler"


def test_without_the_jit_python_walks(large: graph.Graph) -> None:
    code = """
        import hashlib
        from nets import feeds_of, residual_net
        from tosa_engine import Session
        from tosa_engine.runtime.program import Single
        net = residual_net(size=8, channels=3)
        session = Session(net, 2)
        for array in session.run(None, feeds_of(net)):
            print(hashlib.sha256(array.tobytes()).hexdigest())
        program = session._planner.prepared(frozenset()).borrow(2).main.program
        print([type(part).__name__ for part in program.parts], file=sys.stderr)
    """
    with_jit, without = python(code, TOSA_ENGINE_JIT="1"), python(code, TOSA_ENGINE_JIT="0")
    assert with_jit.stdout == without.stdout
    assert with_jit.stderr.strip() == "['Span']"
    assert set(without.stderr.split("'")[1::2]) == {"Single"}


@pytest.mark.skipif(not INTEGER_MODELS, reason="needs the folder ../shared/models")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow("compiled")] * (n not in QUICK_MODELS)) for n in INTEGER_MODELS]
)
def test_integer_models_are_walked_without_python(name: str) -> None:
    program = Blocks(Session(MODELS / name / "model.tosa", 1).plan(), 1).main.program
    assert [type(part) for part in program.parts] == [Span]


def test_an_entry_refuses_what_is_no_word() -> None:
    from tosa_engine.kernels import _jit

    assert Loop(print, True, np.bool_(False)).arguments == (1, 0)
    assert _jit.words(1) == [1]
    assert _jit.words(np.int64(-3)) == [-3]
    array = np.zeros(5, np.int16)
    assert _jit.words(array) == [0, 0, 5, 2, array.ctypes.data, 5, 2]
    with pytest.raises(AssertionError, match="an argument of type float is no word"):
        _jit.words(1.5)


IN_PYTHON = {"FFT2D", "RFFT2D"}  # numpy's


@pytest.mark.parametrize("op", sorted({op for op, _ in KERNELS if TABLE[op].pure} - {"CONST_SHAPE"} - IN_PYTHON))
def test_kernels_are_compiled_loops(op: str) -> None:
    """With a function of Python among them, a walk would end. (None is compiled here.)"""
    for row in TABLE[op].rows:
        block = TABLE[op].example(row).graph().main
        operator = block.operators[-1]
        for argument, name in zip(TABLE[op].inputs, operator.inputs, strict=False):
            tensor = block.tensors[name]
            if argument.name in KERNELS[op, row.key].constants and tensor.data is None:
                tensor.data = np.zeros(tensor.shape, tensor.dtype.storage)
        tensors = [[block.tensors[n] for n in names] for names in (operator.inputs, operator.outputs)]
        inputs, outputs = ([np.zeros(t.shape, t.dtype.storage) for t in side] for side in tensors)
        run = prepare(bind_operator(operator, block)).bind(inputs, outputs)
        assert isinstance(run, (Loop, Chain)), f"{op} {row.key} runs in Python"
