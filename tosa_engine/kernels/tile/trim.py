"""Kernel positions at the edges that meet nothing but padding are cut off before a convolution is prepared.

Padding adds nothing to the sum, so neither does a position that no output finds an input under. A kernel of 8192 x 2
positions around an input of 2 x 3 is mostly that: packing would copy the padding, and the loops walk it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING

import numpy as np

from ...graph import Block
from ...spec import bind_operator
from ..work import constant
from .turn import turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...spec.table import Call
    from ...types import Array
    from ..work import Work


def alive(call: Call, axis: str) -> Array:
    """The kernel positions along an axis, from 0 on, that find an input for any output.

    Input i = o * stride - pad + position * dilation has to lie in 0 .. I - 1 for an output o of 0 .. O - 1.
    """
    letter, before = AXES[axis]
    stride = call[f"stride_{axis}"]
    shift = np.arange(call[f"K{letter}"]) * call[f"dilation_{axis}"] - call[before]
    first = np.maximum(0, -(shift // stride))
    last = np.minimum(call[f"O{letter}"] - 1, (call[f"I{letter}"] - 1 - shift) // stride)
    return np.flatnonzero(first <= last)


def kept(call: Call, axis: str) -> slice:
    """The kernel positions without those at both ends that meet only padding; the first where all do.

    No more of them than the padding goes around: packing doesn't begin inside of the input.
    """
    found = alive(call, axis)
    if not found.size:
        return slice(0, 1)
    return slice(min(int(found[0]), call[AXES[axis][1]] // call[f"dilation_{axis}"]), int(found[-1]) + 1)


def trimmed(prepare: Callable[..., Work]) -> Callable[..., Work]:
    """A `Kernel.prepare` of a convolution that gets to see the trimmed operator, and one column as one row."""

    @wraps(prepare)
    def prepare_trimmed(call: Call, *more: object) -> Work:
        return prepare(turn(trim(call)), *more)

    return prepare_trimmed


def trim(call: Call) -> Call:
    """The operator with a smaller kernel and less padding where that changes no result; else the operator itself."""
    axes = [axis for axis in AXES if call.has(f"stride_{axis}")]
    parts = [kept(call, axis) for axis in axes]
    letters = [f"K{AXES[axis][0]}" for axis in axes]
    sizes = [call[letter] for letter in letters]
    if all(part == slice(0, size) for part, size in zip(parts, sizes, strict=True)):
        return call
    weight = call.tensor("weight")
    where = dict(zip(call.spec.axes("weight", *letters), parts, strict=True))
    data = constant(call, "weight")[tuple(where.get(axis, slice(None)) for axis in range(len(weight.shape or ())))]
    pad = list(call.pad)
    for i, (axis, part, size) in enumerate(zip(axes, parts, sizes, strict=True)):
        pad[2 * i] -= part.start * call[f"dilation_{axis}"]
        pad[2 * i + 1] -= (size - part.stop) * call[f"dilation_{axis}"]  # may end inside of the input
    block = Block("trimmed", tensors={t.name: t for t in call.tensors.values()})
    small = block.add(replace(weight, name=block.fresh(weight.name), shape=data.shape, data=data))
    names = [small.name if a.name == "weight" else call.tensor(a.name).name for a in call.spec.inputs]
    attributes = {**call.operator.attributes, "pad": tuple(pad)}
    found = bind_operator(replace(call.operator, inputs=names, attributes=attributes), block, call.graph)
    found.proved = call.proved
    return found


AXES = {"d": ("D", "pad_d0"), "y": ("H", "pad_top"), "x": ("W", "pad_left")}
