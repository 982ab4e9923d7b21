"""Corners of RESCALE and TABLE."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....compare.rounding import inexact_interval
from ....types import i8, i16, i32, i48
from .integers import tie
from .seen import any_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....spec import Row
    from ....types import Array
    from .seen import Seen, Test

    Corners = Iterator[tuple[str, Test]]

SAMPLE: Final = 512  # elements whose intervals are computed


class Scaled:
    """A RESCALE in steps: the value without its zero point, its product, and what is added to round."""

    def __init__(self, seen: Seen) -> None:
        call = seen.call
        self.call = call
        self.value = _read(seen, "input", call.input_unsigned) - int(_read(seen, "input_zp", call.input_unsigned)[0])
        channels = slice(None) if call.per_channel else slice(0, 1)
        self.multiplier, self.shift = seen["multiplier"][channels], seen["shift"][channels]
        self.zero_point = int(_read(seen, "output_zp", call.output_unsigned)[0])
        self.product = self.value * self.multiplier
        self.single = (self.product + (np.int64(1) << (self.shift - 1))) >> self.shift
        self.low, self.high = call.out_t.minimum, call.out_t.maximum
        if call.output_unsigned:
            self.low, self.high = 0, (1 << call.out_t.bits) - 1

    @property
    def double(self) -> Array:
        half = np.where(self.shift > 31, np.where(self.value >= 0, 1 << 30, -(1 << 30)), 0)
        return np.asarray((self.product + (np.int64(1) << (self.shift - 1)) + half) >> self.shift)

    @property
    def result(self) -> Array:
        return np.asarray((self.double if self.call.rounding_mode == "DOUBLE_ROUND" else self.single) + self.zero_point)


def _read(seen: Seen, argument: str, unsigned: bool) -> Array:
    return seen[argument] & ((1 << seen.dtype(argument).bits) - 1) if unsigned else seen[argument]


def scaled(seen: Seen) -> Scaled:
    if not hasattr(seen, "scaled"):
        seen.scaled = Scaled(seen)  # type: ignore[attr-defined]
    return seen.scaled  # type: ignore[attr-defined, no-any-return]


def rescale(row: Row) -> Corners:
    in_t, out_t = row.types["in_t"], row.types["out_t"]
    for bits, modes in ((32, ("SINGLE", "DOUBLE", "INEXACT")), (16, ("SINGLE", "INEXACT"))):
        if bits == 32 and in_t is i48:
            continue
        for mode in modes:
            for name, test in _of_mode(mode, clips=out_t is not i32):
                yield f"{mode}_ROUND, {bits} bits: {name}", partial(_in_mode, f"{mode}_ROUND", bits == 32, test)
        top = (1 << (bits - 1)) - 1
        for name, value in (("multiplier", 0), ("multiplier", top), ("shift", 2), ("shift", 62)):
            yield f"{bits} bits, {name}: {value}", partial(_has, bits == 32, name, value)
    if in_t in (i8, i16) and out_t is not i32:
        yield "unsigned input: greatest", lambda s: s.call.input_unsigned and s.has("input", -1)
        yield "unsigned output: 0", lambda s: s.call.output_unsigned and s.gives(0)
        yield "unsigned output: greatest", lambda s: s.call.output_unsigned and s.gives(-1)
        yield "unsigned output: saturates low", lambda s: s.call.output_unsigned and any_of(scaled(s).result < 0)


def _has(scale32: bool, name: str, value: int, seen: Seen) -> bool:
    return seen.call.scale32 == scale32 and seen.has(name, value)


def _in_mode(mode: str, scale32: bool, test: Test, seen: Seen) -> bool:
    return seen.call.rounding_mode == mode and seen.call.scale32 == scale32 and test(seen)


def _of_mode(mode: str, *, clips: bool) -> Corners:
    def halves(sign: int, seen: Seen) -> bool:
        found = scaled(seen)
        return any_of(tie(found.product, found.shift) & (np.sign(found.product) == sign))

    yield "tie above 0", partial(halves, 1)
    yield "tie below 0", partial(halves, -1)
    if clips:
        yield "saturates low", lambda s: any_of(scaled(s).result < scaled(s).low)
        yield "saturates high", lambda s: any_of(scaled(s).result > scaled(s).high)
        yield "least without saturating", lambda s: any_of(scaled(s).result == scaled(s).low)
        yield "greatest without saturating", lambda s: any_of(scaled(s).result == scaled(s).high)
    if mode == "DOUBLE":
        for name, sign in (("above 0", 1), ("below 0", -1)):
            yield f"differs from SINGLE_ROUND {name}", partial(_differs, sign)
    if mode == "INEXACT":
        yield "may be less", partial(_may, -1)
        yield "may be more", partial(_may, 1)


def _differs(sign: int, seen: Seen) -> bool:
    found = scaled(seen)
    return any_of((found.double != found.single) & (np.sign(found.value) == sign))


def _may(sign: int, seen: Seen) -> bool:
    """Whether an element may be less, or more, than what SINGLE_ROUND gives, and not only by the clip."""
    found = scaled(seen)
    columns: Any = np.broadcast_arrays(found.value, found.multiplier, found.shift, found.single)
    lists = (column.reshape(-1)[:SAMPLE].tolist() for column in columns)
    for value, multiplier, shift, single in zip(*lists, strict=True):
        low, high = inexact_interval(value, multiplier, shift, found.zero_point)
        one = single + found.zero_point
        if found.low < one < found.high and (low < one if sign < 0 else high > one):
            return True
    return False


def table(row: Row) -> Corners:
    if row.types["in_t"] is i16:
        yield "fraction: 0", lambda s: any_of((s["input1"] & 127) == 0)
        yield "fraction: 127", lambda s: any_of((s["input1"] & 127) == 127)
        for name, slope in (("least", -32768), ("greatest", 32767)):
            yield f"slope: {name}", partial(_slope, slope)


def _slope(wanted: int, seen: Seen) -> bool:
    index = (seen["input1"] + 32768) >> 7
    entries = seen["table"]
    return any_of((entries[index + 1] - entries[index] == wanted) & ((seen["input1"] & 127) > 0))


def segments(seen: Seen) -> set[int]:
    """The entries of a table of 256, and the segments of one of 513, that were met."""
    value = seen["input1"].reshape(-1)
    return set(np.unique(value + 128 if seen.call.in_t is i8 else (value + 32768) >> 7).tolist())
