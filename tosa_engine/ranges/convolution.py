"""Ranges of the convolutions: bounds of their accumulators, per output channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import sums
from .interval import Interval, add, sub

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .findings import Facts

SPATIAL = {"d": ("D", "pad_d0"), "y": ("H", "pad_top"), "x": ("W", "pad_left")}


def _weights(call: Call, weight: Interval, weight_zp: Interval) -> Interval:
    """Known weights one by one, others by their interval in the shape of the weights' last axis."""
    data = call.constant("weight")
    if data is None or not weight_zp.exact:
        return sub(weight, weight_zp)
    known = data.astype(np.int16) - weight_zp.low.astype(np.int16)
    return Interval(known, known)


def _reshaped(interval: Interval, *shape: int) -> Interval:
    low = interval.low.reshape(shape)
    return Interval(low, low if interval.high is interval.low else interval.high.reshape(shape))


def _padded(call: Call, axes: str) -> Array:
    """[K...] bool: kernel positions that lie on padding for some output position."""
    found = np.zeros((1,) * len(axes), np.bool_)
    for i, axis in enumerate(axes):
        letter, before = SPATIAL[axis]
        first = np.arange(call["K" + letter]) * call[f"dilation_{axis}"] - call[before]
        last = first + (call["O" + letter] - 1) * call[f"stride_{axis}"]
        outside = (first < 0) | (last >= call["I" + letter])
        found = found | outside.reshape([-1 if j == i else 1 for j in range(len(axes))])
    return found


def _finish(call: Call, facts: Facts, bounds: tuple[Interval, Interval], bias: Interval) -> Interval:
    partial, total = bounds
    facts.fits("R1", partial, call.acc_t, total)
    total = total.clip(call.acc_t.minimum, call.acc_t.maximum)
    return facts.fits("R2", add(total, bias), call.out_t)


def _regular(call: Call, facts: Facts, axes: str, input: Interval, weight: Interval, bias: Interval) -> Interval:
    """CONV2D and CONV3D: weights [OC, K..., IC], products in this order."""
    spatial = tuple(int(call["K" + SPATIAL[axis][0]]) for axis in axes)
    depth = int(np.prod(spatial)) * call.IC
    absent = np.broadcast_to(_padded(call, axes)[..., None], (*spatial, call.IC)).reshape(-1)
    value = input.spread((call.IC,))
    value = Interval(np.tile(value.low, depth // call.IC), np.tile(value.high, depth // call.IC))
    if weight.low.size == call.OC * depth:
        weight = _reshaped(weight, call.OC, depth)
    else:
        weight = weight.spread((call.IC,))
        weight = Interval(np.tile(weight.low, depth // call.IC), np.tile(weight.high, depth // call.IC))
    return _finish(call, facts, sums.products(weight, value, absent, call.OC, depth), bias)


def conv2d(
    call: Call, facts: Facts, input: Interval, weight: Interval, bias: Interval, input_zp: Interval, weight_zp: Interval
) -> Interval:
    return _regular(call, facts, "yx", sub(input, input_zp), _weights(call, weight, weight_zp), bias)


def conv3d(
    call: Call, facts: Facts, input: Interval, weight: Interval, bias: Interval, input_zp: Interval, weight_zp: Interval
) -> Interval:
    return _regular(call, facts, "dyx", sub(input, input_zp), _weights(call, weight, weight_zp), bias)


def depthwise_conv2d(
    call: Call, facts: Facts, input: Interval, weight: Interval, bias: Interval, input_zp: Interval, weight_zp: Interval
) -> Interval:
    """Weights [KH, KW, C, M]; output channel c * M + m sees input channel c only."""
    channels, depth = call.C * call.M, call.KH * call.KW
    value = sub(input, input_zp).spread((call.C,))
    value = Interval(np.repeat(value.low, call.M)[:, None], np.repeat(value.high, call.M)[:, None])
    weights = _weights(call, weight, weight_zp)
    if call.constant("weight") is not None and weight_zp.exact:
        known = weights.low.reshape(depth, channels).T
        weights = Interval(known, known)
    else:
        weights = weights.spread((call.M,))
        weights = Interval(np.tile(weights.low, call.C)[:, None], np.tile(weights.high, call.C)[:, None])
    absent = _padded(call, "yx").reshape(-1)
    return _finish(call, facts, sums.products(weights, value, absent, channels, depth), bias)


def transpose_conv2d(
    call: Call, facts: Facts, input: Interval, weight: Interval, bias: Interval, input_zp: Interval, weight_zp: Interval
) -> Interval:
    """An output position gets products of the kernel positions that are congruent to it modulo the stride, and at the
    border of fewer of them; where the stride is larger than the kernel, some positions get none.
    """
    value = sub(input, input_zp).spread((call.IC,))
    weights = _weights(call, weight, weight_zp)
    low = _by_phase(call, weights.low)
    high = low if weights.high is weights.low else _by_phase(call, weights.high)
    rows, depth = low.shape
    repeats = depth // call.IC
    values = Interval(np.tile(value.low, repeats), np.tile(value.high, repeats))
    found = sums.products(Interval(low, high), values, np.ones(depth, np.bool_), rows, depth)
    each = [
        Interval(
            np.minimum(one.low.reshape(call.OC, -1).min(1), 0), np.maximum(one.high.reshape(call.OC, -1).max(1), 0)
        )
        for one in found
    ]
    return _finish(call, facts, (each[0], each[1]), bias)


def _by_phase(call: Call, weights: Array) -> Array:
    """[OC * phases, products]: for each place modulo the strides the weights that meet there, filled up with zeros."""
    every_y, every_x = min(call.stride_y, call.KH), min(call.stride_x, call.KW)
    whole = np.broadcast_to(weights, (call.OC, call.KH, call.KW, call.IC))
    whole = np.pad(whole, ((0, 0), (0, -call.KH % every_y), (0, -call.KW % every_x), (0, 0)))
    parts = whole.reshape(call.OC, -1, every_y, whole.shape[2] // every_x, every_x, call.IC)
    return parts.transpose(0, 2, 4, 1, 3, 5).reshape(call.OC * every_y * every_x, -1)
