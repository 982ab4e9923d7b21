"""Variables in the memory of a run: a walk without Python, the same values as by the oracle and by a plan that leaves
out nothing, and what they hold after runs that fail, are probed or come from several threads.
"""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from replay_tools import Look, unfused

from tosa_engine import Session, oracle, types
from tosa_engine.builder import Builder
from tosa_engine.errors import RequireViolation
from tosa_engine.kernels.variable import write_all
from tosa_engine.kernels.work import Chain, Loop
from tosa_engine.plan import expand, make_plan
from tosa_engine.plan.describe import describe
from tosa_engine.probe import Probe
from tosa_engine.runtime import workspace
from tosa_engine.runtime.direct import Direct
from tosa_engine.state import Variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.types import Array

WIDTH = 8


def declare(b: Builder, name: str, rows: int, seed: int = 0) -> None:
    initial = np.random.default_rng(seed).integers(-9, 9, (1, rows, WIDTH)).astype(np.int8)
    b.op("VARIABLE", name=name, var_shape=initial.shape, type=types.i8, initial_value=initial)


def read(b: Builder, name: str) -> Tensor:
    return b.op("VARIABLE_READ", name=name, dtype=types.i8)


def write(b: Builder, name: str, x: Tensor) -> None:
    b.op("VARIABLE_WRITE", x, name=name)


def rows(b: Builder, x: Tensor, start: int, count: int) -> Tensor:
    return b.op("SLICE", x, b.const([0, start, 0], types.shape), b.const([1, count, WIDTH], types.shape))


def clamp(b: Builder, x: Tensor, most: int = 50) -> Tensor:
    return b.op("CLAMP", x, min_val=-50, max_val=most, nan_mode="PROPAGATE")


def window(b: Builder, x: Tensor) -> None:
    """The newest five rows, of which each run adds one at the end."""
    declare(b, "v", 5)
    whole = b.op("CONCAT", [read(b, "v"), x], axis=1)
    write(b, "v", rows(b, whole, 1, 5))
    b.output(clamp(b, whole))


def window_the_other_way(b: Builder, x: Tensor) -> None:
    declare(b, "v", 5)
    whole = b.op("CONCAT", [clamp(b, x), read(b, "v")], axis=1)
    write(b, "v", rows(b, whole, 0, 5))
    b.output(clamp(b, whole, 3))


def swap(b: Builder, x: Tensor) -> None:
    """Each becomes what the other one was."""
    declare(b, "v", 1)
    declare(b, "w", 1, seed=1)
    v, w = read(b, "v"), read(b, "w")
    write(b, "v", w)
    write(b, "w", v)
    b.output(clamp(b, v, 2), clamp(b, x, 2))


def delays(b: Builder, x: Tensor) -> None:
    """x two runs late: what is written is read by nobody in the same run."""
    declare(b, "v", 1)
    declare(b, "w", 1, seed=1)
    b.output(read(b, "w"))
    write(b, "w", read(b, "v"))
    write(b, "v", x)


def one_window_in_another(b: Builder, x: Tensor) -> None:
    declare(b, "v", 3)
    declare(b, "w", 2, seed=1)
    whole = b.op("CONCAT", [read(b, "v"), read(b, "w"), x], axis=1)
    write(b, "v", rows(b, whole, 1, 3))
    write(b, "w", rows(b, whole, 4, 2))
    b.output(clamp(b, whole))


def written_twice(b: Builder, x: Tensor) -> None:
    """What is read behind a write was just written; the last write stays."""
    declare(b, "v", 1)
    b.output(read(b, "v"))
    write(b, "v", clamp(b, x, 4))
    between = read(b, "v")
    write(b, "v", clamp(b, between, 2))
    b.output(between, read(b, "v"))


def never_read(b: Builder, x: Tensor) -> None:
    declare(b, "v", 1)
    write(b, "v", clamp(b, x, 5))
    b.output(clamp(b, x, 6))


def never_written(b: Builder, x: Tensor) -> None:
    declare(b, "v", 1)
    declare(b, "constant", 1)
    b.output(clamp(b, read(b, "v")), clamp(b, x))
    write(b, "constant", b.const(np.full((1, 1, WIDTH), 3, np.int8)))


def input_and_output(b: Builder, x: Tensor) -> None:
    declare(b, "v", 1)
    b.output(read(b, "v"))
    write(b, "v", x)


