"""Running every step of a plan once on zeros, so that its kernels are compiled, or read from the disk, before they are
needed: regions whether or not control flow would reach them, and no operator that does more than computing its outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernels.work import Effect
from .workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..plan.steps import Plan, Step


def rehearse(plan: Plan, begin: Callable[[Step], None]) -> None:
    """Call `begin` with each step, then run it. A REQUIRE that zeros violate stops nothing: the kernel has run."""
    if plan.apart:
        from ..kernels.walk import parts as walk_parts

        walk_parts.warm_up()
    for part in (plan, *plan.regions.values()):
        for bound in Workspace(part, 1).steps:
            if bound.run is not None and not isinstance(bound.step.work, Effect):
                begin(bound.step)
                bound.run(0, bound.units, bound.scratch[0])


def steps_to_run(plan: Plan) -> int:
    """How many steps `rehearse` runs."""
    every = [step.work for part in (plan, *plan.regions.values()) for step in part.steps]
    return sum(work is not None and not isinstance(work, Effect) for work in every)
