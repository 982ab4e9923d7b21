"""The compiled loop of programs: all values are int64, which holds every number on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit
from .places import (  # fmt: skip
    ADD,
    BEHIND_ONE,
    BEHIND_TWO,
    CLAMP,
    CLZ,
    COUNT,
    FIRST,
    FIRST_STEP,
    INTERPOLATE,
    LOAD,
    LOOK_UP,
    MAXIMUM,
    MINIMUM,
    MUL,
    NUMBERS,
    OPERATION,
    REDUCE_MAX,
    REDUCE_SUM,
    RESCALE,
    SECOND,
    SECOND_STEP,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    STORE,
    SUB,
    TO,
    WORDS,
)

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number

I32_MIN, I32_MAX = -(1 << 31), (1 << 31) - 1


@inline
def wrapped(value: Number) -> Number:
    """The low 32 bits with their sign."""
    return (value << 32) >> 32


@inline
def beyond(value: Number) -> Number:
    return (value < I32_MIN) | (value > I32_MAX)


@inline
def leading_zeros(value: Number) -> Number:
    """Of 32 bits."""
    if value < 0:
        return np.int64(0)
    found, rest = np.int64(32), value
    for width in (16, 8, 4, 2, 1):
        if rest >> width != 0:
            found -= width
            rest >>= width
    return found - (1 if rest != 0 else 0)


@inline
def interpolated(value: Number, tables: Array, table: int) -> Number:
    at = table + ((value + 32768) >> 7)
    return tables[at] * 128 + (tables[at + 1] - tables[at]) * (value & 127)


@inline
def shifted(value: Number, amount: Number, rounds: int) -> Number:
    """To the right, plus the last bit that was shifted out where it `rounds`."""
    last = (value >> max(amount - 1, 0)) & 1 if amount > 0 and rounds != 0 else 0
    return (value >> amount) + last


@inline
def scaled(value: Number, p: Array, q: int) -> Number:
    difference = value - p[q + 3]
    rounding = (np.int64(1) << (p[q + 1] - 1)) + (p[q + 2] if difference >= 0 else -p[q + 2])
    return min(max(((difference * p[q] + rounding) >> p[q + 1]) + p[q + 4], p[q + 5]), p[q + 6])


@inline
def of_two(kind: int, a: Number, b: Number, p: Array, q: int) -> Number:
    """The result of an operation on two operands, and whether a REQUIRE fails."""
    if kind == ADD:
        return a + b, beyond(a + b)
    if kind == SUB:
        return a - b, beyond(a - b)
    if kind == MUL:
        product = a * b
        if p[q] == 0:
            return wrapped(product), False
        product = (product >> p[q]) + ((product >> (p[q] - 1)) & 1)
        return product, beyond(product)
    if kind == MAXIMUM:
        return max(a, b), False
    if kind == MINIMUM:
        return min(a, b), False
    amount = b & 31
    if kind == SHIFT_RIGHT:
        return shifted(a, amount, p[q]), amount != b
    if kind == SHIFT_LEFT:
        return wrapped(a << amount), amount != b
    return wrapped((a & 0xFFFFFFFF) >> amount), amount != b


@inline
def of_one(kind: int, a: Number, p: Array, q: int, tables: Array) -> Number:
    """The result of another operation on one operand, none of which can fail."""
    if kind == LOOK_UP:
        return tables[p[q] + a + 128]
    if kind == CLZ:
        return leading_zeros(a)
    if kind == CLAMP:
        return min(max(a, p[q]), p[q + 1])
    return (a << (64 - p[q])) >> (64 - p[q])  # CUT


@inline
def reduced(kind: int, values: Array, first: int, count: int) -> Number:
    """One value of `count`, and whether a sum leaves int32 on the way."""
    total, failed = values[first], False
    for i in range(first + 1, first + count):
        value = values[i]
        total = total + value if kind == REDUCE_SUM else max(total, value) if kind == REDUCE_MAX else min(total, value)
        failed |= beyond(total)
    return total, failed


@jit
def program(x: Array, p: Array, tables: Array, values: Array, out: Array, low: int, high: int) -> int:
    """All operations, one after the other; `values` are the memory of their operands, with the constants in it."""
    for at in range(0, len(p), WORDS):
        kind, count, to, q = p[at + OPERATION], p[at + COUNT], p[at + TO], at + NUMBERS
        first, step, second, pace = p[at + FIRST], p[at + FIRST_STEP], p[at + SECOND], p[at + SECOND_STEP]
        failed = False
        if kind == LOAD:
            for i in range(count):
                values[to + i] = x[i]
        elif kind == STORE:
            for i in range(count):
                out[i] = values[first + i]
        elif kind < BEHIND_TWO:
            for i in range(count):
                found, wrong = of_two(kind, values[first + i * step], values[second + i * pace], p, q)
                values[to + i] = found
                failed |= wrong
        elif kind == RESCALE:
            for i in range(count):
                values[to + i] = scaled(values[first + i * step], p, q)
        elif kind == INTERPOLATE:
            for i in range(count):
                values[to + i] = interpolated(values[first + i * step], tables, p[q])
        elif kind < BEHIND_ONE:
            for i in range(count):
                values[to + i] = of_one(kind, values[first + i * step], p, q, tables)
        else:
            values[to], failed = reduced(kind, values, first, count)
        if failed:
            return 0
    return -1
