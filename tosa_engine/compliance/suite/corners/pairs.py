"""Corners of operators with two operands and of sums: pairs of values that keep the REQUIREs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....numerics.float_formats import FORMATS
from ....types import i8, i16, i32
from .build import all_corners, crossed, made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ....spec import OpSpec, Row
    from .build import Made

    Maker = Callable[[OpSpec, Row], Iterator[Made]]

LOW, HIGH = i32.minimum, i32.maximum
FREE: Final = (
    "MAXIMUM", "MINIMUM", "EQUAL", "GREATER", "GREATER_EQUAL", "BITWISE_AND", "BITWISE_OR", "BITWISE_XOR",
    "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR",
)  # fmt: skip
# operands of int32, one list for each test; MUL has a shift in front
INT32: Final[Mapping[str, Any]] = {
    "ADD": [[(LOW, 0), (HIGH, 0), (0, LOW), (0, HIGH), (HIGH - 1, 1), (LOW + 1, -1), (LOW, HIGH)]],
    "SUB": [[(LOW, 0), (HIGH, 0), (-1, LOW), (0, HIGH), (HIGH - 1, -1), (LOW + 1, 1), (LOW, LOW)]],
    "INTDIV": [[(LOW, 1), (HIGH, 1), (HIGH, -1), (7, 2), (-7, 2), (7, -2), (-7, -2), (5, LOW), (5, HIGH), (LOW, LOW)]],
}  # fmt: skip
PRODUCTS: Final = {
    0: [(HIGH, 1), (LOW, 1), (1, LOW), (1, HIGH), (65536, 65537), (-65536, 65537), (LOW, HIGH)],
    1: [(3, 1), (-3, 1), (5, 1), (-1, 1), (1 << 16, (1 << 16) - 1), (-(1 << 16), 1 << 16), (HIGH, 2), (LOW, 2)],
    31: [(3, 1 << 30), (-3, 1 << 30), (HIGH, HIGH), (LOW, HIGH), (LOW, LOW + 1)],
    32: [(3, 1 << 30), (6, 1 << 30), (-6, 1 << 30), (LOW, HIGH)],
    63: [(LOW, HIGH), (HIGH, HIGH), (1, 1), (-1, 1), (LOW, 1 - HIGH)],
}  # fmt: skip


def binary(spec: OpSpec, row: Row) -> Iterator[Made]:
    dtype = next(iter(row.types.values()))
    for nan_mode in _modes(spec):
        if dtype.is_float or spec.name in FREE:
            first, second = crossed(all_corners(dtype), all_corners(dtype))
            if not dtype.is_float:
                first, second = np.append(first, [3, 3]), np.append(second, [2, 4])
            yield made(spec, row, {"input1": first, "input2": second}, **nan_mode)
    if dtype.is_float:
        most = FORMATS[dtype].largest
        other = [-most, most] if spec.name == "SUB" else [most, -most]
        yield made(spec, row, {"input1": [most, -most], "input2": other})
    for pairs in INT32.get(spec.name, []) if dtype is i32 else []:
        yield made(spec, row, {"input1": [a for a, _ in pairs], "input2": [b for _, b in pairs]})


def _modes(spec: OpSpec) -> tuple[dict[str, Any], ...]:
    there = any(attribute.name == "nan_mode" for attribute in spec.attributes)
    return ({"nan_mode": "PROPAGATE"}, {"nan_mode": "IGNORE"}) if there else ({},)


def product(spec: OpSpec, row: Row) -> Iterator[Made]:
    dtype = row.types["in_t"]
    if dtype.is_float:
        yield from binary(spec, row)
    elif dtype is i32:
        for shift, pairs in PRODUCTS.items():
            operands = {"input1": [a for a, _ in pairs], "input2": [b for _, b in pairs]}
            yield made(spec, row, operands, {"shift": [shift]})
    else:
        first, second = crossed(all_corners(dtype), all_corners(dtype))
        yield made(spec, row, {"input1": first, "input2": second})


def shifts(spec: OpSpec, row: Row) -> Iterator[Made]:
    dtype = row.types["in_out_t"]
    values = np.append(all_corners(dtype), [3, -3, 5, -5, 6, -6])
    first, second = crossed(values, np.array([0, 1, 2, dtype.bits - 1]))
    rounds: tuple[dict[str, Any], ...] = ({"round": True}, {"round": False}) if spec.attributes else ({},)
    for attributes in rounds:
        yield made(spec, row, {"input1": first, "input2": second}, **attributes)


def power(spec: OpSpec, row: Row) -> Iterator[Made]:
    form = FORMATS[row.types["in_out_t"]]
    bases = np.array([1.0, 2.0, 0.5, form.largest, form.least_subnormal, form.least_normal])
    exponents = np.array([1.0, -0.0, 0.0, 0.5, -1.0, 2.0, form.largest, -form.largest, form.least_subnormal])
    first, second = crossed(bases, exponents)
    first, second = np.append(first, [-0.0, 0.0]), np.append(second, [1.0, 0.5])
    yield made(spec, row, {"input1": first, "input2": second})


def select(spec: OpSpec, row: Row) -> Iterator[Made]:
    values = all_corners(row.types["in_out_t"])
    both = np.concatenate([values, values])
    yield made(spec, row, {"input1": np.arange(len(both)) < len(values), "input2": both, "input3": both})


def sums(spec: OpSpec, row: Row) -> Iterator[Made]:
    """REDUCE_SUM: each column one sum."""
    dtype = row.types["in_out_t"]
    if dtype.is_float:
        values = all_corners(dtype)
        most = FORMATS[dtype].largest
        yield made(spec, row, {"input": np.stack([values, np.zeros_like(values)])}, axis=0)
        yield made(spec, row, {"input": [[most, -most], [most, -most]]}, axis=0)
    else:
        yield made(spec, row, {"input": [[HIGH, LOW, HIGH - 1, LOW + 1], [0, 0, 1, -1]]}, axis=0)


def factors(spec: OpSpec, row: Row) -> Iterator[Made]:
    """REDUCE_PRODUCT."""
    values = all_corners(row.types["in_out_t"])
    most = FORMATS[row.types["in_out_t"]].largest
    yield made(spec, row, {"input": np.stack([values, np.ones_like(values)])}, axis=0)
    yield made(spec, row, {"input": [[most, most], [most, -most]]}, axis=0)


def matmul(spec: OpSpec, row: Row) -> Iterator[Made]:
    """Sums of integers that are exactly the ends of the accumulator; floats beyond it."""
    dtype, out = row.types["in_t"], row.types["out_t"]
    if dtype.is_float:
        most = FORMATS[dtype].largest
        yield made(spec, row, {"A": [[[most, -most]]], "B": [[[most], [-most]]]})
        return
    zero = 127 if dtype is i8 else 0
    for end in (out.minimum, out.maximum):
        largest = dtype.minimum - zero  # the value of the greatest magnitude
        other = largest if end > 0 else -largest if dtype is i8 else dtype.maximum
        count, rest = divmod(end, largest * other) if end > 0 else (-end // -(largest * other), 0)
        rest = end - count * largest * other
        tail = _as_products(rest, dtype is i8)
        first = [largest] * count + [a for a, _ in tail]
        second = [other] * count + [b for _, b in tail]
        shift = (zero, zero if end > 0 else -128 if dtype is i8 else 0)
        operands = {"A": np.array([[first]]) + shift[0], "B": np.array([second]).reshape(1, -1, 1) + shift[1]}
        yield made(spec, row, operands, {"A_zp": [shift[0]], "B_zp": [shift[1]]})


def _as_products(rest: int, narrow: bool) -> list[tuple[int, int]]:
    """Some products that add up to a number, of factors that the formats have beside their zero points: first ones are
    at most 0 for 8 bits (-255 .. 0), second ones of the sign that is needed.
    """
    most = 255 if narrow else 32767
    sign = 1 if rest >= 0 else -1
    quotient, left = divmod(abs(rest), most)
    parts: list[tuple[int, int]] = []
    while quotient:
        step = min(quotient, most)
        parts.append((-most, -sign * step))
        quotient -= step
    return [*parts, (-1, -sign * left)]


def convolutions(spec: OpSpec, row: Row) -> Iterator[Made]:
    """One pixel, a weight of 0 for integers: the result is the bias, at both ends."""
    dtype, weight, out = (row.types[name] for name in ("in_t", "weight_t", "out_t"))
    axes = len(spec.example(row).attributes["stride"])
    ones = (1,) * axes
    biases = [out.minimum, out.maximum] if out.is_int else list(all_corners(out).astype(np.float64))
    count = len(biases)
    attributes: dict[str, Any] = {"stride": ones, "out_pad" if spec.name.startswith("TRANS") else "pad": (0, 0) * axes}
    if not spec.name.startswith("TRANS"):
        attributes["dilation"] = ones
    deep = spec.name.startswith("DEPTH")
    shape = (*ones, 1, count) if deep else (count, *ones, 1)
    yield made(spec, row, {"input": np.zeros((1, *ones, 1)), "weight": np.zeros(shape), "bias": biases}, **attributes)
    if not out.is_float:
        return
    most, other = FORMATS[dtype].largest, FORMATS[weight].largest
    values = np.full((*ones, 1, 1) if deep else (1, *ones, 1), other)
    yield made(spec, row, {"input": np.full((1, *ones, 1), most), "weight": values, "bias": [0.0]}, **attributes)


def average(spec: OpSpec, row: Row) -> Iterator[Made]:
    dtype = row.types["in_out_t"]
    plain: dict[str, Any] = {"kernel": (1, 2), "stride": (1, 1), "pad": (0, 0, 0, 0)}
    if dtype.is_float:
        values = all_corners(dtype)
        yield made(spec, row, {"input": np.stack([values, values]).T.reshape(1, -1, 2, 1)}, **plain)
    elif dtype is i16:
        side = 8192
        total = np.zeros((1, 9, side, 1), np.int64)
        total.reshape(-1)[:65538] = dtype.maximum
        total.reshape(-1)[65538] = 1
        assert total.sum() == HIGH
        yield made(spec, row, {"input": total}, kernel=(9, side), stride=(1, 1), pad=(0, 0, 0, 0))


def halfway(spec: OpSpec, row: Row) -> Iterator[Made]:
    """RESIZE to twice the size: places between two inputs, before the first and behind the last."""
    values = all_corners(row.types["in_t"])
    shape = np.resize(values, (1, 3, 3, len(values)))
    shapes = {"scale": [2, 1, 2, 1], "offset": [-1, -1], "border": [1, 1]}
    same = row.types["in_t"] is row.types["out_t"]
    modes = ("BILINEAR", "NEAREST") if row.types["in_t"].is_float else ("NEAREST",) if same else ("BILINEAR",)
    for mode in modes:
        yield made(spec, row, {"input": shape}, shapes, mode=mode)


BINARY: Final[Mapping[str, Maker]] = {
    **dict.fromkeys((*FREE, "ADD", "SUB", "INTDIV"), binary),
    **dict.fromkeys(("ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT"), shifts),
    **dict.fromkeys(("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"), convolutions),
    "MUL": product, "POW": power, "SELECT": select, "REDUCE_SUM": sums, "REDUCE_PRODUCT": factors, "MATMUL": matmul,
    "AVG_POOL2D": average, "RESIZE": halfway,
}  # fmt: skip
