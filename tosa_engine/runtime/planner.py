"""The plans of a session: one for each set of tensors that is looked at, with the memory of its runs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..plan import make_plan
from .batch_parallel import plan_in_parts
from .memory import before_planning, of_plan
from .pool import Prepared
from .verdict import compare, violation

if TYPE_CHECKING:
    from ..graph import Graph
    from ..plan import Plan
    from ..target import Level

PLANS: Final = 4  # kept, by the set of probed tensors


class Planner:
    """Plans of a legal, expanded graph. Threads may ask at once."""

    def __init__(self, graph: Graph, threads: int, level: Level, *, checked: bool, max_memory: int | None) -> None:
        self.graph, self.threads, self.level = graph, threads, level
        self.checked, self.max_memory = checked, max_memory
        self._plans: OrderedDict[frozenset[str], Prepared] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def plain(self) -> Prepared:
        """The plan of runs that nobody looks at."""
        return self.prepared(frozenset())

    def prepared(self, keep: frozenset[str], kept: frozenset[str] = frozenset()) -> Prepared:
        """The plan that stores `keep`, of which probes hold on to those of `kept`, with its memory."""
        with self._lock:
            if keep not in self._plans:
                self._plans[keep] = Prepared(self._plan(keep, kept), violation, compare if self.checked else None)
                while len(self._plans) > PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(keep)
            return self._plans[keep]

    def _plan(self, keep: frozenset[str], kept: frozenset[str]) -> Plan:
        need = before_planning(self.graph, kept, self.threads)
        need.check(self.max_memory)
        graph = self.graph.copy()  # a plan records folded constants in its graph
        if keep or self.checked:
            plan = make_plan(graph, keep, optimise=not self.checked, level=self.level)
        else:
            plan = plan_in_parts(
                graph, self.level, self.threads, lambda plan: of_plan(need, self.graph, plan).fits(self.max_memory)
            )
        of_plan(need, self.graph, plan).check(self.max_memory)
        return plan

    def clear(self) -> None:
        """Forget all plans and their memory."""
        with self._lock:
            self._plans.clear()
            self.__dict__.pop("plain", None)

    def fit(self, prepared: Prepared, runs: int) -> bool:
        """Whether so many runs at once fit into memory."""

        def fit(runs: int) -> bool:
            need = before_planning(self.graph, (), self.threads)
            return of_plan(need, self.graph, prepared.plan, in_parallel=True, runs=runs).fits(self.max_memory)

        return prepared.lets_together(runs, fit)

    def get_code(self) -> None:
        """All code that runs without probes call."""
        prepared = self.plain
        if prepared.plan.parts_in_parallel:
            from ..kernels.walk import parts

            parts.warm_up()
            with prepared.borrowed_for_parts(self.threads):
                pass  # its programs are made
        else:
            blocks = prepared.borrow(self.threads)
            blocks.main.get_code()
            prepared.give_back(blocks)
        if self.threads > 1:
            from ..kernels.walk import mailbox

            mailbox.warm_up()
