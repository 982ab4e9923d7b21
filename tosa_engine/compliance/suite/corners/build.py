"""Building a test of the values of its operands: shapes are theirs, formats those of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....numerics.float_formats import round_to
from ....spec.case import Case
from ...cases.values import corners, dtype_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....spec import OpSpec, Row
    from ....types import Array, DType

    Made = tuple[Case, dict[str, Array]]


def made(
    spec: OpSpec, row: Row, operands: Mapping[str, Any], constants: Mapping[str, Any] = {}, **attributes: Any
) -> Made:
    """A use with these inputs and constants, by argument; attributes that aren't given are those of the example."""
    case, feeds = Case(spec.name), {}
    case.set(**{**spec.example(row).attributes, **attributes})
    for argument in spec.inputs:
        dtype = dtype_of(argument.type, row) if argument.type != "mul_t" else None
        if argument.name in operands:
            assert dtype is not None
            array = stored(operands[argument.name], dtype)
            case.input(argument.name, dtype, array.shape)
            feeds[argument.name] = array
        else:
            given = (constants or {}).get(argument.name, [0])
            if isinstance(given, tuple):  # with its format
                case.const(argument.name, given[0], given[1])
            else:
                assert dtype is not None
                case.const(argument.name, dtype, given)
    for output in spec.outputs:
        case.output(output.name, dtype_of(output.type, row), None)
    return case, feeds


def stored(values: Any, dtype: DType) -> Array:
    array = np.asarray(values)
    return round_to(array.astype(np.float64), dtype) if dtype.is_float else array.astype(dtype.storage)


def all_corners(dtype: DType) -> Array:
    """Every corner of a format once, with its ends first."""
    if dtype.kind == "bool":
        return np.array([False, True])
    found = np.array(corners(dtype))
    if dtype.is_float:
        return found
    ends = np.array([dtype.minimum, dtype.maximum, 0, 1, -1], dtype.storage)
    return np.concatenate([ends, np.setdiff1d(found, ends)])


def crossed(first: Array, second: Array) -> tuple[Array, Array]:
    """All pairs."""
    a, b = np.meshgrid(np.arange(len(first)), np.arange(len(second)))
    return first[a.reshape(-1)], second[b.reshape(-1)]
