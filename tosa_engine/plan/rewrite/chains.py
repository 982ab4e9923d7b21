"""Elementwise operators that read each other's results become one step, in which these stay in registers.

A step joins the one that reads its result where nobody else does, both have the same number of elements in the same
places, and the chain has no more inputs than its loop takes (`kernels.elementwise.chain`). Code is made for each chain
that differs from others, so that those which save little are left as they are, but for those that make floats of
integers or integers of floats.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ... import types
from ...kernels import chains
from ..steps import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...graph import Block
    from ...types import Array, DType, Shape

MOST: Final = 48  # operators of a chain
STEP: Final = 150.0  # nanoseconds that a step costs beside its elements
BYTE: Final = 0.02  # nanoseconds to write a byte and read it again
LEAST: Final = 2000.0  # nanoseconds of a run that code for one more chain is worth


@dataclass(frozen=True)
class Found:
    """Steps by their numbers, in order, and the chain that they are."""

    numbers: tuple[int, ...]
    chain: chains.Chain


def join_elementwise(
    steps: Sequence[Step], block: Block, constants: Mapping[str, Array], fixed: Collection[str]
) -> list[Step]:
    """The steps, and one in the place of those that are a chain."""
    search = Search(steps, block, constants, fixed)
    shapes, kinds = search.shapes, search.kinds
    alike: dict[tuple[object, ...], list[Found]] = defaultdict(list)
    for found in search.all():
        alike[chains.alike(found.chain, kinds)].append(found)
    joined: dict[int, Step] = {}
    gone: set[int] = set()
    for group in alike.values():
        if sum(search.saved(found) for found in group) < LEAST and not search.quantizes(group[0]):
            continue
        for found in group:
            last = steps[found.numbers[-1]]
            calls = tuple(call for number in found.numbers for call in steps[number].calls)
            joined[found.numbers[-1]] = Step(
                calls, found.chain.inputs, last.outputs, chains.work_of(found.chain, shapes, kinds)
            )
            gone.update(found.numbers[:-1])
    return [joined.get(number, step) for number, step in enumerate(steps) if number not in gone]


class Search:
    """Chains among the steps of a block."""

    def __init__(
        self, steps: Sequence[Step], block: Block, constants: Mapping[str, Array], fixed: Collection[str]
    ) -> None:
        self.steps, self.constants, self.fixed = steps, constants, fixed
        self.shapes: dict[str, Shape] = {name: t.shape for name, t in block.tensors.items() if t.shape is not None}
        self.kinds: dict[str, DType] = {name: t.dtype for name, t in block.tensors.items()}
        self.members = {i: member for i, step in enumerate(steps) if (member := self.member(step)) is not None}
        self.writers = {member.output: i for i, member in self.members.items()}
        self.readers: dict[str, set[int]] = defaultdict(set)
        for i, step in enumerate(steps):
            for name in step.inputs:
                self.readers[name].add(i)

    def member(self, step: Step) -> chains.Member | None:
        if len(step.outputs) != 1:
            return None
        member = chains.member_of(step.work, step.inputs, step.output)
        known = member is not None and all(name in self.shapes for name in (*member.operands, member.output))
        return member if known else None

    def all(self) -> list[Found]:
        taken: set[int] = set()
        found = []
        for root in sorted(self.members, reverse=True):
            one = None if root in taken else self.chain_to(root, taken)
            if one is not None:
                taken.update(one.numbers)
                found.append(one)
        return found

    def chain_to(self, root: int, taken: Collection[int]) -> Found | None:
        """The longest chain that ends with a step."""
        group, best = {root}, None
        while len(group) < MOST:
            candidates = self.candidates(root, group, taken)
            if not candidates:
                break
            group.add(min(candidates, key=lambda number: (self.width(group | {number}), -number)))
            numbers = tuple(sorted(group))
            chain = chains.chain_of([self.members[i] for i in numbers], self.shapes, self.constants)
            best = best if chain is None else Found(numbers, chain)
        return best

    def candidates(self, root: int, group: set[int], taken: Collection[int]) -> list[int]:
        """Steps whose results nobody but the group reads, of as many elements."""
        shape = self.shapes[self.members[root].output]
        names = {name for i in group for name in self.members[i].operands if name in self.writers}
        return [
            self.writers[name]
            for name in sorted(names)
            if self.writers[name] not in group
            and self.writers[name] not in taken
            and name not in self.fixed
            and self.readers[name] <= group
            and self.shapes[name] == shape
        ]

    def width(self, group: set[int]) -> int:
        """How many inputs of several elements a group has."""
        made = {self.members[i].output for i in group}
        names = {name for i in group for name in self.members[i].operands} - made
        return sum(types.count(self.shapes[name]) > 1 for name in names)

    def quantizes(self, found: Found) -> bool:
        """Whether a chain makes integers of floats or floats of integers, as networks do at their ends: in few ways,
        so that there is code for it as a rule.
        """
        first, last = self.members[found.numbers[0]].operands[0], self.members[found.numbers[-1]].output
        return self.kinds[first].is_float != self.kinds[last].is_float

    def saved(self, found: Found) -> float:
        """About how many nanoseconds a chain saves."""
        inside = [self.members[i].output for i in found.numbers[:-1]]
        size = sum(types.count(self.shapes[name]) * self.kinds[name].storage.itemsize for name in inside)
        return len(inside) * STEP + size * BYTE
