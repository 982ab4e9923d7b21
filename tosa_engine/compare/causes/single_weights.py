"""One weight is another: what a flipped bit does to one channel of a convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]

MOST: Final = 1 << 24  # products of one channel
TRIED: Final = 8  # weights, where the difference is only seen through what comes behind the convolution
LEAST: Final = 3  # elements that differ, which one weight can't explain by chance


@hypothesis("one weight", "CONV2D", "DEPTHWISE_CONV2D", fitted=True)
def one_weight(trial: Trial, call: Call) -> Found:
    differs, right = trial.differs, trial.values[call.operator.outputs[0]]
    if right.shape != differs.shape or differs.sum() < LEAST or right.dtype.kind != "i":
        return
    bad = np.flatnonzero(differs.any(axis=(0, 1, 2)))
    if bad.size != 1:
        return
    channel = int(bad[0])
    weights, factors = _factors(trial, call, channel)
    if factors is None:
        return
    if call.operator.outputs[0] == trial.target:
        steps = _exactly(factors, (trial.got.astype(np.int64) - trial.wanted)[..., channel].reshape(-1))
    else:
        steps = _likely(factors, (trial.got.astype(np.int64) - trial.wanted)[..., channel].reshape(-1), weights)
    kernel = weights.shape
    for at, by in steps:
        index = np.unravel_index(at, kernel)
        value = int(weights[index]) + by
        place = [channel, *map(int, index)] if call.spec.name == "CONV2D" else [int(index[0]), int(index[1]), channel]
        output = right.copy()
        output[..., channel] += (factors[:, at] * by).reshape(right.shape[:-1]).astype(right.dtype)
        bit = abs(int(weights[index]) ^ value) if weights.dtype.kind == "i" else 0
        flipped = f", bit {bit.bit_length() - 1} flipped" if bit and bit & (bit - 1) == 0 else ""
        yield f"weight {place} is {value} instead of {weights[index]}{flipped}", output


def _factors(trial: Trial, call: Call, channel: int) -> tuple[Array, Array | None]:
    """The weights of a channel, and what each of its elements' sums multiplies them with: [elements, weights]."""
    weight, values = trial.array(call, "weight"), trial.array(call, "input").astype(np.int64)
    values = values - int(trial.array(call, "input_zp")[0])
    pad, (down, right), (rows, columns) = call.pad, call.stride, call.dilation
    values = np.pad(values, ((0, 0), (pad[0], pad[1]), (pad[2], pad[3]), (0, 0)))
    if call.spec.name == "CONV2D":
        kernel = weight[channel]
    else:
        each = weight.shape[3]
        kernel, values = weight[:, :, channel // each, channel % each][..., None], values[..., [channel // each]]
    shape = trial.differs.shape
    if kernel.size * (trial.differs.size // shape[-1]) > MOST:
        return kernel, None
    taps: list[Any] = []
    for y in range(kernel.shape[0]):
        for x in range(kernel.shape[1]):
            window = values[:, y * rows :: down, x * columns :: right][:, : shape[1], : shape[2]]
            taps.append(window.reshape(-1, kernel.shape[2]))
    return kernel, np.concatenate(taps, axis=1)


def _exactly(factors: Array, difference: Array) -> list[tuple[int, int]]:
    """Each weight, and by how much it is another, that makes this difference of the sums."""
    first = int(np.argmax(difference != 0))
    with np.errstate(divide="ignore"):
        by = np.where(factors[first] != 0, difference[first] // np.where(factors[first] == 0, 1, factors[first]), 0)
    fits = (factors * by == difference[:, None]).all(axis=0)
    return [(int(at), int(by[at])) for at in np.flatnonzero(fits & (by != 0))]


def _likely(factors: Array, difference: Array, weights: Array) -> list[tuple[int, int]]:
    """The weights whose products go best with the signs of the differences, each with every bit flipped."""
    sign = np.sign(difference).astype(np.float64)
    alike = sign @ np.sign(factors) / np.maximum(np.count_nonzero(factors[difference != 0], axis=0), 1)
    found = []
    for at in np.argsort(-np.abs(alike))[:TRIED]:
        weight = weights.reshape(-1)[at]
        bits = weight.dtype.itemsize * 8
        for bit in range(bits):
            step = -(1 << bit) if (int(weight) >> bit) & 1 else 1 << bit
            found.append((int(at), -step if bit == bits - 1 else step))
    return found
