"""Fusion: operators that a kernel computes together become one step.

Kernels say in which patterns they can (`kernels.forms`). A form is taken only where it is proved that no REQUIRE of a
fused operator can fail, when nobody else reads the tensors in between, and none of them is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...kernels import FORMS
from ..single import row_of, single
from .patterns import Neighbours

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...ranges import Analysis
    from ...spec.table import Call
    from ...target import Level
    from ..steps import Step


def fuse(calls: list[Call], fixed: Collection[str], analysis: Analysis, level: Level | None) -> list[Step]:
    """The steps of a block: those of forms, and one for each operator that is in none of them.

    Each stands where the operator is that ends it, or that begins it where it has several outputs: readers of one of
    these may come before the operators that make the others.
    """
    neighbours = Neighbours(calls, fixed, analysis)
    position = {id(call): i for i, call in enumerate(calls)}
    found: dict[int, Step] = {}
    taken: set[int] = set()
    for last in (False, True):  # larger forms first
        for call in calls:
            step = None if id(call) in taken else _fused(call, neighbours, taken, last=last)
            if step is not None:
                own = {id(c): position[id(c)] for c in step.calls}
                taken.update(own)
                found[max(own.values()) if len(step.outputs) == 1 else min(own.values())] = step
    found |= {i: single(call, level) for i, call in enumerate(calls) if id(call) not in taken}
    return [step for _, step in sorted(found.items())]


def _fused(call: Call, neighbours: Neighbours, taken: Collection[int], *, last: bool) -> Step | None:
    """The step of the first form that can do with what stands around the operator, and is in no other step."""
    for form in FORMS[row_of(call)]:
        for match, step in neighbours.matches(form, call) if form.last == last else ():
            free = not any(id(one) in taken for one in step.calls)
            work = form.prepare(match) if free else None
            if work is not None:
                return replace(step, work=work)
    return None
