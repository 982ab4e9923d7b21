"""Operators that may follow any other: the step that computes their input changes it where it lies.

These are the kernels with `in_place`: TABLE of 256 entries, and of 513 with the RESCALE to int16 behind it. The
producer is any step whose REQUIREs are proved to hold, but for those that only move elements: `memory.views` and
`memory.sharing` may leave them out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ...kernels import then_in_place
from ...kernels.work import Effect
from ...spec.traits import Memory
from ..memory.liveness import bytes_of
from ..memory.views import view_of
from ..single import is_known, kernel_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...graph import Block
    from ...ranges import Analysis
    from ..steps import Step

MOST = 64  # operators of a step that is followed, and RESHAPEs between: files may have thousands


def join_in_place(steps: list[Step], block: Block, keep: Collection[str], analysis: Analysis) -> list[Step]:
    """The steps, and fewer of them where one is the only reader of what another has computed, and may overwrite it."""
    readers = Counter(name for step in steps for name in step.inputs)
    fixed = {*keep, *block.outputs}
    writers = {name: step for step in steps for name in step.outputs}
    found = {id(step): step for step in steps}

    def before(name: str) -> list[Step]:
        """The step that computes a tensor, and the RESHAPEs behind it; none where somebody else wants them."""
        reshapes: list[Step] = []
        while len(reshapes) < MOST:
            step = writers.get(name)
            if step is None or name in fixed or readers[name] != 1:
                break
            if step.operators != "RESHAPE" or step.work is not None:
                return [step, *reversed(reshapes)] if can_go_on(step, analysis) else []
            reshapes.append(step)
            name = step.inputs[0]
        return []

    for step in steps:
        chain = before(step.inputs[0]) if overwrites(step, block) else []
        if chain:
            first = chain[0]
            assert first.work is not None
            assert step.work is not None
            shape = block.tensors[first.output].shape or ()
            calls = tuple(call for one in (*chain, step) for call in one.calls)
            merged = replace(first, calls=calls, outputs=step.outputs, work=then_in_place(first.work, step.work, shape))
            for one in (*chain, step):
                found.pop(id(one), None)
            found[id(merged)] = writers[merged.output] = merged
    position = {id(call): i for i, call in enumerate(call for step in steps for call in step.calls)}
    return sorted(found.values(), key=lambda step: position[id(step.calls[-1])])


def overwrites(step: Step, block: Block) -> bool:
    """Whether a step may follow another one, and overwrite its input."""
    if not kernel_of(step.calls[0]).in_place or step.work is None or step.work.overwritable != (0,):
        return False
    return bytes_of(block, step.inputs[0]) == bytes_of(block, step.output)


def can_go_on(step: Step, analysis: Analysis) -> bool:
    """Whether a step computes one tensor, and can't fail."""
    if step.work is None or isinstance(step.work, Effect) or len(step.outputs) != 1 or len(step.calls) > MOST:
        return False
    call = step.calls[0]
    if len(step.calls) > 1:  # fused: proved
        return True
    moves = view_of(call) is not None or call.spec.traits.memory is Memory.PARTS
    known = call.spec.pure and is_known(call)
    return known and not moves and (not call.spec.requires or analysis.proved(call))