CASES: list[Callable[[Builder, Tensor], None]] = [
    window, window_the_other_way, swap, delays, one_window_in_another, written_twice, never_read, never_written,
    input_and_output,
]  # fmt: skip


def graph_of(case: Callable[[Builder, Tensor], None]) -> Graph:
    b = Builder()
    case(b, b.input(types.i8, (1, 1, WIDTH), "x"))
    return b.graph()


def feed(value: int) -> dict[str, Array]:
    return {"x": np.arange(value, value + WIDTH, dtype=np.int8).reshape(1, 1, WIDTH)}


@pytest.fixture
def shares_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "WORTH_SHARING", 0.0)
    monkeypatch.setattr(workspace, "WORTH_WAKING", 0.0)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("shares_all")
def test_runs_give_what_the_oracle_does(case: Callable[[Builder, Tensor], None], threads: int) -> None:
    """Outputs and state after each of several runs; probed, plain and checked runs of one session take turns."""
    graph, variables = graph_of(case), Variables()
    session, checked = Session(graph, threads), Session(graph, threads, checked=True)
    for i in range(8):
        wanted = oracle.run(graph, feed(3 * i), variables=variables)
        seen: dict[str, bytes] = {}
        for found in (
            session.run(None, feed(3 * i), [Look(seen)] if i % 3 == 1 else None),
            checked.run(None, feed(3 * i)),
        ):
            for array, (name, expected) in zip(found, wanted.items(), strict=True):
                np.testing.assert_array_equal(array, expected, err_msg=f"{name} of run {i}")
        state = session.state()
        assert {name: v.data.tolist() for name, v in variables.held.items() if v.data is not None} == {
            name: array.tolist() for name, array in state.items()
        }
        assert {name: a.tolist() for name, a in checked.state().items()} == {n: a.tolist() for n, a in state.items()}


@pytest.mark.parametrize("case", CASES)
def test_probes_see_what_a_plan_without_rewrites_computes(case: Callable[[Builder, Tensor], None]) -> None:
    graph = graph_of(case)
    wanted, seen = unfused(graph, feed(7)), dict[str, bytes]()
    assert wanted is not None
    nodes: dict[str, str] = {}
    probes = [Look(seen), Probe(lambda node, tensor, array: nodes.update({tensor: node}), None)]
    Session(graph, 1).run(None, feed(7), probes)
    assert {name: seen[name] for name in seen if name != "x"} == wanted
    writers = {name: op.name for op in graph.main.operators for name in op.outputs}
    assert {name: node for name, node in nodes.items() if name != "x"} == {n: writers[n] for n in wanted}


@pytest.mark.parametrize("case", CASES)
def test_no_variable_needs_python(case: Callable[[Builder, Tensor], None]) -> None:
    session = Session(graph_of(case), 1)
    plan = session.plan()
    assert all(step.work is None for step in plan.steps if not step.calls[-1].spec.pure)
    assert "the variable v in the run's memory" in describe(plan)
    runs = [bound.run for bound in session._planner.prepared(frozenset()).borrow(1).main.steps]
    assert all(run is None or isinstance(run, (Chain, Loop)) for run in runs)


def test_a_window_is_a_move_in_place() -> None:
    """Neither reading nor putting together copies anything."""
    plan = Session(graph_of(window), 1).plan()
    assert [step.operators for step in plan.steps if step.work is not None] == ["CLAMP"]
    held = plan.held["v"]
    assert held.then is not None
    assert plan.roots[held.at] == plan.roots[held.then]
    assert plan.starts[held.then] - plan.starts.get(held.at, 0) == WIDTH


