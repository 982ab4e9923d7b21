"""Faults that devices and compilers have, planted into a simulated device whose later tensors follow from them: the
first wrong tensor is found, its cause is named, and no other operator is blamed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import device_networks as networks
import numpy as np
import pytest
from devices import simulate
from nets import feeds_of

from tosa_engine.compare import Side, compare_sides

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    Arguments = dict[str, Any]
    Fault = Callable[[Arguments, Array], Array]

CONVOLUTIONS, ATTENTION, INT48 = networks.convolutions, networks.attention, networks.int48


def scaled(a: Arguments, *, multiplier: Any = None, shift: Any = None, input_zp: Any = None, output_zp: Any = None,
           low: int = -128, high: int = 127, half: bool = True) -> Array:  # fmt: skip
    """RESCALE by single rounding, or with `half` off by truncation, in Python integers."""
    given = {"multiplier": multiplier, "shift": shift, "input_zp": input_zp, "output_zp": output_zp}
    m, s, zero_in, zero_out = (
        (a[name] if value is None else np.asarray(value)).astype(object) for name, value in given.items()
    )
    value = (a["input"].astype(object) - zero_in) * m + (2 ** (s - 1) if half else 0)
    return np.clip(value // 2**s + zero_out, low, high)


def wrapped(right: Array, bits: int) -> Array:
    half = 1 << (bits - 1)
    return ((right.astype(np.int64) + half) & ((1 << bits) - 1)) - half


def saturated(right: Array, bits: int) -> Array:
    return np.clip(right, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def with_bias(bias: Callable[[Array], Array]) -> Fault:
    return lambda a, right: right.astype(np.int64) - a["bias"] + bias(a["bias"].astype(np.int64))


def placed(right: Array, where: Any, values: Any) -> Array:
    found = right.copy()
    found[where] = values
    return found


def one_weight(channel: int, row: int, column: int, depth: int, bit: int) -> Fault:
    """A bit of a weight of a 3x3 convolution, padded by 1, is flipped."""

    def fault(a: Arguments, right: Array) -> Array:
        weight = a["weight"][channel, row, column, depth]
        by = int(np.int8(np.uint8(weight.view(np.uint8) ^ np.uint8(1 << bit)).view(np.int8))) - int(weight)
        values = np.pad(a["input"].astype(np.int64) - a["input_zp"], ((0, 0), (1, 1), (1, 1), (0, 0)))
        size = right.shape[1]
        window = values[:, row : row + size, column : column + size, depth]
        return placed(right, (..., channel), right[..., channel] + by * window)

    return fault


def product(a: Arguments, b: Array, a_zp: int, b_zp: int) -> Array:
    return (a["A"].astype(np.int64) - a_zp) @ (b.astype(np.int64) - b_zp)


def no_bias_in(channel: int) -> Callable[[Array], Array]:
    return lambda bias: placed(bias, channel, 0)


def swapped_scales(a: Arguments, right: Array) -> Array:
    """Of the two operands of `both`, which both are scaled from int8."""
    del right
    left, wide = a["input1"].astype(object), a["input2"].astype(object)
    return (left * 1518500250 + 2**29) // 2**30 + wide * 0 + (wide * 2**30 + 759250125) // 1518500250


def resized(a: Arguments, *, rows: int = 0, offset: int = 0) -> Array:
    """RESIZE of `large`, from rows of the input further up, or with another offset of its columns."""
    step = np.arange(10) * 2 - 1
    (y, top), (x, left) = divmod(step, 4), divmod(step + offset, 4)
    values = a["input"].astype(int)
    values = values[:, np.clip(np.arange(values.shape[1]) - rows, 0, None)]

    def at(row: Array, column: Array) -> Array:
        return values[:, np.clip(row, 0, 4)[:, None], np.clip(column, 0, 4)[None, :]]

    down, across = top[None, :, None, None], left[None, None, :, None]
    above = at(y, x) * (4 - across) + at(y, x + 1) * across
    below = at(y + 1, x) * (4 - across) + at(y + 1, x + 1) * across
    return above * (4 - down) + below * down


PLANTED: list[tuple[Callable[[], Graph], str, Fault, str]] = [
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, half=False), "truncation towards minus infinity"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, multiplier=a["multiplier"][0], shift=a["shift"][0]),
     "the scale of channel 0 for all"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, multiplier=a["multiplier"][5], shift=a["shift"][5]),
     "the scale of channel 1 for all"),  # channels 1 and 5 have the same
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, multiplier=np.roll(a["multiplier"], 1), shift=np.roll(a["shift"], 1)),
     "scales of channels rotated by +1"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, shift=np.roll(a["shift"], -1)), "shifts of channels rotated by -1"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, shift=a["shift"] + 1), "shift off by one (+1)"),
    (CONVOLUTIONS, "conv", lambda a, right: placed(right, (..., 6), scaled(a, shift=a["shift"] - 1)[..., 6]),
     "shift off by one (-1), in channel 6 only"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, multiplier=a["multiplier"] >> 16 << 16),
     "multiplier cut to its upper 16 bits"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, multiplier=a["multiplier"] // 4 * 5), "another multiplier, 1.25"),
    (CONVOLUTIONS, "conv", lambda a, right: placed(right, (..., 2), scaled(a, multiplier=[1234567890])[..., 2]),
     "another multiplier, 0.81"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, multiplier=a["multiplier"] - 1500000),
     "another multiplier, 0.999"),  # and no truncation
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, output_zp=7), "output zero point 7 instead of 4"),
    (CONVOLUTIONS, "conv", lambda a, _: scaled(a, output_zp=0), "output zero point 4 not added"),
    (CONVOLUTIONS, "conv", lambda a, _: wrapped(scaled(a, low=-10**9, high=10**9), 8), "no saturation"),
    (CONVOLUTIONS, "acc", lambda _, right: wrapped(right, 16), "the accumulator wraps at 16 bits"),
    (CONVOLUTIONS, "acc", lambda _, right: saturated(right, 16), "the accumulator saturates at 16 bits"),
    (CONVOLUTIONS, "acc", with_bias(lambda b: b * 0), "no bias"),
    (CONVOLUTIONS, "acc", with_bias(no_bias_in(3)), "no bias, in channel 3 only"),
    (CONVOLUTIONS, "acc", with_bias(lambda b: np.roll(b, 1)), "bias rotated by +1"),
    (CONVOLUTIONS, "acc", with_bias(lambda b: wrapped(b, 8)), "bias cut to 8 bits"),
    (CONVOLUTIONS, "acc", one_weight(4, 1, 2, 3, 5), "weight [4, 1, 2, 3] is "),
    (CONVOLUTIONS, "acc", one_weight(0, 0, 0, 0, 7), "weight [0, 0, 0, 0] is "),
    (CONVOLUTIONS, "deep", lambda _, right: np.roll(right, 2, -1), "channels rotated by +2"),
    (CONVOLUTIONS, "depthwise", lambda _, right: placed(right, (..., 5), right[..., 1]),
     "channel 5 holds the values of channel 1"),
    (CONVOLUTIONS, "depthwise", lambda _, right: placed(right, (..., slice(4, 8)), -6),
     "the last group isn't written: channels 4-7 hold nothing but -6"),
    (CONVOLUTIONS, "depthwise", lambda _, right: placed(right, (0, slice(4, 8)), right[0, 0:4]), "a stale tile: "),
    (CONVOLUTIONS, "both", swapped_scales, "scales of the operands swapped"),
    (CONVOLUTIONS, "padded", lambda _, right: placed(np.zeros_like(right), np.s_[:, 1:-1, 1:-1], right[:, 1:-1, 1:-1]),
     "padded with 0 instead of 3"),
    (CONVOLUTIONS, "pooled", lambda a, _: a["input"][:, ::2, ::2], "the first element of each window"),
    (CONVOLUTIONS, "pooled", lambda a, _: a["input"].view(np.uint8).reshape(1, 5, 2, 5, 2, 8).max(axis=(2, 4)).view(
     np.int8), "maximum of unsigned values"),
    (CONVOLUTIONS, "joined", lambda a, _: np.concatenate(a["input1"][::-1], 3), "parts in the order [1, 0]"),
    (CONVOLUTIONS, "large", lambda _, right: right.transpose(0, 2, 1, 3), "elements in the order of axes [0, 2, 1, 3]"),
    (CONVOLUTIONS, "large", lambda a, _: resized(a, rows=1), "off by one row of the input (+1)"),
    (CONVOLUTIONS, "large", lambda a, _: resized(a, offset=1), "offset [-1, 0] instead of [-1, -1]"),
    (CONVOLUTIONS, "rows", lambda _, right: wrapped(right, 20), "the accumulator wraps at 20 bits"),
    (CONVOLUTIONS, "rows", lambda a, _: a["input"][:, :-1].sum(axis=1, keepdims=True), "without the last element"),
    (CONVOLUTIONS, "out", lambda a, _: scaled(a, output_zp=2), "output zero point -2 subtracted"),
    (ATTENTION, "products", lambda a, _: product(a, a["B"].swapaxes(1, 2), 5, -9), "B transposed"),
    (ATTENTION, "products", lambda a, _: product(a, a["B"], 0, -9), "A's zero point 5 not subtracted"),
    (ATTENTION, "products", lambda a, _: product(a, a["B"], 5, 0), "B's zero point -9 not subtracted"),
    (ATTENTION, "products", lambda a, _: product(a, a["B"], -9, 5), "the zero points of A and B swapped"),
    (ATTENTION, "products", lambda a, _: product(a, a["B"][::-1], 5, -9), "B's matrices rotated by +1"),
    (ATTENTION, "products", lambda _, right: wrapped(right, 16), "the accumulator wraps at 16 bits"),
    (ATTENTION, "most", lambda a, _: a["input"][..., 1:].max(axis=2, keepdims=True), "without the first element"),
    (ATTENTION, "below", lambda _, right: -right, "operands swapped"),
    (ATTENTION, "weights", lambda a, _: a["table"][a["input1"].astype(int) & 255], "table read with unsigned inputs"),
    (ATTENTION, "weights", lambda a, _: a["table"][np.minimum(a["input1"].astype(int) + 129, 255)],
     "table shifted by one (+1)"),
    (ATTENTION, "weighed", lambda a, _: product(a, a["B"].swapaxes(1, 2).reshape(a["B"].shape), 0, 3),
     "the elements of B in transposed order"),
    (INT48, "acc", lambda _, right: wrapped(right, 32), "the accumulator wraps at 32 bits"),
    (INT48, "acc", lambda _, right: saturated(right, 32), "the accumulator saturates at 32 bits"),
    (INT48, "acc", with_bias(lambda b: wrapped(b, 32)), "bias cut to 32 bits"),
    (INT48, "acc", one_weight(2, 2, 1, 9, 6), "weight [2, 2, 1, 9] is "),
    (INT48, "scaled", lambda a, _: scaled(a, multiplier=np.roll(a["multiplier"], 1), low=-32768, high=32767),
     "multipliers of channels rotated by +1"),
    (INT48, "scaled", lambda a, _: scaled(a, multiplier=a["multiplier"][0], low=-32768, high=32767),
     "the scale of channel 0 for all"),
    (INT48, "table", lambda a, _: a["table"].astype(int)[(a["input1"].astype(int) + 32768) >> 7] << 7,
     "no interpolation between table entries"),
]  # fmt: skip


@cache
def model(make: Callable[[], Graph]) -> tuple[Side, dict[str, Array]]:
    graph = make()
    feeds = feeds_of(graph)
    constants = {t.name for t in graph.main.tensors.values() if t.data is not None}
    values = {name: array for name, array in simulate(graph, feeds, {}).items() if name not in constants}
    return Side("model", values, graph), feeds


def dumped(make: Callable[[], Graph], faults: dict[str, Fault]) -> Side:
    side, feeds = model(make)
    assert side.graph is not None
    found = simulate(side.graph, feeds, faults)
    return Side("device", {name: found[name] for name in side.tensors})


@pytest.mark.parametrize(("make", "tensor", "fault", "text"), PLANTED, ids=[f"{p[1]}: {p[3]}" for p in PLANTED])
def test_a_planted_fault(make: Callable[[], Graph], tensor: str, fault: Fault, text: str) -> None:
    found = compare_sides(model(make)[0], dumped(make, {tensor: fault}))
    assert found.first is not None
    assert found.first.here == tensor
    assert any(cause.text.startswith(text) for cause in found.causes), [str(cause) for cause in found.causes]
    assert all(cause.complete for cause in found.causes)
    assert len(found.explanations) == 1


def test_there_are_forty_of_them() -> None:
    assert len({(tensor, text) for _, tensor, _, text in PLANTED}) >= 40


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("conv", "truncation"), ("out", "output zero point")), (("acc", "bias rotated"), ("pooled", "the first")),
        (("products", "B transposed"), ("weights", "table shifted")),
        (("acc", "bias cut to 32"), ("table", "no inter")),
    ],
)  # fmt: skip
def test_two_faults_are_both_found(first: tuple[str, str], second: tuple[str, str]) -> None:
    planted = [next(p for p in PLANTED if p[1] == tensor and p[3].startswith(text)) for tensor, text in (first, second)]
    found = compare_sides(model(planted[0][0])[0], dumped(planted[0][0], {p[1]: p[2] for p in planted}))
    assert [one.row.here for one in found.explanations] == [first[0], second[0]]
    for one, (_, _, _, expected) in zip(found.explanations, planted, strict=True):
        assert any(cause.text.startswith(expected) and cause.complete for cause in one.causes)
