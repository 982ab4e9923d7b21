"""Corners of RESCALE: a channel for each, with its own multiplier and shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....types import i8, i16, i32, i48
from .build import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....spec import OpSpec, Row
    from .build import Made

    Channel = tuple[int, int, list[int]]  # multiplier, shift, values


def rescale(spec: OpSpec, row: Row) -> Iterator[Made]:
    in_t, out_t = row.types["in_t"], row.types["out_t"]
    for bits, modes in ((32, ("SINGLE", "DOUBLE", "INEXACT")), (16, ("SINGLE", "INEXACT"))):
        if bits == 32 and in_t is i48:
            continue
        far: Channel = (1 << (bits - 2), 62, [in_t.minimum, in_t.maximum])
        channels = [*_rounding(bits), *_ends(row, bits), *_extremes(bits), far]
        for mode in modes:
            yield _test(spec, row, channels, bits, f"{mode}_ROUND")
        inexact, zero = _inexact(row, bits)
        if inexact:
            yield _test(spec, row, inexact, bits, "INEXACT_ROUND", input_zp=zero[0], output_zp=zero[1])
    one = (1 << 30, 30, [-128, -1, 0, 1, 127])
    if i8 in (in_t, out_t):
        for zero_point in (-128, 127):
            zeros = {"input_zp": zero_point if in_t is i8 else 0, "output_zp": zero_point if out_t is i8 else 0}
            yield _test(spec, row, [_fitting(one, in_t)], 16 if in_t is i48 else 32, "SINGLE_ROUND", **zeros)
    if in_t in (i8, i16) and out_t is not i32:
        yield from _unsigned(spec, row)


def _fitting(channel: Channel, in_t: Any) -> Channel:
    return channel if in_t is not i48 else (1 << 14, 14, channel[2])


def _test(spec: OpSpec, row: Row, channels: list[Channel], bits: int, mode: str, **more: Any) -> Made:
    """Values of a channel stand below each other; the shorter ones are repeated."""
    zeros = {name: more.pop(name, 0) for name in ("input_zp", "output_zp")}
    rows = max(len(values) for _, _, values in channels)
    table = np.stack([np.resize(values, rows) for _, _, values in channels], axis=1) + zeros["input_zp"]
    in_t = row.types["in_t"]
    constants = {
        "multiplier": (i32 if bits == 32 else i16, [m for m, _, _ in channels]), "shift": [s for _, s, _ in channels],
        **{name: [value] for name, value in zeros.items()},
    }  # fmt: skip
    attributes = {"scale32": bits == 32, "rounding_mode": mode, "per_channel": True, "input_unsigned": False}
    table = np.clip(table, in_t.minimum, in_t.maximum) if not more.get("input_unsigned") else table
    return made(spec, row, {"input": table}, constants, **{**attributes, "output_unsigned": False, **more})


def _rounding(bits: int) -> list[Channel]:
    """Halves, and what DOUBLE_ROUND rounds otherwise."""
    unit = bits - 2
    near = list(range(-8, 9))
    return [(1 << unit, unit + 1, near), (1 << unit, unit + 3, near), (3 << (unit - 1), unit + 2, near)]


def _ends(row: Row, bits: int) -> list[Channel]:
    """The least and the greatest result, and results beyond them."""
    in_t, out_t, unit = row.types["in_t"], row.types["out_t"], bits - 2
    if out_t is i32:
        return []
    found: list[Channel] = []
    for end in (out_t.minimum, out_t.maximum):
        if in_t.minimum <= end <= in_t.maximum:
            found.append((1 << unit, unit, [end]))
        elif bits == 16:  # from int8 to the ends of int16
            found.append((end, 2, [4]) if end > 0 else (1 << unit, 2, [-8]))
        else:
            found.append((abs(end) << 8, 10, [4 if end > 0 else -4]))
    beyond = min(in_t.maximum, 4 * out_t.maximum)
    ratio = -(-2 * out_t.maximum // beyond)
    shift = unit - max(0, ratio.bit_length())
    return [*found, (ratio << shift, shift, [beyond, -beyond])]


def _extremes(bits: int) -> list[Channel]:
    top = (1 << (bits - 1)) - 1
    return [(0, bits - 1, [1, -1]), (top, bits - 1, [1, 5, -5]), (1, 2, [0, 1, -1]), (top, 62, [100, -100])]


def _inexact(row: Row, bits: int) -> tuple[list[Channel], tuple[int, int]]:
    """A result that isn't a tie and may be one more all the same, as it is so near below one; with zero points that
    make errors larger. Found by trying values and multipliers.
    """
    in_t, out_t = row.types["in_t"], row.types["out_t"]
    zero = (-128 if in_t is i8 else 0, 100 if out_t is i8 else 0)
    values = np.arange(min(in_t.maximum - zero[0], 1 << 20), 0, -1)[:400, None]
    top, limit = (1 << (bits - 1)) - 1, min(out_t.maximum - zero[1] - 1, 1 << 22)
    for shift in range(38, 9, -1):
        most = min(limit, int(values.max()) * top >> shift)
        halves = 2 * np.arange(most, max(most - 120, 1), -1)[None, :] - 1
        tie = halves << (shift - 1)
        multiplier = tie // values
        rest = (tie - values * multiplier) / 2.0**shift
        good = (multiplier > 0) & (multiplier <= top) & (rest > 0) & (rest < (2 * halves + zero[1]) * 2.0**-24)
        if bits == 32:
            good &= values < 1 << (shift - 1)
        if good.any():
            at = np.argwhere(good)[0]
            return [(int(multiplier[tuple(at)]), shift, [int(values[at[0], 0])])], zero
    return [], zero


def _unsigned(spec: OpSpec, row: Row) -> Iterator[Made]:
    """Both sides in turn; values of 16 bits with the zero point 32768, too."""
    in_t, out_t = row.types["in_t"], row.types["out_t"]
    for bits in (32, 16):
        unit = bits - 2
        values: list[Channel] = [
            (1 << unit, unit + 1, [0, -1, 1, 100, in_t.minimum]),
            (1 << unit, unit - 1, [-1, 7, 0]),
        ]
        for zero in (0, in_t.minimum) if in_t is i16 else (0,):
            found = _test(spec, row, values, bits, "SINGLE_ROUND", input_unsigned=True)
            found[0].const("input_zp", in_t, [zero])
            yield found
        ratio = 2 if out_t.bits <= in_t.bits else 1 << 9
        shift = unit - ratio.bit_length()
        values = [(ratio << shift, shift, [-5, in_t.maximum, 0, 1]), (1 << unit, unit, [-3, 0, 3])]
        for zero in (0, out_t.minimum) if out_t is i16 else (0,):
            found = _test(spec, row, values, bits, "SINGLE_ROUND", output_unsigned=True)
            found[0].const("output_zp", out_t, [zero])
            yield found