def test_a_variable_that_a_region_uses_stays_out_of_memory() -> None:
    b = Builder()
    declare(b, "v", 1)
    declare(b, "w", 1)
    then, other = b.region("then"), b.region("other")
    for region in (then, other):
        region.output(clamp(region, read(region, "v"), 1))
    b.output(*b.op("COND_IF", b.input(types.bool_, (1,), "yes"), [], then_graph="then", else_graph="other"))
    x = b.input(types.i8, (1, 1, WIDTH), "x")
    b.output(read(b, "w"))
    write(b, "w", x)
    write(b, "v", x)
    graph = b.graph()
    assert list(make_plan(expand(graph)).held) == ["w"]
    session, variables = Session(graph, 1), Variables()
    for i in range(4):
        feeds = feed(i) | {"yes": np.array([i % 2 == 0])}
        wanted = oracle.run(graph, feeds, variables=variables)
        for found, expected in zip(session.run(None, feeds), wanted.values(), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert {n: a.tolist() for n, a in session.state().items()} == {
            n: v.data.tolist() for n, v in variables.held.items() if v.data is not None
        }


def failing() -> Graph:
    """Writes first; the addition overflows for positive x."""
    b = Builder()
    x = b.input(types.i8, (1, 1, WIDTH), "x")
    declare(b, "v", 1)
    write(b, "v", clamp(b, x))
    b.output(b.op("ADD", b.op("CAST", x, dtype=types.i32), b.const([[[2**31 - 1]]], types.i32)), read(b, "v"))
    return b.graph()


def test_a_run_that_fails_or_is_interrupted_changes_nothing() -> None:
    session = Session(failing(), 1)
    with pytest.raises(RequireViolation):
        session.run(None, feed(1))
    assert session.state() == {}
    session.run(None, feed(-20))
    state = session.state()["v"].tolist()
    with pytest.raises(RequireViolation):
        session.run(None, feed(1))
    assert session.state()["v"].tolist() == state

    def stop(node: str, tensor: str, array: Array) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.run(None, feed(-30), [Probe(stop, None)])
    assert session.state()["v"].tolist() == state


def test_an_interrupt_during_the_walk_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python tells it when the compiled code has returned: nothing is written before."""
    session = Session(graph_of(window), 1)
    session.run(None, feed(1))
    state = session.state()["v"].tolist()
    run = Direct.run

    def interrupted(self: Direct, feeds: Mapping[str, Array]) -> list[Array]:
        run(self, feeds)
        raise KeyboardInterrupt

    monkeypatch.setattr(Direct, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.run(None, feed(2))
    assert session.state()["v"].tolist() == state


def test_restoring_resetting_and_copies() -> None:
    session = Session(graph_of(delays), 1)
    for value in (1, 2, 3):
        session.run(None, feed(value))
    state, twin = session.state(), copy.deepcopy(session)
    wanted = session.run(None, feed(4))[0].tolist()
    assert twin.run(None, feed(9))[0].tolist() == wanted == feed(2)["x"].tolist()
    session.restore(state)
    assert session.run(None, feed(5))[0].tolist() == wanted
    session.reset()
    assert session.state() == {}
    assert session.run(None, feed(5))[0].tolist() == Session(graph_of(delays)).run(None, feed(5))[0].tolist()


def test_threads_find_what_the_last_run_wrote() -> None:
    """Runs that come at once have memory of their own; each finds the value of the one before."""
    b = Builder()
    b.op("VARIABLE", name="n", var_shape=(1,), type=types.i8, initial_value=np.zeros(1, np.int8))
    one = b.op("SUB", b.op("CAST", b.op("VARIABLE_READ", name="n", dtype=types.i8), dtype=types.i32), [-1])
    one = b.op("CAST", one, dtype=types.i8)
    b.op("VARIABLE_WRITE", one, name="n")
    b.output(one)
    session, found = Session(b.graph(), 2), list[int]()
    barrier = threading.Barrier(3)

    def count() -> None:
        barrier.wait()
        found.extend(int(session.run(None, {})[0][0]) for _ in range(30))

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 91))


@pytest.mark.parametrize(("start", "target"), [(0, 64), (64, 0), (8, 0), (0, 3), (3, 0), (0, 0), (200, 0), (1, 90)])
def test_moves_of_bytes_that_overlap(start: int, target: int) -> None:
    memory = np.random.default_rng(0).integers(0, 255, 400).astype(np.uint8)
    wanted = memory.copy()
    wanted[target : target + 160] = memory[start : start + 160]
    chain = write_all([(memory[start : start + 160], memory[target : target + 160])])
    assert chain(0, 1, ()) == -1
    np.testing.assert_array_equal(memory, wanted)


def test_written_as_if_at_once() -> None:
    a, b, c = (np.full(5, value, np.int8) for value in (1, 2, 3))
    write_all([(a, b), (b, c), (c, a)])(0, 1, ())
    assert [int(array[0]) for array in (a, b, c)] == [3, 1, 2]
