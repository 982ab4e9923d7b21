"""Corners of operators with one operand, and of those that move elements: all corners of its format at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....numerics.float_formats import FORMATS
from ....types import bool_, i8, i16, i32, shape
from .build import all_corners, made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ....spec import OpSpec, Row
    from ....types import Array, DType
    from .build import Made

    Maker = Callable[[OpSpec, Row], Iterator[Made]]

HALVES: Final = (0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.0, -0.0, 1.0, -1.0, 100.0, -100.0)


def _values(dtype: DType) -> Array:
    found = all_corners(dtype)
    return np.concatenate([found.astype(np.float64), HALVES]) if dtype.is_float else found


def unary(spec: OpSpec, row: Row) -> Iterator[Made]:
    """Without the least int32 where its magnitude isn't one."""
    name, dtype = spec.inputs[0].name, next(iter(row.types.values()))
    values = _values(dtype)
    if dtype is i32 and spec.name in ("ABS", "NEGATE"):
        values = values[values != i32.minimum]
    zeros: tuple[tuple[int, int], ...] = ((0, 0),)
    if spec.name == "NEGATE" and dtype is i8:
        zeros = ((0, 0), (-128, 127), (127, -128))
    for first, second in zeros:
        yield made(spec, row, {name: values}, {"input1_zp": [first], "output_zp": [second]})
    if spec.name == "EXP":
        yield made(spec, row, {name: [FORMATS[dtype].largest, 1.0]})


def clamp(spec: OpSpec, row: Row) -> Iterator[Made]:
    dtype = row.types["in_out_t"]
    low, high = (-2.5, 100.0) if dtype.is_float else (-5, 90)
    values = np.concatenate([_values(dtype), np.array([low, high, low + 1, high - 1])])
    for mode in ("PROPAGATE", "IGNORE"):
        yield made(spec, row, {"input": values}, min_val=low, max_val=high, nan_mode=mode)


def along(spec: OpSpec, row: Row) -> Iterator[Made]:
    """Columns of a corner, a zero, and the corner again."""
    values = all_corners(next(iter(row.types.values())))
    zero = np.zeros_like(values)
    modes: tuple[dict[str, Any], ...] = ({},)
    if any(attribute.name == "nan_mode" for attribute in spec.attributes):
        modes = ({"nan_mode": "PROPAGATE"}, {"nan_mode": "IGNORE"})
    for mode in modes:
        yield made(spec, row, {spec.inputs[0].name: np.stack([values, zero, values])}, axis=0, **mode)


def truths(spec: OpSpec, row: Row) -> Iterator[Made]:
    yield made(spec, row, {"input": [[True, False, True], [True, False, False]]}, axis=0)


def pool(spec: OpSpec, row: Row) -> Iterator[Made]:
    values = all_corners(row.types["in_out_t"])
    for mode in ("PROPAGATE", "IGNORE"):
        attributes: dict[str, Any] = {"kernel": (1, 2), "stride": (1, 1), "pad": (0, 0, 0, 0), "nan_mode": mode}
        yield made(spec, row, {"input": values.reshape(1, 1, -1, 1)}, **attributes)


def moves(spec: OpSpec, row: Row) -> Iterator[Made]:
    values = all_corners(row.types["in_out_t"])
    count = len(values)
    all_constants: dict[str, dict[str, list[int]]] = {
        "PAD": {"padding": [1, 1]}, "RESHAPE": {"shape": [1, count]}, "SLICE": {"start": [0], "size": [count]},
        "TILE": {"multiples": [2]},
    }  # fmt: skip
    constants = {name: (shape, some) for name, some in all_constants.get(spec.name, {}).items()}
    all_attributes: dict[str, dict[str, Any]] = {"REVERSE": {"axis": 0}, "TRANSPOSE": {"perms": (0,)}}
    yield made(spec, row, {"input1": values}, constants, **all_attributes.get(spec.name, {}))


def concat(spec: OpSpec, row: Row) -> Iterator[Made]:
    values = all_corners(row.types["in_out_t"])
    case, feeds = made(spec, row, {}, {"input1": values})
    case.inputs = {}
    case.list_input("input1", row.types["in_out_t"], values.shape, values.shape).set(axis=0)
    feeds |= {"input1_0": values, "input1_1": values}
    yield case, feeds


