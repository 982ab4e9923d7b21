"""Tensors that lie in the bytes of others although something is computed in between.

An input of a CONCAT is written into its part of the output at once, where this part is contiguous. The result of an
elementwise step is written upon an input that nobody needs any more, where the kernel reads every element before it
writes it (`Work.overwritable`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...spec.traits import Memory
from ..single import kernel_of
from .arena import most_needed
from .liveness import bytes_of, lifetimes, resolve
from .views import Moves

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ...graph import Block
    from ...types import Array
    from ..steps import Step
    from .liveness import Places


SMALL: Final = 16 << 10  # bytes of a run whose memory is in the first-level cache anyway


class Sharing:
    """One block's steps; adds to `places`, see `views`."""

    def __init__(self, block: Block, places: Places, constants: Collection[str], keep: Collection[str]) -> None:
        self.block, self.places, self.constants, self.keep = block, places, constants, keep

    def concatenate(self, steps: list[Step]) -> list[Step]:
        """CONCATs copy only what can't be written into their output at once."""
        return [self.joined(step) if self.is_contiguous(step) else step for step in steps]

    @staticmethod
    def is_contiguous(step: Step) -> bool:
        call = step.calls[-1]
        return call.spec.traits.memory is Memory.PARTS and all(n == 1 for n in call.shape_of("output")[: call.axis])

    def joined(self, step: Step) -> Step:
        target, start = step.output, 0
        rest: list[int] = []
        for i, name in enumerate(step.inputs):
            root, distance = resolve(self.places, name)
            size = bytes_of(self.block, name)
            whole = distance == 0 and bytes_of(self.block, root) == size and root != target
            if whole and root not in self.constants:
                self.places[root] = (target, start)
            else:
                rest.append(i)
            start += size
        if len(rest) == len(step.inputs):
            return step
        some = kernel_of(step.calls[-1]).some_inputs
        assert some is not None
        work = some(step.calls[-1], rest) if rest else None
        return replace(step, inputs=tuple(step.inputs[i] for i in rest), work=work)

    def overwrite(self, steps: list[Step]) -> None:
        """Results upon inputs whose last reader is the step, one after the other."""
        needed = dict(lifetimes(self.block, steps, self.places, self.constants, self.keep))
        for i, step in enumerate(steps):
            if step.work is None or step.output in self.places:
                continue
            for position in step.work.overwritable:
                place = resolve(self.places, step.inputs[position])
                root = place[0]
                if bytes_of(self.block, step.inputs[position]) != bytes_of(self.block, step.output):
                    continue
                if root in needed and needed[root].first < i == needed[root].last and self.read_there(step, place):
                    own = needed.pop(step.output)
                    self.places[step.output] = place
                    needed[root] = replace(needed[root], last=max(i, own.last))
                    break

    def read_there(self, step: Step, place: tuple[str, int]) -> bool:
        """Whether all of the step's inputs that lie in a buffer are read where their results would be written."""
        assert step.work is not None
        found = [resolve(self.places, name) for name in step.inputs]
        return all(one == place and i in step.work.overwritable for i, one in enumerate(found) if one[0] == place[0])


def share(
    block: Block, steps: list[Step], constants: Mapping[str, Array], keep: frozenset[str]
) -> tuple[list[Step], Places]:
    """The steps with as few copies as possible, and which tensors lie in the bytes of others.

    CONCATs stay copies where the memory of a run would become larger otherwise, and doesn't stay in the cache.
    """
    moves = Moves(block, keep, constants)
    moved = moves.run(steps)
    plain = most_needed(lifetimes(block, moved, moves.places, constants, keep))
    sharing = Sharing(block, dict(moves.places), constants, keep)
    joined = sharing.concatenate(moved)
    if most_needed(lifetimes(block, joined, sharing.places, constants, keep)) > max(plain, SMALL):
        sharing, joined = Sharing(block, dict(moves.places), constants, keep), moved
    sharing.overwrite(joined)
    return joined, sharing.places
