"""The variables of a graph (specification 2.17): what outlives a run. Arrays are replaced, never changed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from .errors import DataError, UsageError, raise_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .graph import Graph
    from .types import Array, DType, Shape


P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Variable:
    """A variable that was declared: `data` is None until it is written."""

    dtype: DType
    shape: Shape
    data: Array | None = None


class Variables:
    """The variables during one run of a graph.

    `declared` holds what the run has declared so far. `seen` is the same for the region that began last: a variable
    may be declared again in every execution of a region, as long as it stays the same one.
    """

    def __init__(self, held: Mapping[str, Variable] | None = None) -> None:
        self.held: dict[str, Variable] = dict(held or {})
        self.declared: set[str] = set()
        self.seen: set[str] = set()

    def begin_run(self) -> None:
        self.declared.clear()
        self.seen.clear()

    def begin_region(self) -> None:
        self.seen.clear()

    def declare(self, name: str, variable: Variable) -> None:
        """Set up a variable unless an earlier run did."""
        self.held.setdefault(name, variable)
        self.declared.add(name)
        self.seen.add(name)

    def write(self, name: str, data: Array) -> None:
        old = self.held[name]
        self.held[name] = Variable(old.dtype, old.shape, data)


class Keeper(Protocol):
    """The memory of a run with variables in it, which `held` loads and tells; `variables` are all others."""

    variables: Variables

    @property
    def held(self) -> HeldInMemory: ...


class HeldInMemory(Protocol):
    """`complete`: a run touches no other variables."""

    complete: bool

    def load(self, values: Mapping[str, Variable]) -> None: ...
    def values(self) -> dict[str, Variable]: ...
    def end_run(self) -> None: ...


class SessionVariables:
    """The variables of a session, between its runs and during one.

    Those that lie in the memory of a run stay there after it: the next run in the same memory finds them.
    """

    def __init__(self) -> None:
        self._held: dict[str, Variable] = {}
        self._keeper: Keeper | None = None  # has newer values of those in its memory
        self._lock = threading.RLock()
        self._running = False

    def during_run(self, keeper: Keeper, run: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
        """What the run gives. The variables are lent to one at a time; one that fails leaves them as they were, and so
        does one that gives None, since it didn't run.
        """
        with self._lock:
            if self._running:
                raise UsageError("a probe can't run a graph with variables inside of a run of the same session")
            self._running = True
            try:
                if self._keeper is not keeper:
                    self._collect()
                    keeper.held.load(self._held)
                if not keeper.held.complete:
                    keeper.variables = Variables(self._held)
                found = run(*given, **named)
                if found is not None:
                    keeper.held.end_run()
                if not keeper.held.complete:
                    self._held = keeper.variables.held
                self._keeper = keeper
                return found
            finally:
                self._running = False

    def _collect(self) -> None:
        """What lies in the memory of a run is held here, too."""
        if self._keeper is not None:
            self._held, self._keeper = self._held | self._keeper.held.values(), None

    def state(self) -> dict[str, Array]:
        with self._lock:
            held = self._held | (self._keeper.held.values() if self._keeper is not None else {})
            return {name: v.data.copy() for name, v in held.items() if v.data is not None}

    def restore(self, graph: Graph, state: Mapping[str, Array]) -> None:
        declared = {
            op.attributes["name"]: Variable(op.attributes["type"], op.attributes["var_shape"])
            for _, block in graph.blocks()
            for op in block.operators
            if op.op == "VARIABLE"
        }
        problems: list[DataError] = []
        for name, array in state.items():
            wanted = declared.get(name)
            if wanted is None:
                known = ", ".join(declared) or "none"
                problems.append(DataError(f"unknown variable '{name}'; the graph's variables: {known}"))
            elif array.dtype != wanted.dtype.storage or array.shape != wanted.shape:
                shown = f"{wanted.dtype.storage}{list(wanted.shape)}, got {array.dtype}{list(array.shape)}"
                problems.append(DataError(f"variable '{name}': wanted {shown}"))
        raise_all(problems)
        with self._lock:
            self._keeper = None
            self._held = {
                name: Variable(declared[name].dtype, array.shape, array.copy()) for name, array in state.items()
            }
