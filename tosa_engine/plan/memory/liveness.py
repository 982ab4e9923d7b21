"""Which bytes a tensor's values lie in, and from when to when these are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arena import Lifetime

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ...graph import Block
    from ..steps import Step

Places = dict[str, tuple[str, int]]


def bytes_of(block: Block, name: str) -> int:
    tensor = block.tensors[name]
    return tensor.size * tensor.dtype.storage.itemsize


def resolve(places: Places, name: str) -> tuple[str, int]:
    """The tensor that has a buffer of its own, and how far in it a tensor begins, in bytes."""
    distance = 0
    while name in places:
        name, further = places[name]
        distance += further
    return name, distance


def next_work(steps: list[Step], i: int) -> int:
    """The step that other workers may have begun while the first one still looks at the tensors of step i."""
    return next((j for j in range(i + 1, len(steps)) if steps[j].work is not None), len(steps))


def lifetimes(
    block: Block, steps: list[Step], places: Places, constants: Collection[str], keep: Collection[str]
) -> Mapping[str, Lifetime]:
    """From the step that writes a buffer to the last one that reads it; graph inputs live from before the first.

    After a step, its kept inputs and output may be looked at while other workers have begun the next.
    """
    roots = {name: resolve(places, name)[0] for name in block.tensors}
    first = dict.fromkeys((roots[n] for n in block.inputs), -1)
    last = dict(first)
    for i, step in enumerate(steps):
        for output in step.outputs:
            first.setdefault(roots[output], i)
            last.setdefault(roots[output], i)
        for name in (*step.inputs, *step.outputs):
            last[roots[name]] = max(last.get(roots[name], i), next_work(steps, i) if name in keep else i)
    for name in block.outputs:
        last[roots[name]] = len(steps)
    return {n: Lifetime(bytes_of(block, n), f, last[n]) for n, f in first.items() if n not in constants}
