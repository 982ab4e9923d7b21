"""Neighbouring steps on a few integers become one step (`kernels.small`), where they compute one tensor from one.

Softmax of ten classes, as LiteRT computes it, is such a run of steps, and so are the gates of small recurrent cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...kernels import can_be_small, small_work
from ..single import is_known
from ..steps import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ...graph import Block
    from ...spec.table import Call

LEAST: Final = 3  # steps that are worth joining
MOST: Final = 64


def join_small(steps: Sequence[Step], block: Block, fixed: Collection[str]) -> list[Step]:
    """The steps, and fewer of them where several are small; tensors in `fixed` have to be stored."""
    last = {name: i for i, step in enumerate(steps) for name in step.inputs}
    found: list[Step] = []
    i = 0
    while i < len(steps):
        joined, end = _longest(steps, i, block, fixed, last)
        found.append(steps[i] if joined is None else joined)
        i = end
    return found


def _longest(
    steps: Sequence[Step], first: int, block: Block, fixed: Collection[str], last: dict[str, int]
) -> tuple[Step | None, int]:
    """The longest run of steps from `first` on that read one tensor, of which others read one, and where it ends."""
    read = set[str]()
    written: list[str] = []
    joined, end = None, first + 1
    for i in range(first, min(first + MOST, len(steps))):
        step = steps[i]
        if step.work is None or len(step.outputs) != 1 or not all(map(_is_small, step.calls)):
            break
        read.update(n for n in step.inputs if block.tensors[n].data is None and n not in written)
        if len(read) > 1:
            break
        written.append(step.output)
        results = [name for name in written if name in fixed or last.get(name, -1) > i]
        if len(results) == 1 and i - first + 1 >= LEAST and len(read) == 1:
            joined, end = (*read, results[0]), i + 1
    if joined is None:
        return None, end
    source, result = joined
    calls = tuple(call for step in steps[first:end] for call in step.calls)
    work = small_work(calls, block.tensors[source], block.tensors[result])
    return Step(calls, (source,), (result,), work), end


def _is_small(call: Call) -> bool:
    return is_known(call) and can_be_small(call)
