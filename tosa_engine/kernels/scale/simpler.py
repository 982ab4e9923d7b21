"""Scales of single channels that only wide arithmetic could apply, replaced by others with the same results.

A convolution's scales are applied by the high words of products where each channel has bits to spare and a shift that
leaves room for the zero point (`epilogue`). One channel that hasn't makes all of them slow. As a rule that is a channel
without weights to speak of: a bias near 2^30 and a shift near 60, whose result is the same for all inputs, or one of a
few numbers. Such a channel gets another bias, multiplier and shift.

Proof. Scaling is monotone in the value. Where both ends of a channel's range have one result, all of it does, and the
new numbers are tried at both ends. Where only the shift is too large, the values at which results change are looked for
by halving the range, and the new numbers must have the same ones.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ...graph import Block
from ...numerics.scale import apply_scale_32
from ...spec import bind_operator
from ..work import Epilogue, constant
from .epilogue import WORD, room
from .places import SPARE

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Array

MULTIPLIERS: Final = 1 << 31  # they are less
LARGEST: Final = 62  # shift
POWERS: Final = (22, 28)  # of two: the new bias of a channel with one result
SHIFT_BEHIND: Final = 20  # the new shift is that much larger than the power
MOST_RESULTS: Final = 8  # of a channel whose shift is made smaller
FARTHEST: Final = 8  # its new bias from the old one


@dataclass(frozen=True)
class Channel:
    """The range of a channel's values with their bias, and its numbers."""

    low: int
    high: int
    bias: int
    multiplier: int
    shift: int

    def result(self, value: int, epilogue: Epilogue) -> int:
        found = apply_scale_32(value, self.multiplier, self.shift, epilogue.double_round) + epilogue.output_zp
        return min(max(found, epilogue.low), epilogue.high)

    def fits(self, epilogue: Epilogue) -> bool:
        """Whether high words apply its scale (`epilogue.parameters`)."""
        small = max(-self.low, self.high) < 1 << 31 - SPARE
        return small and self.shift >= WORD and room(self.shift - WORD + SPARE, epilogue.output_zp)


def simpler(call: Call, epilogue: Epilogue | None) -> tuple[Call, Epilogue | None]:
    """The convolution and its epilogue, some channels with other numbers where only these keep all from being scaled
    by high words; otherwise as they are.
    """
    if epilogue is None or not epilogue.double_round or epilogue.shift.min() < WORD:
        return call, epilogue
    numbers = numbers_of(call, epilogue)
    low, high, _, _, shift = numbers
    roomy = np.array([room(s - WORD + SPARE, epilogue.output_zp) for s in range(WORD, LARGEST + 1)])
    fits = (np.maximum(-low, high) < 1 << 31 - SPARE) & roomy[shift - WORD]
    for i in np.flatnonzero(~fits):
        found = simplified(Channel(*numbers[:, i].tolist()), epilogue)
        if found is None:
            return call, epilogue
        numbers[:, i] = astuple(found)
    if fits.all():
        return call, epilogue
    _, _, _, multiplier, shift = numbers
    scaled = replace(epilogue, multiplier=multiplier.astype(np.int32), shift=shift.astype(np.int8))
    return with_numbers(call, *numbers[:3]), scaled


def numbers_of(call: Call, epilogue: Epilogue) -> Array:
    """[number, channel] of the channels."""
    ends = call.proved[call.spec.requires[1].label]
    columns = [*ends, constant(call, "bias"), epilogue.multiplier, epilogue.shift]
    count = int(call.shape_of("output")[-1])
    return np.array([np.broadcast_to(np.asarray(column).reshape(-1), count) for column in columns], np.int64)


def simplified(channel: Channel, epilogue: Epilogue) -> Channel | None:
    """Other numbers with the same results, that fit; None where none were found."""
    first, last = (channel.result(value, epilogue) for value in (channel.low, channel.high))
    if first == last:
        return constant_channel(channel, first, epilogue)
    return in_fewer_bits(channel, epilogue) if last - first < MOST_RESULTS else None


def constant_channel(channel: Channel, result: int, epilogue: Epilogue) -> Channel | None:
    """Numbers that make one result of all values."""
    wanted = result - epilogue.output_zp
    for power in POWERS if wanted else (0,):
        bias = (1 << power) * (1 if wanted > 0 else -1) if wanted else 0
        shift, multiplier = max(power + SHIFT_BEHIND, WORD + 1), abs(wanted) << SHIFT_BEHIND
        low, high = (end - channel.bias + bias for end in (channel.low, channel.high))
        found = Channel(low, high, bias, multiplier, shift)
        same = all(found.result(end, epilogue) == result for end in (low, high))
        if multiplier < MULTIPLIERS and found.fits(epilogue) and same:
            return found
    return None


def in_fewer_bits(channel: Channel, epilogue: Epilogue) -> Channel | None:
    """The scale with the largest shift that there is room for, and a bias that makes up for what that changes."""
    shift = channel.shift
    while shift > WORD and not room(shift - WORD + SPARE, epilogue.output_zp):
        shift -= 1
    less = channel.shift - shift
    if not less:
        return None
    multiplier, wanted = (channel.multiplier + (1 << (less - 1))) >> less, changes(channel, epilogue)
    for more in sorted(range(-FARTHEST, FARTHEST + 1), key=abs):
        low, high, bias = channel.low + more, channel.high + more, channel.bias + more
        found = Channel(low, high, bias, multiplier, shift)
        moved = [(at + more, result) for at, result in wanted]
        if found.fits(epilogue) and changes(found, epilogue) == moved:
            return found
    return None


def changes(channel: Channel, epilogue: Epilogue) -> list[tuple[int, int]]:
    """The result of the lowest value, and each value from which on the result is another one, with that."""
    at, result = channel.low, channel.result(channel.low, epilogue)
    found, last = [(at, result)], channel.result(channel.high, epilogue)
    while result != last:
        below, above = at, channel.high  # the results of `below` and `above` differ
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (middle, above) if channel.result(middle, epilogue) == result else (below, middle)
        at, result = above, channel.result(above, epilogue)
        found.append((at, result))
    return found


def with_numbers(call: Call, low: Array, high: Array, bias: Array) -> Call:
    """The operator with another bias for each channel, and what is proved of it then."""
    tensor = call.tensor("bias")
    block = Block("simpler", tensors={t.name: t for t in call.tensors.values()})
    data = bias.astype(np.int32)
    new = block.add(replace(tensor, name=block.fresh(tensor.name), shape=data.shape, data=data))
    names = [new.name if a.name == "bias" else call.tensor(a.name).name for a in call.spec.inputs]
    found = bind_operator(replace(call.operator, inputs=names), block, call.graph)
    found.proved = {**call.proved, call.spec.requires[1].label: (low, high)}
    return found
