"""Ranges of data layout (specification 2.10): which channels end up where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .interval import Interval

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts


def concat(call: Call, facts: Facts, input1: list[Interval]) -> Interval:
    if call.axis == len(call.shapes1[0]) - 1:
        parts = [part.spread(shape) for part, shape in zip(input1, call.shapes1, strict=True)]
        return Interval(np.concatenate([p.low for p in parts]), np.concatenate([p.high for p in parts]))
    found = input1[0]
    for part in input1[1:]:
        found = found.hull(part)
    return found


def pad(call: Call, facts: Facts, input1: Interval, pad_const: Interval) -> Interval:
    """Channels beside the input's are pad_const; those of the input too where another axis is padded."""
    padding = call.constant("padding")
    constant = pad_const.flat()
    if padding is None:
        return input1.flat().hull(constant)
    found = input1.spread(call.shape1)
    if any(int(p) for p in padding[:-2]):
        found = found.hull(constant)
    before, after = int(padding[-2]), int(padding[-1])
    return Interval(
        np.pad(found.low, (before, after), constant_values=int(constant.low)),
        np.pad(found.high, (before, after), constant_values=int(constant.high)),
    )


def reshape(call: Call, facts: Facts, input1: Interval) -> Interval:
    """Values keep their row-major order: channels stay apart where one last axis is a multiple of the other."""
    shape = call.shape_of("output")
    if not shape or not call.shape1:
        return input1.flat()
    old, new = call.shape1[-1], shape[-1]
    if new % old == 0:
        value = input1.spread(call.shape1)
        return Interval(np.tile(value.low, new // old), np.tile(value.high, new // old))
    if old % new == 0:
        value = input1.spread(call.shape1)
        return Interval(value.low.reshape(-1, new).min(0), value.high.reshape(-1, new).max(0))
    return input1.flat()


def reverse(call: Call, facts: Facts, input1: Interval) -> Interval:
    shape = call.shape_of("input1")
    if call.axis != len(shape) - 1:
        return input1
    value = input1.spread(shape)
    return Interval(value.low[::-1], value.high[::-1])


def slice_(call: Call, facts: Facts, input1: Interval) -> Interval:
    start, size = call.constant("start"), call.shape_of("output")
    if start is None:
        return input1.flat()
    part = slice(int(start[-1]), int(start[-1]) + size[-1])
    value = input1.spread(call.shape1)
    return Interval(value.low[part], value.high[part])


def tile(call: Call, facts: Facts, input1: Interval) -> Interval:
    times = call.shape_of("output")[-1] // call.shape1[-1]
    value = input1.spread(call.shape1)
    return Interval(np.tile(value.low, times), np.tile(value.high, times))


def transpose(call: Call, facts: Facts, input1: Interval) -> Interval:
    return input1 if call.perms[-1] == len(call.perms) - 1 else input1.flat()


TRANSFERS = {
    "CONCAT": concat,
    "PAD": pad,
    "RESHAPE": reshape,
    "REVERSE": reverse,
    "SLICE": slice_,
    "TILE": tile,
    "TRANSPOSE": transpose,
}
