"""Running graphs: `Session`.

Worker threads walk the plan's steps together and share the units of each large step; small steps belong to the first
worker, which is the caller's thread. A barrier stands before a step whenever its inputs, or the memory of its output,
may still be in use by another worker. Since every output element is computed by one unit in one order, the number of
threads doesn't change a byte.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .check import validate
from .errors import DataError, TosaEngineError, UsageError, raise_all
from .graph import Graph
from .kernels.work import DONE, aligned
from .plan import Plan, Step, expand, make_plan
from .probe import select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .graph import Tensor
    from .probe import Watcher
    from .target import Target
    from .types import Array, DType, Shape

MOST_THREADS: Final = 16
PLANS: Final = 4  # kept, by the set of probed tensors
SMALL: Final = 200_000.0  # cost of a step that isn't worth sharing


@dataclass(frozen=True)
class Port:
    """A graph input or output: `dtype` is the numpy dtype of its arrays, `tosa_type` the number format."""

    name: str
    shape: Shape
    dtype: np.dtype[Any]
    tosa_type: DType


class Session:
    """A graph, ready to run.

    Args:
        path_or_graph: a model file (`tosa_engine.load`) or a graph; the graph isn't changed.
        threads: workers of one run, the caller's thread among them; None takes one per processor, 16 at most.
        target: what the graph is checked against; None accepts all profiles and extensions, at level 8K.
        checked: every operator is computed by its kernel, unfused, and by the oracle, which tests every REQUIRE; any
            difference (of floats: beyond rounding) is an internal error. Slow.

    Raises:
        TosaEngineError: what `load` and `check.validate` find; UsageError for a wrong number of threads.
    """

    def __init__(
        self,
        path_or_graph: str | os.PathLike[str] | Graph,
        threads: int | None = None,
        *,
        target: Target | None = None,
        checked: bool = False,
    ) -> None:
        if threads is not None and threads < 1:
            raise UsageError(f"threads must be at least 1, got {threads}")
        self.threads = threads if threads is not None else min(_processors(), MOST_THREADS)
        self.checked = checked
        given = path_or_graph if isinstance(path_or_graph, Graph) else _load(path_or_graph)
        validate(given, target)
        self.graph = expand(given)
        self.inputs = [_port(t) for t in self.graph.inputs]
        self.outputs = [_port(t) for t in self.graph.outputs]
        self._plans: OrderedDict[frozenset[str], _Prepared] = OrderedDict()
        self._lock = threading.Lock()
        self._team = _Team(self.threads)

    def run(
        self, names: Sequence[str] | None, feeds: Mapping[str, Array], probes: Sequence[Watcher] | None = None
    ) -> list[Array]:
        """Outputs as new arrays, in the order of `names` (None: all, in the graph's order).

        Args:
            names: names of graph outputs.
            feeds: one array per graph input, by name, in the port's dtype and shape; nothing is cast.
            probes: see `tosa_engine.probe`.

        Raises:
            DataError: inputs are missing, unknown, or of the wrong dtype, shape or range (all of them at once).
            UsageError: `names` or a probe names something that the graph doesn't have.
            RequireViolation: a REQUIRE doesn't hold for these inputs; the outputs would be unpredictable.
        """
        wanted = [p.name for p in self.outputs] if names is None else list(names)
        self._check(wanted, feeds)
        watched = [(probe, select(probe.tensors, self.graph.main)) for probe in probes or ()]
        everything = frozenset(self.graph.main.tensors) if self.checked else frozenset()
        prepared = self._prepared(everything.union(*(names for _, names in watched)))
        workspace = prepared.borrow(self.threads)
        try:
            for name, array in feeds.items():
                np.copyto(workspace.view(name), array)
            workspace.execute(self._team, lambda step: self._after(step, workspace, watched))
            return [workspace.view(name).copy() for name in wanted]
        finally:
            prepared.give_back(workspace)

    def plan(self, keep: frozenset[str] = frozenset()) -> Plan:
        """The plan of runs without probes, or of runs that probe `keep`."""
        return self._prepared(keep).plan

    def _check(self, wanted: list[str], feeds: Mapping[str, Array]) -> None:
        from .oracle import check_feeds

        known = [p.name for p in self.outputs]
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise UsageError(f"unknown output: {', '.join(unknown)}; the graph's outputs: {', '.join(known)}")
        odd = [n for n, a in feeds.items() if not isinstance(a, np.ndarray)]
        raise_all([DataError(f"wanted a numpy array, got {type(feeds[n]).__name__}", tensor=n) for n in odd])
        check_feeds({t.name: t for t in self.graph.inputs}, feeds)

    def _prepared(self, keep: frozenset[str]) -> _Prepared:
        with self._lock:
            if keep not in self._plans:
                graph = self.graph.copy()  # a plan records folded constants in its graph
                self._plans[keep] = _Prepared(make_plan(graph, keep, optimise=not self.checked))
                while len(self._plans) > PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(keep)
            return self._plans[keep]

    def _after(self, step: Step | None, workspace: _Workspace, watched: list[tuple[Watcher, frozenset[str]]]) -> None:
        """What happens between steps: probes and checks; None stands for the start."""
        if step is not None and self.checked:
            workspace.compare(step)
        for probe, names in watched:
            for node, tensor in workspace.plan_writes(step):
                if tensor in names:
                    value = workspace.view(tensor).copy()
                    value.flags.writeable = False
                    probe(node, tensor, value)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load(path: str | os.PathLike[str]) -> Graph:
    from .load import load

    return load(path)


def _port(tensor: Tensor) -> Port:
    assert tensor.shape is not None
    return Port(tensor.name, tensor.shape, tensor.dtype.storage, tensor.dtype)


class _Prepared:
    """A plan with the workspaces of past runs, for runs that come at the same time."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._free: list[_Workspace] = []
        self._lock = threading.Lock()

    def borrow(self, workers: int) -> _Workspace:
        with self._lock:
            if self._free:
                return self._free.pop()
        return _Workspace(self.plan, workers)

    def give_back(self, workspace: _Workspace) -> None:
        with self._lock:
            self._free.append(workspace)


@dataclass(frozen=True)
class _Bound:
    """A step bound to memory: what runs, in how many units, on which scratch of each worker."""

    step: Step
    run: Callable[[int, int, Sequence[Array]], int] | None
    units: int
    shared: bool
    scratch: tuple[tuple[Array, ...], ...]


class _Workspace:
    """The memory of one run at a time: the arena, each worker's scratch, and the steps bound to them."""

    def __init__(self, plan: Plan, workers: int) -> None:
        self.plan = plan
        self._memory = aligned(plan.arena.size, np.uint8)
        self._views: dict[str, Array] = {}
        most = max((_bytes(s) for s in plan.steps), default=0)
        scratch = [aligned(most, np.uint8) for _ in range(workers)]
        self.steps = [self._bind(step, scratch) for step in plan.steps]
        self._writes = {id(step): [(c.operator.name, n) for c in step.calls for n in c.operator.outputs] for step in plan.steps}
        written = {n for pairs in self._writes.values() for _, n in pairs}
        writer = {n: op.name for op in plan.block.operators for n in op.outputs}
        self._early = [(writer.get(n, ""), n) for n in plan.block.tensors if n not in written and self._known(n)]

    def _known(self, name: str) -> bool:
        root = self.plan.roots[name]
        return root in self.plan.constants or root in self.plan.arena.offsets

    def view(self, name: str) -> Array:
        """The array of a tensor, in the arena or a constant."""
        if name not in self._views:
            tensor = self.plan.block.tensors[name]
            root, shape = self.plan.roots[name], tensor.shape
            assert shape is not None
            if root in self.plan.constants:
                self._views[name] = self.plan.constants[root].reshape(shape)
            else:
                start = self.plan.arena.offsets[root]
                size = tensor.size * tensor.dtype.storage.itemsize
                self._views[name] = self._memory[start : start + size].view(tensor.dtype.storage).reshape(shape)
        return self._views[name]

    def _bind(self, step: Step, scratch: list[Array]) -> _Bound:
        work = step.work
        if work is None:
            return _Bound(step, None, 0, shared=False, scratch=())
        run = work.bind([self.view(n) for n in step.inputs], [self.view(step.output)])
        shared = work.units > 1 and work.cost >= SMALL
        return _Bound(step, run, work.units, shared, tuple(_carve(step, memory) for memory in scratch))

    def plan_writes(self, step: Step | None) -> list[tuple[str, str]]:
        """(node, tensor) that are known after a step: kept ones among its operators' outputs; at the start the rest."""
        if step is None:
            return self._early
        return [(node, name) for node, name in self._writes[id(step)] if name in self.plan.keep]

    def execute(self, team: _Team, after: Callable[[Step | None], None]) -> None:
        failed = team.walk(self.steps, self.plan.keep, after)
        if failed is not None:
            self._verdict(failed)

    def _arguments(self, step: Step) -> dict[str, Any]:
        (call,) = step.calls
        found: dict[str, Any] = {}
        for argument in call.spec.inputs:
            tensors = call.tensors[argument.name]
            found[argument.name] = (
                [self.view(t.name) for t in tensors] if isinstance(tensors, list) else self.view(tensors.name)
            )
        return found

    def _verdict(self, step: Step) -> None:
        """A kernel saw a REQUIRE fail: the oracle says which one, where and with which values."""
        from .oracle import run_operator

        run_operator(step.calls[0], self._arguments(step))
        message = f"the kernel of {step.operators} saw a REQUIRE fail, the oracle none"
        raise TosaEngineError(message, label="RUN.disagree", node=step.name, tensor=step.output)

    def compare(self, step: Step) -> None:
        """Compute the operator with the oracle too."""
        from .oracle import run_operator

        (wanted,) = run_operator(step.calls[0], self._arguments(step))
        got = self.view(step.output)
        if _same(got, wanted):
            return
        where = tuple(int(i) for i in np.argwhere(got != wanted)[0])
        message = f"kernel and oracle of {step.operators} differ at {list(where)}: {got[where]} and {wanted[where]}"
        raise TosaEngineError(message, label="RUN.disagree", node=step.name, tensor=step.output)


def _same(got: Array, wanted: Array) -> bool:
    """Equal, or for floats close: the oracle adds up in float64, the kernels in float32."""
    if got.dtype.kind != "f":
        return bool(np.array_equal(got, wanted))
    finite = np.abs(wanted[np.isfinite(wanted)])
    room = 1e-4 * float(finite.max(initial=0.0))
    return bool(np.allclose(got, wanted, rtol=1e-4, atol=room, equal_nan=True))


def _bytes(step: Step) -> int:
    work = step.work
    return 0 if work is None else sum(-(-count * dtype.itemsize // 64) * 64 for dtype, count in work.scratch)


def _carve(step: Step, memory: Array) -> tuple[Array, ...]:
    assert step.work is not None
    found: list[Array] = []
    at = 0
    for dtype, count in step.work.scratch:
        size = count * dtype.itemsize
        found.append(memory[at : at + size].view(dtype))
        at += -(-size // 64) * 64
    return tuple(found)


class _Team:
    """The workers of a session. A run that finds them busy runs alone, with the same bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def walk(
        self, steps: Sequence[_Bound], keep: frozenset[str], after: Callable[[Step | None], None]
    ) -> Step | None:
        """Run all steps. The step whose kernel saw a REQUIRE fail, or None. Errors of any worker are raised."""
        from .kernels import _jit

        after(None)
        team = self.threads > 1 and _jit.JIT and any(s.shared for s in steps) and self._busy.acquire(blocking=False)
        if not team:
            return _alone(steps, keep, after)
        try:
            return self._together(steps, keep, after)
        finally:
            self._busy.release()

    def _together(
        self, steps: Sequence[_Bound], keep: frozenset[str], after: Callable[[Step | None], None]
    ) -> Step | None:
        from .kernels import barrier

        if self._pool is None:
            barrier.warm_up()
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="tosa_engine")
        walk = _Walk(steps, keep, after, self.threads, barrier.new())
        others = [self._pool.submit(walk.work, worker) for worker in range(1, self.threads)]
        try:
            walk.work(0)
        finally:
            for other in others:
                other.exception()  # waits; after an error of this thread the state's abort flag ends the others
        for other in others:
            other.result()
        return min(walk.failed, key=lambda found: found[0])[1] if walk.failed else None


def _alone(steps: Sequence[_Bound], keep: frozenset[str], after: Callable[[Step | None], None]) -> Step | None:
    for bound in steps:
        if bound.run is not None and bound.run(0, bound.units, bound.scratch[0]) != DONE:
            return bound.step
        after(bound.step)
    return None


class _Walk:
    """One run by several workers."""

    def __init__(
        self,
        steps: Sequence[_Bound],
        keep: frozenset[str],
        after: Callable[[Step | None], None],
        workers: int,
        state: Array,
    ) -> None:
        self.steps, self.keep, self.after, self.workers, self.state = steps, keep, after, workers, state
        self.failed: list[tuple[int, Step]] = []

    def work(self, worker: int) -> None:
        from .kernels import barrier

        finished = False
        try:
            finished = self._steps(worker)
        finally:
            if not finished:
                barrier.abort(self.state)

    def _steps(self, worker: int) -> bool:
        """Walk the steps; False when this worker, or another one, had to stop."""
        from .kernels import barrier

        fenced = True  # nothing ran since the last barrier
        for i, bound in enumerate(self.steps):
            if bound.run is None:
                if worker == 0:
                    self.after(bound.step)
                continue
            if bound.shared:
                if not fenced and not barrier.wait(self.state, self.workers):
                    return False
                low, high = bound.units * worker // self.workers, bound.units * (worker + 1) // self.workers
                status = bound.run(low, high, bound.scratch[worker]) if low < high else DONE
            else:
                status = bound.run(0, bound.units, bound.scratch[0]) if worker == 0 else DONE
            fenced = False
            if status != DONE:
                self.failed.append((i, bound.step))
                return False
            if bound.shared:
                if not barrier.wait(self.state, self.workers):
                    return False
                fenced = True
            if worker == 0:
                self.after(bound.step)
        return True
