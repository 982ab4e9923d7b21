"""TABLE behind any producer: the step that computes its input looks the results up where they lie.

That is a TABLE of 256 entries, and one of 513 with the RESCALE to int16 behind it. The producer is any step whose
REQUIREs are proved to hold, but for those that only move elements: `moves` and `sharing` may leave them out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ...kernels import KERNELS
from ...kernels.in_place import followed
from ...kernels.work import Effect
from ..memory.liveness import bytes_of
from ..memory.views import view_of
from .dynamic_constants import unknown

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...graph import Block
    from ...ranges import Analysis
    from ..steps import Step

MOST = 64  # operators of a step that takes a TABLE, and RESHAPEs between: files may have thousands


def with_tables(steps: list[Step], block: Block, keep: Collection[str], analysis: Analysis) -> list[Step]:
    """The steps, and fewer of them where a TABLE is the only reader of what one before it has computed."""
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
        chain = before(step.inputs[0]) if looks_up(step, block) else []
        if chain:
            first = chain[0]
            assert first.work is not None
            assert step.work is not None
            shape = block.tensors[first.output].shape or ()
            calls = tuple(call for one in (*chain, step) for call in one.calls)
            merged = replace(first, calls=calls, outputs=step.outputs, work=followed(first.work, step.work, shape))
            for one in (*chain, step):
                found.pop(id(one), None)
            found[id(merged)] = writers[merged.output] = merged
    position = {id(call): i for i, call in enumerate(call for step in steps for call in step.calls)}
    return sorted(found.values(), key=lambda step: position[id(step.calls[-1])])


def looks_up(step: Step, block: Block) -> bool:
    """Whether a step is a TABLE that may overwrite its input."""
    if step.calls[0].spec.name != "TABLE" or step.work is None or step.work.over != (0,):
        return False
    return bytes_of(block, step.inputs[0]) == bytes_of(block, step.output)


def can_go_on(step: Step, analysis: Analysis) -> bool:
    """Whether a step computes one tensor, and can't fail."""
    if step.work is None or isinstance(step.work, Effect) or len(step.outputs) != 1 or len(step.calls) > MOST:
        return False
    call = step.calls[0]
    assert call.row is not None
    if len(step.calls) > 1:  # fused: proved
        return True
    moves = view_of(call) is not None or call.spec.name == "CONCAT"
    known = call.spec.pure and not unknown(KERNELS[call.spec.name, call.row.key], call)
    return known and not moves and (not call.spec.requires or analysis.proved(call))
