"""What a plan leaves out before anything else: operators that nobody reads, and those that depend on constants only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...infer import waits
from ...kernels.work import DONE, aligned
from ...spec import bind_operator
from ..single import prepare

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...graph import Block
    from ...spec.table import Call
    from ...types import Array


def live(calls: list[Call], fixed: Collection[str]) -> list[Call]:
    """Without the operators whose results nobody needs, unless they have a REQUIRE, which counts for the verdict, or
    do more than computing results.
    """
    needed = set(fixed)
    found: list[Call] = []
    for call in reversed(calls):
        if call.spec.requires or not call.spec.pure or waits(call) or needed.intersection(call.operator.outputs):
            needed.update(call.operator.inputs)
            found.append(call)
    return found[::-1]


def fold(calls: list[Call], block: Block, constants: dict[str, Array]) -> list[Call]:
    """Compute what depends on constants only. What violates a REQUIRE stays, to be told when it runs."""
    found: list[Call] = []
    for call in calls:
        operator = call.operator
        if not call.spec.pure or not all(name in constants for name in operator.inputs):
            found.append(bind_operator(operator, block, call.graph))  # sees constants computed before
            continue
        work = prepare(call)
        names = [a.name for a in call.spec.outputs]
        values = [np.zeros(call.shape_of(name), call.tensor(name).dtype.storage) for name in names]
        scratch = [aligned(count, dtype) for dtype, count in work.scratch]
        if work.bind([constants[n] for n in operator.inputs], values)(0, work.units, scratch) != DONE:
            found.append(call)
            continue
        for output, value in zip(operator.outputs, values, strict=True):
            constants[output] = value
            block.tensors[output].data = value
    return found