def gather(spec: OpSpec, row: Row) -> Iterator[Made]:
    values = all_corners(row.types["in_out_t"])
    table, indices = values.reshape(1, -1, 1), np.arange(len(values))[::-1].reshape(1, -1)
    if spec.name == "GATHER":
        yield made(spec, row, {"values": table, "indices": indices})
    else:
        yield made(spec, row, {"values_in": table, "indices": indices, "input": table})
        half = len(values) // 2
        yield made(spec, row, {"values_in": table, "indices": indices[:, :half], "input": table[:, :half]})


def table(spec: OpSpec, row: Row) -> Iterator[Made]:
    """The steepest slopes that are legal, up and down."""
    if row.types["in_t"] is i16:
        entries = np.resize([0, 32767, -1], 513)
        yield made(spec, row, {"input1": np.arange(-32768, 32768, 61)}, {"table": entries})


def cast(spec: OpSpec, row: Row) -> Iterator[Made]:
    in_t, out_t = row.types["in_t"], row.types["out_t"]
    values = all_corners(in_t).astype(np.float64)
    if in_t.is_float and not out_t.is_float:
        values = np.concatenate([values[~np.isnan(values)], HALVES])
    elif out_t.is_float and in_t is not bool_:
        values = np.concatenate([values, _around(in_t, out_t)])
    elif in_t is not bool_:
        values = np.concatenate([values, [0, 2, -2, 126]])
    yield made(spec, row, {"input": values})


def _around(in_t: DType, out_t: DType) -> Array:
    """Numbers halfway between two of a float format, beyond it, and below its least ones."""
    form = FORMATS[out_t]
    precision = round(-np.log2(form.least_subnormal / form.least_normal)) + 1
    step = 2.0 ** (1 - precision)
    some = [1 + step / 2, 1 + 1.5 * step, 2.0**precision + 1, 2.0**precision + 3, 1.5 * form.largest]
    some += [form.least_normal * 0.75, form.least_subnormal / 4, form.least_subnormal * 1.5]
    if in_t.is_float:
        return np.array([*some, *(-v for v in some)])
    return np.array([v for v in (*some, *(-v for v in some)) if v == int(v) and in_t.minimum <= v <= in_t.maximum])


def condition(spec: OpSpec, row: Row) -> Iterator[Made]:
    """Both ways."""
    for value in (False, True):
        case, feeds = spec.example(row), {"condition": np.array([value]), "input_list_0": np.arange(6, dtype=np.int8)}
        feeds["input_list_0"] = feeds["input_list_0"].reshape(2, 3)
        case.regions["else"].operators[0].op = "BITWISE_NOT"
        yield case, feeds


def variable(spec: OpSpec, row: Row) -> Iterator[Made]:
    dtype = row.types["in_t"]
    values = all_corners(dtype)
    case, feeds = made(spec, row, {"input1": values})
    case.after("VARIABLE", name="v", var_shape=values.shape, type=dtype, initial_value=np.zeros_like(values))
    yield case, feeds


ONE: Final = (
    "ABS", "BITWISE_NOT", "CEIL", "CLZ", "COS", "EXP", "FLOOR", "LOG", "LOGICAL_NOT", "NEGATE", "RECIPROCAL", "RSQRT",
    "SIN", "ERF", "SIGMOID", "TANH", "IDENTITY",
)  # fmt: skip
UNARY: Final[Mapping[str, Maker]] = {
    **dict.fromkeys(ONE, unary),
    **dict.fromkeys(("ARGMAX", "REDUCE_MAX", "REDUCE_MIN"), along),
    **dict.fromkeys(("REDUCE_ALL", "REDUCE_ANY"), truths),
    **dict.fromkeys(("PAD", "RESHAPE", "SLICE", "TILE", "REVERSE", "TRANSPOSE"), moves),
    **dict.fromkeys(("GATHER", "SCATTER"), gather),
    "CLAMP": clamp, "MAX_POOL2D": pool, "CONCAT": concat, "TABLE": table, "CAST": cast, "COND_IF": condition,
    "VARIABLE_WRITE": variable,
}  # fmt: skip
