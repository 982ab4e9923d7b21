"""The variables of a graph (specification 2.17): what outlives a run. Arrays are replaced, never changed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .errors import DataError, UsageError, raise_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .graph import Graph
    from .types import Array, DType, Shape


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


class _Around(Protocol):
    variables: Variables


class SessionVariables:
    """The variables of a session, between its runs and during one."""

    def __init__(self) -> None:
        self._held: dict[str, Variable] = {}
        self._lock = threading.RLock()
        self._running = False

    @contextmanager
    def during_run(self, around: _Around) -> Iterator[None]:
        """Lend the variables to one run at a time. A run that fails leaves them as they were."""
        with self._lock:
            if self._running:
                raise UsageError("a probe can't run a graph with variables inside of a run of the same session")
            self._running, around.variables = True, Variables(self._held)
            try:
                yield
                self._held = around.variables.held
            finally:
                self._running = False

    def state(self) -> dict[str, Array]:
        with self._lock:
            return {name: v.data.copy() for name, v in self._held.items() if v.data is not None}

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
            self._held = {
                name: Variable(declared[name].dtype, array.shape, array.copy()) for name, array in state.items()
            }
