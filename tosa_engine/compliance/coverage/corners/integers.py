"""Corners of what operators compute of integers and Booleans: accumulators, rounding, saturation, wrapping."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....oracle.spatial import taps
from ....types import bool_, i8, i32
from .seen import any_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....spec import Row
    from ....types import Array, DType
    from .seen import Seen, Test

    Corners = Iterator[tuple[str, Test]]


def ends(row: Row) -> Corners:
    """Both ends of the result's format, exactly."""
    dtype: DType = row.types.get("out_t", row.types.get("in_out_t", i32))
    if dtype.is_int:
        yield "result: least", lambda s: s.gives(dtype.minimum)
        yield "result: greatest", lambda s: s.gives(dtype.maximum)


def signs(row: Row) -> Corners:
    """Quotients that aren't whole, of all signs."""
    for first, a in (("+", 1), ("-", -1)):
        for second, b in (("+", 1), ("-", -1)):
            yield f"rest: {first}{second}", partial(_rest, a, b)
    yield from ends(row)


def _rest(a: int, b: int, seen: Seen) -> bool:
    first, second = seen.pair
    return any_of((np.sign(first) == a) & (np.sign(second) == b) & (first % np.where(second == 0, 1, second) != 0))


def compared(row: Row) -> Corners:
    dtype: DType = row.types.get("in_t", row.types.get("in_out_t", i32))
    yield "operands: equal", lambda s: any_of(s.pair[0] == s.pair[1])
    if dtype.is_int:
        yield "operands: the first by 1 more", lambda s: any_of(s.pair[0] - s.pair[1] == 1)
        yield "operands: the first by 1 less", lambda s: any_of(s.pair[0] - s.pair[1] == -1)
    else:
        yield (
            "operands: 0 and -0",
            lambda s: any_of((s.pair[0] == 0) & (s.pair[1] == 0) & (np.signbit(s.pair[0]) != np.signbit(s.pair[1]))),
        )


def logic(row: Row) -> Corners:
    for a in (0, 1):
        for b in (0, 1):
            yield f"operands: {a} and {b}", partial(_both, a, b)


def _both(a: int, b: int, seen: Seen) -> bool:
    return any_of((seen.pair[0] == a) & (seen.pair[1] == b))


def tie(value: Array, shift: Array | int) -> Array:
    """Where value / 2^shift is halfway between two integers."""
    shift, one = np.asarray(shift).astype(np.int64), np.ones((), np.uint64)
    rest = value.astype(np.uint64) & ((one << shift.astype(np.uint64)) - one)
    return np.asarray((shift > 0) & (rest == one << np.maximum(shift - 1, 0).astype(np.uint64)))


def right_shift(row: Row) -> Corners:
    def halves(sign: int, seen: Seen) -> bool:
        return bool(seen.call.round) and any_of(tie(*seen.pair) & (np.sign(seen.pair[0]) == sign))

    yield "tie: above 0", partial(halves, 1)
    yield "tie: below 0", partial(halves, -1)
    yield (
        "cut: below 0",
        lambda s: not s.call.round and any_of((s.pair[0] < 0) & (s.pair[0] & ((np.int64(1) << s.pair[1]) - 1) != 0)),
    )


def left_shift(row: Row) -> Corners:
    dtype: DType = row.types["in_out_t"]
    yield (
        "bits: some are lost",
        lambda s: any_of(((s.pair[0] << s.pair[1]) > dtype.maximum) | ((s.pair[0] << s.pair[1]) < dtype.minimum)),
    )


def unsigned_shift(row: Row) -> Corners:
    yield "bits: of a negative value", lambda s: any_of((s.pair[0] < 0) & (s.pair[1] > 0))


def product(row: Row) -> Corners:
    dtype: DType = row.types["in_t"]
    if dtype is i32:
        yield from _shifted(dtype)
        yield from ends(row)
    elif dtype.is_int:
        low, high = dtype.minimum, dtype.maximum
        yield "product: greatest", lambda s: any_of(s.pair[0] * s.pair[1] == low * low)
        yield "product: least", lambda s: any_of(s.pair[0] * s.pair[1] == low * high)


