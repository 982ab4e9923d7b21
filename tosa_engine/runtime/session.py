"""Running graphs: `Session`.

A session makes a plan for each set of probed tensors, and keeps it with its memory for later runs. Runs may come from
several threads at once: each has memory of its own. Where the graph has variables, runs wait for each other. Every
output element is computed by one unit of work in one order, so that the number of threads doesn't change a byte.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..check import nesting, validate
from ..errors import DataError, RequireViolation, TosaEngineError, Unsupported, UsageError, raise_all
from ..feeds import Closed, Gate, check_feeds, check_named, unsigned_borders
from ..graph import Graph
from ..load import load
from ..memory import allowed
from ..plan import Plan, Step, expand, make_plan
from ..plan.batch import in_part
from ..probe import Probe, name_of, select
from ..state import SessionVariables
from ..target import Target
from ..text import counted
from .batches import OtherBatches
from .deadline import limited
from .first import first_runs
from .planner import Planner
from .pool import Prepared
from .ports import Port, port_of
from .real import real, stored
from .team import Team
from .verdict import compare, violation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from ..graph import Tensor
    from ..probe import Watcher
    from ..types import Array, Shape
    from .blocks import Blocks
    from .first import FirstRuns
    from .plain import PlainRuns
    from .profile import Profile
    from .program import Program
    from .team import After
    from .workspace import Workspace

    Watched = tuple[Watcher, frozenset[str]]
    Walk = Callable[[Program, After], Step | None]

MOST_THREADS: Final = 16
DEEPEST: Final = 64  # regions in each other: each takes some of the frames that Python allows


class Session:
    """A graph, ready to run.

    Args:
        path_or_graph: a model file or its bytes (`tosa_engine.load`), or a graph; the graph isn't changed.
        threads: workers of one run, the caller's thread among them; None takes one per processor, 16 at most.
        target: what the graph is checked against; None accepts all profiles and extensions, at level 8K.
        checked: every operator is computed by its kernel, unfused, and by the oracle, which tests every REQUIRE; any
            difference (of floats: beyond rounding) is an internal error. Slow.
        max_memory: bytes that a run may take; None: those of `memory.limited`, else what the machine and the limits of
            this process leave when it plans. The graph is compared with it before weights are packed, the plan before
            its memory is allocated (DataError, RUN.memory).
        compiled: the first run waits until its kernels are compiled. Otherwise runs of integer graphs are computed
            without them, with the same bytes, until other processes have compiled them (`runtime.first`).
        time_limit: seconds that the steps of a run may take. A run looks at the clock several times a second and ends
            with TimeLimit, which names the operator that it had come to. Planning and compiling don't count.

    Raises:
        TosaEngineError: what `load` and `check.validate` find; UsageError for a wrong number of threads or seconds.
    """

    def __init__(
        self,
        path_or_graph: str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | Graph,
        threads: int | None = None,
        *,
        target: Target | None = None,
        checked: bool = False,
        max_memory: int | None = None,
        compiled: bool = False,
        time_limit: float | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise UsageError(f"threads must be at least 1, got {threads}")
        if time_limit is not None and not time_limit > 0:
            raise UsageError(f"time_limit must be more than 0 seconds, got {time_limit}")
        self.time_limit = time_limit
        self.threads = threads if threads is not None else min(_processors(), MOST_THREADS)
        self.checked, self.max_memory = checked, allowed() if max_memory is None else max_memory
        given = path_or_graph if isinstance(path_or_graph, Graph) else load(path_or_graph)
        validate(given, target)
        if nesting(given) > DEEPEST:
            deep = f"control flow nested {nesting(given)} deep, of which {DEEPEST} are run at most"
            raise Unsupported(deep, label="RUN.nesting")
        self.graph = expand(given)
        self._fed = list(self.graph.inputs)
        self._gate: Gate | Closed = Gate(self._fed)
        self._main = self.graph.regions[0].name
        unsigned = unsigned_borders(self.graph)
        self.inputs = [port_of(t, unsigned) for t in self._fed]
        self.outputs = [port_of(t, unsigned) for t in self.graph.outputs]
        self._names = [p.name for p in self.outputs]
        self._team = Team(self.threads)
        self._target = target
        self._level = (target or Target()).level
        self._planner = Planner(self.graph, self.threads, self._level, checked=checked, max_memory=self.max_memory)
        self._variables = SessionVariables()
        self._others: OtherBatches[Session] = OtherBatches(self._alike)
        self._direct: list[Blocks] = []  # the free ones of plain runs, once one has found that it is one walk
        plain = not compiled and not checked
        self._first = first_runs(self.graph, self.threads, self.max_memory) if plain else None
        self._stateful = any(op.op == "VARIABLE" for _, block in self.graph.blocks() for op in block.operators)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Array],
        probes: Sequence[Watcher] | None = None,
    ) -> list[Array]:
        """Outputs as new arrays, in the order of `output_names` (None or none: all, in the graph's order).

        Args:
            output_names: names of graph outputs.
            input_feed: one array per graph input, by name, in the port's dtype and shape; nothing is cast. In a graph
                whose samples don't meet, axis 0 of all inputs may have another number of them; so it has in outputs.
            probes: see `tosa_engine.probe`.

        Raises:
            DataError: inputs are missing, unknown, or of the wrong dtype, shape or range (all of them at once).
            UsageError: `output_names` or a probe names something that the graph doesn't have; the session is closed.
            RequireViolation: a REQUIRE doesn't hold for these inputs; the outputs would be unpredictable. Variables
                keep the values that they had before.
            TimeLimit: the run took longer than the session's `time_limit`. Variables keep their values, too, as after
                Ctrl-C, which ends a run within a second.
        """
        every = isinstance(output_names, list) and output_names == self._names
        names, free = None if every else output_names, self._direct
        if free and names is None and not probes:
            outputs = self._run_directly(free, input_feed)
            if outputs is not None:
                return outputs
        return self._run_prepared(names, input_feed, probes or ())

    def _run_prepared(
        self, names: Sequence[str] | None, feeds: Mapping[str, Array], probes: Sequence[Watcher]
    ) -> list[Array]:
        """Outputs, by the plan for what is watched, or without compiled kernels as long as there are none."""
        fine = names is None and self._gate.lets(feeds)
        wanted = self._wanted(names)
        if not fine:
            other = self._others.session(self.graph, feeds)
            if other is not None:
                return other.run(names, feeds, probes)
            self._check(wanted, feeds, self._fed)
        if probes or self.checked:
            found = self._run_watched(wanted, feeds, probes)
        else:
            runs = self._plain_runs(self._first) if self._first is not None else None
            if runs is not None:
                with limited(self.time_limit):
                    return runs.run(feeds, wanted)
            prepared = self._planner.plain
            found = self._run(prepared, wanted, feeds, ())
            if self._gate.is_open:
                self._direct = prepared.free_for_one_walk
        if found is None:
            raise self._violation(wanted, feeds)
        return found

    def _run_watched(
        self, wanted: list[str], feeds: Mapping[str, Array], probes: Sequence[Watcher]
    ) -> list[Array] | None:
        """Outputs of a run that probes look at, or that is checked; None where a REQUIRE failed."""
        watched = [(probe, select(probe.tensors, self.graph)) for probe in probes]
        everything = frozenset(self.graph.main.tensors) if self.checked else frozenset()
        keeps = frozenset[str]().union(*(names for one, names in watched if isinstance(one, Probe) and one.keeps))
        prepared = self._planner.prepared(everything.union(*(names for _, names in watched)), keeps)
        return self._run(prepared, wanted, feeds, watched)

    def _run_directly(self, free: list[Blocks], feeds: Mapping[str, Array]) -> list[Array] | None:
        """All outputs, by one walk of one worker in `free` memory; None without any, or where the feeds may not fit."""
        try:
            blocks = free.pop()
        except IndexError:  # another thread was faster
            return None
        try:
            direct = blocks.direct or blocks.directly(Gate(self._fed).forms, self._names)
            if direct is None:
                return None
            if self._stateful:
                return self._variables.during_run(blocks, direct.run, feeds)
            return direct.run(feeds)
        finally:
            free.append(blocks)

    @property
    def is_compiled(self) -> bool:
        """Whether runs use compiled kernels, or the next one will: it finds them on the disk, or compiles them."""
        return self._first is None or self._plain_runs(self._first) is None

    def _plain_runs(self, first: FirstRuns) -> PlainRuns | None:
        runs = first.runs(self._planner.get_code)
        if runs is None:
            self._first = None
        return runs

    def _run(
        self,
        prepared: Prepared,
        wanted: list[str],
        feeds: Mapping[str, Array],
        watched: Sequence[Watched],
        walk: Walk | None = None,
    ) -> list[Array] | None:
        """Outputs, computed part of the batch by part; None where a REQUIRE failed in one of several parts."""
        plan, walk = prepared.plan, walk or self._team.walk
        if plan.parts_in_parallel:
            return self._run_parts(prepared, wanted, feeds, ())
        blocks = prepared.borrow(self.threads)
        try:
            blocks.main.get_code()
            with limited(self.time_limit):
                if plan.parts > 1:
                    return self._run_in_turn(blocks.main, plan.parts, wanted, feeds, walk)
                if watched:
                    blocks.look = lambda region, its, step: self._look(region, its, step, watched)
                if self._stateful:
                    return self._variables.during_run(blocks, self._walked, blocks.main, wanted, feeds, watched, walk)
                return self._walked(blocks.main, wanted, feeds, watched, walk)
        finally:
            blocks.look = None
            prepared.give_back(blocks)

    def _walked(
        self,
        workspace: Workspace,
        wanted: list[str],
        feeds: Mapping[str, Array],
        watched: Sequence[Watched],
        walk: Walk,
    ) -> list[Array]:
        """The outputs of a run in this memory."""
        view = workspace.view
        for name, array in feeds.items():
            view(name)[...] = array
        if watched:
            self._look(self._main, workspace, None, watched)
        program = workspace.program
        failed = walk(program, lambda step: self._after(self._main, workspace, step, watched))
        if failed is not None:
            violation(workspace, failed)
        return [view(name).copy() for name in wanted]

    def _run_in_turn(
        self, workspace: Workspace, parts: int, wanted: list[str], feeds: Mapping[str, Array], walk: Walk
    ) -> list[Array] | None:
        """Outputs of the parts of the batch, one after the other; None where a REQUIRE failed."""
        ports = {port.name: port for port in self.outputs}
        found = [np.empty(ports[name].shape, ports[name].dtype) for name in wanted]
        for part in range(parts):
            for name, array in feeds.items():
                workspace.view(name)[...] = in_part(array, part, parts)
            if walk(workspace.program, lambda step: None) is not None:
                return None
            for name, array in zip(wanted, found, strict=True):
                in_part(array, part, parts)[...] = workspace.view(name)
        return found

    def run_real(self, names: Sequence[str] | None, feeds: Mapping[str, Array]) -> list[Array]:
        """`run` of a quantized network on real numbers: floats become the inputs' integers by their scales, rounded and
        saturated, and the outputs' integers float32. What isn't quantized (indices, truth values) stays as it is.

        `names` and `feeds` are those of `run`, but that floats have any width.

        Raises what `run` does, and DataError for floats for an integer input without a scale, and for NaN.
        """
        wanted = self._wanted(names)
        check_named(self._fed, feeds)
        found = self.run(wanted, stored(self.inputs, feeds))
        ports = {port.name: port for port in self.outputs}
        return [real(ports[name], array) for name, array in zip(wanted, found, strict=True)]

    def run_each(self, names: Sequence[str] | None, feeds: Mapping[str, Array]) -> list[Array]:
        """The outputs of several runs, as `run` gives them, one run after the other along a new axis 0.

        Where there are several threads, each does whole runs, in memory of its own; for networks too small to be worth
        sharing step by step this is faster. Where the graph has variables, runs follow each other.

        Args:
            feeds: one array per graph input, with an axis of the same length in front of the port's.

        Raises:
            TosaEngineError: what `run` raises, for the first of the runs where a REQUIRE doesn't hold.
        """
        wanted = self._wanted(names)
        check_named(self._fed, feeds)
        given: Mapping[str, Any] = feeds
        runs = next((len(a) for a in given.values() if isinstance(a, np.ndarray) and a.ndim), 1)
        self._check(wanted, feeds, [replace(t, shape=(runs, *(t.shape or ()))) for t in self._fed])
        alone = self.checked or self._stateful or not self.is_compiled or not (runs and self._fed)
        prepared = None if alone else self._planner.prepared(frozenset())
        if prepared is not None and prepared.is_compiled and self._planner.fit(prepared, runs):
            found = self._run_parts(prepared, wanted, feeds, (runs,))
            if found is not None:
                return found
        each = [self.run(wanted, {name: array[i] for name, array in feeds.items()}) for i in range(runs)]
        ports = {port.name: port for port in self.outputs}
        joined = [np.empty((runs, *ports[name].shape), ports[name].dtype) for name in wanted]
        for i, outputs in enumerate(each):
            for array, output in zip(joined, outputs, strict=True):
                array[i] = output
        return joined

    def profile(self, feeds: Mapping[str, Array] | None = None, *, seconds: float = 1.0) -> Profile:
        """How long each step of the plan takes, measured on one thread for so many seconds, compiled before.

        Args:
            feeds: as for `run`; None takes zeros. Variables keep the values that they had.

        Raises what `run` raises, and UsageError for a session that checks everything.
        """
        from .clock import Clock
        from .profile import measure

        self._gate.check()
        if self.checked:
            raise UsageError("a profile of a checked session would be one of its checks")
        session = Session(self.graph, 1, target=self._target, max_memory=self.max_memory, compiled=True)
        session.restore(self.state())
        given = {port.name: np.zeros(port.shape, port.dtype) for port in self.inputs} if feeds is None else feeds
        session.run(None, given)
        prepared, clock = session._planner.prepared(frozenset()), Clock()

        def clocked() -> None:
            if not session._gate.lets(given):
                session._check(session._names, given, session._fed)
            session._run(prepared, session._names, given, (), clock.walk)

        return measure(prepared.plan, clock, lambda: session.run(None, given), clocked, seconds)

    def _run_parts(
        self, prepared: Prepared, wanted: list[str], feeds: Mapping[str, Array], runs: Shape
    ) -> list[Array] | None:
        """Outputs, whose parts the workers share, of several `runs` along an axis in front. None: a REQUIRE failed."""
        ports = {port.name: port for port in self.outputs}
        found = {name: np.empty((*runs, *ports[name].shape), ports[name].dtype) for name in wanted}
        with prepared.borrowed_for_parts(self.threads) as memory, limited(self.time_limit):
            if not memory.run(self._team, math.prod(runs) * prepared.plan.parts, feeds, found):
                return None
        return [found[name] if name not in wanted[:i] else found[name].copy() for i, name in enumerate(wanted)]

    def get_inputs(self) -> list[Port]:
        """`inputs`, as users of ONNX Runtime ask for them."""
        return self.inputs

    def get_outputs(self) -> list[Port]:
        """`outputs`, as users of ONNX Runtime ask for them."""
        return self.outputs

    def close(self) -> None:
        """Give back plans and memory; later runs raise UsageError. Leaving a `with` block does this."""
        self._gate, self._direct = Closed(), []
        self._others.clear()
        self._planner.clear()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        sides = [
            ", ".join(f"{p.name} {p.tosa_type}{list(p.shape)}" for p in side) for side in (self.inputs, self.outputs)
        ]
        return f"<Session {sides[0] or 'nothing'} -> {sides[1]}, {counted(self.threads, 'thread')}>"

    def state(self) -> dict[str, Array]:
        """The values of the graph's variables that were written, by name, as new arrays (specification 2.17)."""
        return self._variables.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        """Give all variables the values of a `state()`; variables that it lacks are as before the first run.

        Raises:
            DataError: the graph declares no such variable, or one of another dtype or shape (all of them at once).
        """
        self._variables.restore(self.graph, state)

    def reset(self) -> None:
        """Forget all variables: the next run finds what the first one found."""
        self._variables.restore(self.graph, {})

    def plan(self, keep: frozenset[str] = frozenset()) -> Plan:
        """The plan of runs without probes, or of runs that probe `keep`. Raises UsageError when it is closed."""
        self._gate.check()
        return self._planner.prepared(keep).plan

    def _check(self, wanted: list[str], feeds: Mapping[str, Array], fed: Sequence[Tensor]) -> None:
        check_named(self._fed, feeds)
        unknown = [name for name in wanted if name not in self._names]
        if unknown:
            raise UsageError(f"unknown output: {', '.join(unknown)}; the graph's outputs: {', '.join(self._names)}")
        given: Mapping[str, Any] = feeds
        odd = {name: type(value).__name__ for name, value in given.items() if not isinstance(value, np.ndarray)}
        if odd:
            raise_all([DataError(f"wanted a numpy array, got {kind}", tensor=name) for name, kind in odd.items()])
        check_feeds(fed, feeds)

    def _wanted(self, names: Sequence[str] | None) -> list[str]:
        """Raises UsageError for a session that is closed."""
        self._gate.check()
        if isinstance(names, str):
            raise UsageError(f"names are a list of outputs, ['{names}']; got a str")
        return list(names) if names else self._names

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, by `copy` or for another process, has the graph, the settings and the variables, and plans anew."""
        settings = {"target": self._target, "checked": self.checked, "max_memory": self.max_memory}
        return _rebuilt, (self.graph, self.threads, settings | {"time_limit": self.time_limit}, self.state())

    def _alike(self, graph: Graph) -> Session:
        """A session with this one's settings."""
        return Session(
            graph, self.threads, target=self._target, checked=self.checked, max_memory=self.max_memory,
            compiled=self._first is None, time_limit=self.time_limit,
        )  # fmt: skip

    def _violation(self, wanted: list[str], feeds: Mapping[str, Array]) -> TosaEngineError:
        """What failed in a part, as it fails when all samples run at once."""
        plan = make_plan(self.graph.copy(), level=self._level)
        try:
            self._run(Prepared(plan, violation), wanted, feeds, ())
        except RequireViolation as found:
            return found
        return TosaEngineError("a REQUIRE failed in a part of the batch, none in the whole", label="RUN.disagree")

    def _after(self, main: str, workspace: Workspace, step: Step, watched: Sequence[Watched]) -> None:
        """What happens behind a step of the main block: checks and probes."""
        if self.checked:
            compare(workspace, step)
        self._look(main, workspace, step, watched)

    def _look(self, region: str, workspace: Workspace, step: Step | None, watched: Sequence[Watched]) -> None:
        """Show probes what a step of a region wrote; None stands for the start."""
        for probe, names in watched:
            for node, tensor in workspace.written_by(step):
                name = name_of(self.graph, region, tensor)
                if name in names:
                    value = workspace.view(tensor).copy()
                    value.flags.writeable = False
                    probe(node, name, value)


def _rebuilt(graph: Graph, threads: int, settings: Mapping[str, Any], state: Mapping[str, Array]) -> Session:
    session = Session(graph, threads, **settings)
    session.restore(state)
    return session


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
