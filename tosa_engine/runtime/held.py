"""The variables that lie in the memory of a block: what they hold between runs, and the end of a run, which writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernels.variable import write_all
from ..kernels.work import Effect
from ..plan.steps import Step
from ..state import Variable
from .bound import Bound
from .program import Program
from .team import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..plan.steps import Plan
    from ..types import Array


class HeldVariables:
    """The variables of a plan in the memory of its main block, whose tensors `view` shows. They begin with their
    initial values.
    """

    def __init__(self, plan: Plan, view: Callable[[str], Array]) -> None:
        self._plan = plan
        self.complete = not any(isinstance(step.work, Effect) for step in plan.steps)
        self._at = {name: view(held.at) for name, held in plan.held.items()}
        then = {name: view(held.then) for name, held in plan.held.items() if held.then not in (None, held.at)}
        writes = write_all([(value, self._at[name]) for name, value in then.items()])
        bound = Bound(Step((), (), (), None), writes, 1, shared=False, scratch=((),))
        self._writes = Program([bound] if then else [], 1, frozenset())
        self._walk = self._writes.walk if self._writes.is_span else None
        self.load({})

    def load(self, values: Mapping[str, Variable]) -> None:
        """Give them these values; those that are missing hold their initial ones."""
        for name, held in self._plan.held.items():
            known = values.get(name)
            self._at[name][...] = held.initial if known is None or known.data is None else known.data

    def values(self) -> dict[str, Variable]:
        return {
            name: Variable(held.dtype, self._at[name].shape, self._at[name].copy())
            for name, held in self._plan.held.items()
        }

    def end_run(self) -> None:
        """The run has ended well: they hold what was written."""
        if self._walk is not None:
            self._walk(*self._writes.alone)
        elif self._writes.parts:
            walk(self._writes, _nothing)


def _nothing(step: Step) -> None:
    """Nobody looks at what is written."""
