"""Operators that hand channels on: positively homogeneous, and the same for every channel.

Each function gets the block, the operator, the tensor that has the channels, and their axis in it; it returns their
axis in the operator's output, or None where the operator doesn't hand them on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tosa_engine.graph import Composite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.graph import Block, Operator

    Step = Callable[[Block, Operator, str, int], int | None]

ENDLESS: Final = 3.0e38  # beyond this a bound of CLAMP is none


def _clamp(block: Block, op: Operator, name: str, axis: int) -> int | None:
    """max(x, 0), min(x, 0) and x itself; a bound elsewhere moves with the scale."""
    del block, name
    low, high = float(op.attributes["min_val"]), float(op.attributes["max_val"])
    return axis if (low == 0 or low <= -ENDLESS) and (high == 0 or high >= ENDLESS) else None


def _always(block: Block, op: Operator, name: str, axis: int) -> int | None:
    del block, op, name
    return axis


def _last(block: Block, op: Operator, name: str, axis: int) -> int | None:
    """Pools and RESIZE, which work on the axes before the last."""
    del op
    return axis if axis == len(block.tensors[name].shape or ()) - 1 else None


def _transpose(block: Block, op: Operator, name: str, axis: int) -> int | None:
    del block, name
    return tuple(op.attributes["perms"]).index(axis)


def _reshape(block: Block, op: Operator, name: str, axis: int) -> int | None:
    """To the axis of the same size with as many elements before it."""
    old, new = block.tensors[name].shape or (), block.tensors[op.outputs[0]].shape or ()
    before = math.prod(old[:axis])
    found = [i for i, size in enumerate(new) if size == old[axis] and math.prod(new[:i]) == before]
    return found[-1] if found else None


def _reduction(block: Block, op: Operator, name: str, axis: int) -> int | None:
    del block, name
    return axis if op.attributes["axis"] != axis else None


def _mean(block: Block, op: Operator, name: str, axis: int) -> int | None:
    del block, name
    return axis if isinstance(op, Composite) and axis not in op.attributes["axes"] else None


def _same_size(block: Block, op: Operator, name: str, axis: int) -> int | None:
    """SLICE, TILE, and PAD with zeros: where they leave the axis alone."""
    sizes = [(block.tensors[t].shape or ())[axis] for t in (name, op.outputs[0])]
    if op.op == "PAD":
        value = block.tensors[op.inputs[2]].data
        if value is None or value.any():
            return None
    return axis if sizes[0] == sizes[1] and op.inputs[0] == name else None


def _reverse(block: Block, op: Operator, name: str, axis: int) -> int | None:
    return _reduction(block, op, name, axis)


def _product(block: Block, op: Operator, name: str, axis: int) -> int | None:
    """MUL by what is the same for every channel."""
    if op.inputs[0] == op.inputs[1]:
        return None
    other = op.inputs[1] if op.inputs[0] == name else op.inputs[0]
    return axis if (block.tensors[other].shape or ())[axis] == 1 else None


def _matrices(block: Block, op: Operator, name: str, axis: int) -> int | None:
    """MATMUL of two activations: the rows of A, the columns of B."""
    del block
    if op.inputs[0] == op.inputs[1]:
        return None
    return axis if axis == (1 if op.inputs[0] == name else 2) else None


HANDS_ON: Final[Mapping[str, Step]] = {
    "CLAMP": _clamp, "IDENTITY": _always, "MAX_POOL2D": _last, "AVG_POOL2D": _last, "RESIZE": _last,
    "TRANSPOSE": _transpose, "RESHAPE": _reshape, "REDUCE_SUM": _reduction, "REDUCE_MAX": _reduction,
    "REDUCE_MIN": _reduction, "mean": _mean, "SLICE": _same_size, "TILE": _same_size, "PAD": _same_size,
    "REVERSE": _reverse, "MUL": _product, "MATMUL": _matrices,
}  # fmt: skip