def _shifted(dtype: DType) -> Corners:
    def halves(sign: int, seen: Seen) -> bool:
        made = seen.pair[0] * seen.pair[1]
        return any_of(tie(made, seen.zero_point("shift")) & (np.sign(made) == sign))

    yield "tie: above 0", partial(halves, 1)
    yield "tie: below 0", partial(halves, -1)
    for shift in (1, 31, 32, 63):
        yield f"shift: {shift}", partial(lambda n, s: s.zero_point("shift") == n, shift)
    yield "wraps: high", lambda s: s.zero_point("shift") == 0 and any_of(s.pair[0] * s.pair[1] > dtype.maximum)
    yield "wraps: low", lambda s: s.zero_point("shift") == 0 and any_of(s.pair[0] * s.pair[1] < dtype.minimum)


def negated(row: Row) -> Corners:
    dtype: DType = row.types["in_out_t"]

    def raw(seen: Seen) -> Any:
        return seen.zero_point("output_zp") - (seen["input1"] - seen.zero_point("input1_zp"))

    if dtype.is_int and dtype is not i32:
        yield "saturates: high", lambda s: any_of(raw(s) > dtype.maximum)
    if dtype is i8:
        yield "saturates: low", lambda s: any_of(raw(s) < dtype.minimum)


def clipped(row: Row) -> Corners:
    yield "value: below min_val", lambda s: any_of(s["input"] < s.call.min_val)
    yield "value: min_val", lambda s: s.has("input", s.call.min_val)
    yield "value: between", lambda s: any_of((s["input"] > s.call.min_val) & (s["input"] < s.call.max_val))
    yield "value: max_val", lambda s: s.has("input", s.call.max_val)
    yield "value: above max_val", lambda s: any_of(s["input"] > s.call.max_val)


def zeros(row: Row) -> Corners:
    for value in (0, 1, -1):
        yield f"value: {value}", partial(lambda n, s: s.has("input1", n), value)


def greatest_twice(row: Row) -> Corners:
    def twice(seen: Seen) -> bool:
        values = seen["input"]
        top = values.max(seen.call.axis, keepdims=True)
        return any_of((values == top).sum(seen.call.axis) > 1)

    yield "greatest: twice", twice


def truths(row: Row) -> Corners:
    def count(kind: str, seen: Seen) -> bool:
        share = seen["input"].mean(seen.call.axis)
        return any_of(share == 1 if kind == "all" else share == 0 if kind == "none" else (share > 0) & (share < 1))

    for kind in ("all", "none", "some"):
        yield f"true: {kind}", partial(count, kind)


def narrowed(row: Row) -> Corners:
    """CAST between integers: low bits are kept, bool says what isn't 0."""
    in_t, out_t = row.types["in_t"], row.types["out_t"]
    if out_t is bool_:
        yield "value: 0", lambda s: s.has("input", 0)
        yield "value: even, not 0", lambda s: any_of((s["input"] != 0) & (s["input"] % 2 == 0))
    elif in_t is not bool_ and out_t.bits < in_t.bits:
        yield "wraps: high", lambda s: any_of(s["input"] > out_t.maximum)
        yield "wraps: low", lambda s: any_of(s["input"] < out_t.minimum)


def average(row: Row) -> Corners:
    dtype: DType = row.types["in_out_t"]

    def sums(seen: Seen) -> tuple[Array, Array]:
        if not hasattr(seen, "sums"):
            value = seen["input"] - seen.zero_point("input_zp")
            total = np.zeros(seen.call.shape_of("output"), np.int64)
            count = np.zeros_like(total)
            for _, out_region, in_region in taps(seen.call, seen.call.kernel, (1, 1)):
                total[out_region] += value[in_region]
                count[out_region] += 1
            seen.sums = total, count  # type: ignore[attr-defined]
        return seen.sums  # type: ignore[attr-defined, no-any-return]

    def halves(sign: int, seen: Seen) -> bool:
        total, count = sums(seen)
        return any_of((2 * np.abs(total) % (2 * count) == count) & (np.sign(total) == sign))

    def beyond(sign: int, seen: Seen) -> bool:
        total, count = sums(seen)
        mean = np.floor(total / count + 0.5) + seen.zero_point("output_zp")
        return any_of(mean > dtype.maximum if sign > 0 else mean < dtype.minimum)

    if not dtype.is_int:
        return
    yield "tie: above 0", partial(halves, 1)
    yield "tie: below 0", partial(halves, -1)
    if dtype is i8:
        yield "saturates: high", partial(beyond, 1)
        yield "saturates: low", partial(beyond, -1)
    yield "accumulator: least", lambda s: any_of(sums(s)[0] == i32.minimum)
    yield "accumulator: greatest", lambda s: any_of(sums(s)[0] == i32.maximum)
