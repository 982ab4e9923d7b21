"""Running every step of a plan once on zeros, so that its kernels are compiled, or read from the disk, before they are
needed: regions whether or not control flow would reach them, and no operator that does more than computing its outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernels.work import Effect
from .blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..plan.steps import Plan, Step


def warm_up(plan: Plan, begin: Callable[[Step], None]) -> None:
    """Call `begin` with each step, then run it. A REQUIRE that zeros violate stops nothing: the kernel has run."""
    if plan.parts_in_parallel:
        from ..kernels.walk import parts

        parts.warm_up()
    blocks = Blocks(plan, 1)
    for workspace in (blocks.main, *(blocks.workspace(name) for name in plan.regions)):
        for bound in workspace.steps:
            if bound.run is not None and not isinstance(bound.step.work, Effect):
                begin(bound.step)
                bound.run(0, bound.units, bound.scratch[0])


def steps_to_run(plan: Plan) -> int:
    """How many steps `warm_up` runs."""
    every = [step.work for part in (plan, *plan.regions.values()) for step in part.steps]
    return sum(work is not None and not isinstance(work, Effect) for work in every)
