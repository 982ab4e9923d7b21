"""Operators that only move elements: nothing is copied where the elements stay in their order, and once otherwise.

RESHAPE, TRANSPOSE, SLICE, REVERSE and IDENTITY are views of a tensor as numpy has them, and a chain of them is another
view. A contiguous one is bytes of the tensor that it views (`Step.work` is None, `offset` says where). Of another, one
copy is made from the first tensor of the chain, so that transposes that cancel are none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...kernels import copy_work
from ..single import is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ...graph import Block
    from ...spec.table import Call
    from ...types import Array
    from ..steps import Step

    View = Callable[[Array], Array]

MOST = 64  # operators of a chain: views call each other, and files may have thousands


@dataclass(frozen=True)
class Origin:
    """A tensor as a view of another one, and the operators that make it, in order."""

    base: str
    view: View
    calls: tuple[Call, ...]


def view_of(call: Call) -> View | None:
    """What an operator does as a view of its first input; None where it computes, or its constants aren't known."""
    moves = call.spec.traits.moves
    if moves is None or moves.view is None:
        return None
    return moves.view(call) if is_known(call) else None


class Moves:
    """One block's steps. `places` says of each tensor that lies in another one: where, and how many bytes behind its
    first.
    """

    def __init__(self, block: Block, keep: Collection[str], constants: Mapping[str, Array]) -> None:
        self.block, self.constants = block, constants
        self.fixed = {*keep, *block.outputs}
        self.origins: dict[str, Origin] = {}
        self.places: dict[str, tuple[str, int]] = {}

    def run(self, steps: list[Step]) -> list[Step]:
        """The steps with as few copies as possible, without those whose results nobody reads any more."""
        needed = set(self.fixed)
        kept: list[Step] = []
        for step in reversed([self.step(step) for step in steps]):
            if step.output not in self.origins or needed.intersection(step.outputs):
                needed.update(step.inputs)
                kept.append(step)
        return [self.shown(step, needed) for step in reversed(kept)]

    def step(self, step: Step) -> Step:
        call = step.calls[-1]
        view = view_of(call) if len(step.calls) == 1 else None
        source = step.inputs[0] if step.inputs else ""
        if view is None or source in self.constants:
            return step
        before = self.origins.get(source)
        if before is None or len(before.calls) >= MOST:
            before = Origin(source, lambda x: x, ())
        whole = Origin(before.base, lambda x: view(before.view(x)), (*before.calls, call))
        through, alone = self.look(whole.base, whole.view), self.look(source, view)
        self.origins[step.output] = Origin(source, view, (call,)) if through is None else whole
        if through is not None and through.flags.c_contiguous:
            return self.placed(step, whole.base, self.distance(whole))
        if alone is not None and alone.flags.c_contiguous:
            return self.placed(step, source, self.distance(Origin(source, view, ())))
        if through is None:
            return step
        work = copy_work(call.shape_of("output"), whole.view)
        return replace(step, inputs=(whole.base,), work=work)

    def placed(self, step: Step, name: str, distance: int) -> Step:
        self.places[step.output] = (name, distance)
        return replace(step, inputs=(name,), work=None)

    def shown(self, step: Step, needed: set[str]) -> Step:
        """A step with the operators before it that have none of their own any more."""
        origin = self.origins.get(step.output)
        if origin is None or step.inputs[0] != origin.base:
            return step
        gone = [call for call in origin.calls[:-1] if not needed.intersection(call.operator.outputs)]
        return replace(step, calls=(*gone, *step.calls))

    def look(self, name: str, view: View) -> Array | None:
        """The view of an array like a tensor; None where numpy has to copy. Memory that nobody touches takes none."""
        tensor = self.block.tensors[name]
        x = np.empty(tensor.shape or (), tensor.dtype.storage)
        found = view(x)
        return found if np.may_share_memory(x, found) else None

    def distance(self, origin: Origin) -> int:
        tensor = self.block.tensors[origin.base]
        x = np.empty(tensor.shape or (), tensor.dtype.storage)
        return int(origin.view(x).ctypes.data - x.ctypes.data)
