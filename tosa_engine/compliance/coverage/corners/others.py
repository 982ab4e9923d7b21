"""Corners of floats, of conversions, of sampling, and of what runs regions or variables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....numerics.float_formats import FORMATS
from ....types import bool_
from .integers import ends, narrowed
from .seen import any_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....spec import Row
    from ....types import Array, DType
    from .seen import Seen, Test

    Corners = Iterator[tuple[str, Test]]


def is_float(row: Row) -> bool:
    return any(dtype.is_float for dtype in row.types.values())


def sums(row: Row) -> Corners:
    """Of integers both ends of the result; of floats what leaves the format."""
    if not is_float(row):
        yield from ends(row)
    else:
        yield from overflow(row)


def overflow(row: Row) -> Corners:
    """Finite operands whose result isn't."""

    def finite(seen: Seen) -> bool:
        operands = [seen[a.name] for a in seen.call.spec.inputs if not a.is_list]
        return all(np.isfinite(one).all() for one in operands)

    yield "result: beyond the format", lambda s: finite(s) and any_of(~np.isfinite(s.result))


def function(*points: float) -> object:
    """A function of one float at some points of its own."""

    def corners(row: Row) -> Corners:
        for point in points:
            yield f"value: {point:g}", partial(_at, point)

    return corners


def _at(point: float, seen: Seen) -> bool:
    value = seen[seen.call.spec.inputs[0].name]
    return any_of((value == point) & (np.signbit(value) == np.signbit(point)))


def below_zero(row: Row) -> Corners:
    name = "input1"
    yield "value: 0", partial(_at, 0.0)
    yield "value: below 0", lambda s: any_of((s[name] < 0) & np.isfinite(s[name]))
    yield "value: 1", lambda s: s.has(name, 1.0)


def cast(row: Row) -> Corners:
    in_t, out_t = row.types["in_t"], row.types["out_t"]
    if not in_t.is_float and not out_t.is_float:
        yield from narrowed(row)
    elif not out_t.is_float:
        yield from _to_integer(out_t)
    elif _holds(in_t, out_t):
        return
    else:
        yield from _rounded(in_t, out_t)


def _holds(in_t: DType, out_t: DType) -> bool:
    """Whether every value is one of the other format."""
    form = FORMATS[out_t]
    precision = round(-np.log2(form.least_subnormal / form.least_normal)) + 1
    if in_t.is_float:
        other = FORMATS[in_t]
        own = round(-np.log2(other.least_subnormal / other.least_normal)) + 1
        return precision >= own and form.largest >= other.largest and form.least_subnormal <= other.least_subnormal
    return in_t is bool_ or precision >= in_t.bits


def _to_integer(out_t: DType) -> Corners:
    def halves(sign: int, seen: Seen) -> bool:
        value = seen["input"]
        finite = np.where(np.isfinite(value), value, 0)
        return any_of((np.abs(finite) % 1 == 0.5) & (np.sign(finite) == sign))

    yield "tie: above 0", partial(halves, 1)
    yield "tie: below 0", partial(halves, -1)
    yield "saturates: high", lambda s: any_of(s["input"] > out_t.maximum)
    yield "saturates: low", lambda s: any_of(s["input"] < out_t.minimum)


def _rounded(in_t: DType, out_t: DType) -> Corners:
    form = FORMATS[out_t]

    def halves(sign: int, seen: Seen) -> bool:
        """Values as far from the result as from the next number on the other side."""
        value = seen["input"].astype(np.float64)
        with np.errstate(all="ignore"):
            _, exponent = np.frexp(np.where(np.isfinite(value), value, 0))
            step = np.maximum(np.ldexp(form.least_subnormal / form.least_normal, exponent - 1), form.least_subnormal)
            near = (np.abs(value) % step == step / 2) & (np.abs(value) <= form.largest) & (np.sign(value) == sign)
        return any_of(near & np.isfinite(value))

    yield "tie: above 0", partial(halves, 1)
    yield "tie: below 0", partial(halves, -1)
    largest = float(FORMATS[in_t].largest) if in_t.is_float else float(in_t.maximum)
    if largest > 1.1 * form.largest:
        yield "beyond: high", lambda s: any_of((s["input"] > form.largest) & (s["input"] < np.inf))
        yield "beyond: low", lambda s: any_of((s["input"] < -form.largest) & (s["input"] > -np.inf))
    if in_t.is_float and FORMATS[in_t].least_normal < form.least_normal:
        yield "result: subnormal", lambda s: any_of((s.result != 0) & (np.abs(s.result) < form.least_normal))
        yield "result: nothing is left", lambda s: any_of((s.result == 0) & (s["input"] != 0))


def resize(row: Row) -> Corners:
    def place(seen: Seen, axis: int) -> tuple[Array, int, int]:
        n, d = (int(v) for v in seen["scale"][2 * axis : 2 * axis + 2])
        outputs = seen.call.shape_of("output")[1 + axis]
        return np.arange(outputs) * d + int(seen["offset"][axis]), n, seen.call.shape_of("input")[1 + axis]

    def halfway(axis: int, seen: Seen) -> bool:
        places, n, _ = place(seen, axis)
        return seen.call.mode == "NEAREST" and any_of(2 * (places % n) == n)

    for axis, name in enumerate("yx"):
        yield f"{name}: before the first", partial(lambda a, s: any_of(place(s, a)[0] < 0), axis)
        yield (
            f"{name}: behind the last",
            partial(lambda a, s: any_of(place(s, a)[0] > (place(s, a)[2] - 1) * place(s, a)[1]), axis),
        )
        if row.types["in_t"] is row.types["out_t"]:
            yield (
                f"{name}: halfway",
                partial(
                    lambda a, s: (
                        s.call.mode == "NEAREST" and any_of(2 * (place(s, a)[0] % place(s, a)[1]) == place(s, a)[1])
                    ),
                    axis,
                ),
            )


def branches(row: Row) -> Corners:
    yield "condition: taken", lambda s: s.has("condition", 1)
    yield "condition: not taken", lambda s: s.has("condition", 0)


def rounds(row: Row) -> Corners:
    def same(seen: Seen) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(seen.inputs["input_list"], seen.outputs, strict=True))

    yield "iterations: none", same
    yield "iterations: some", lambda s: not same(s)
