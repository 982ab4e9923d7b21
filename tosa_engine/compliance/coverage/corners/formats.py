"""Corners that every operand has: the ends of its number format, and the numbers that floats keep for themselves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from ....numerics.float_formats import FORMATS
from ....types import bool_, fp8e4m3, i8, i16
from .seen import any_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....spec import Argument, OpSpec, Row
    from ....types import DType
    from .seen import Seen, Test

INDICES: Final = frozenset({"GATHER", "SCATTER"})


def of_operands(spec: OpSpec, row: Row, dtype_of: dict[str, DType]) -> Iterator[tuple[str, Test]]:
    for argument in spec.inputs:
        name = argument.name
        if argument.is_shape or name not in dtype_of or name in ("multiplier", "shift", "table", "pad_const"):
            continue
        dtype = dtype_of[name]
        if name.endswith("_zp"):
            yield from _of_zero_point(spec, argument, dtype)
        elif name == "indices":
            yield "indices: 0", lambda s: s.has("indices", 0)
            yield "indices: the last", lambda s: s.has("indices", s.call.K - 1)
        elif "SHIFT" in spec.name and name == "input2":
            yield "shift: 0", lambda s: s.has("input2", 0)
            yield "shift: all bits but one", partial(_has, "input2", dtype.bits - 1)
        elif dtype is bool_:
            yield f"{name}: false", partial(_has, name, 0)
            yield f"{name}: true", partial(_has, name, 1)
        elif dtype.is_float:
            yield from _of_floats(name, dtype)
        else:
            yield f"{name}: least", partial(_has, name, dtype.minimum)
            yield f"{name}: greatest", partial(_has, name, dtype.maximum)


def _has(name: str, value: float, seen: Seen) -> bool:
    return seen.has(name, value)


def _of_zero_point(spec: OpSpec, argument: Argument, dtype: DType) -> Iterator[tuple[str, Test]]:
    name = argument.name
    if dtype is i8:
        yield f"{name}: -128", partial(_has, name, -128)
        yield f"{name}: 127", partial(_has, name, 127)
    elif dtype is i16 and spec.name == "RESCALE":
        yield f"{name}: 32768", partial(_has, name, -32768)


def _of_floats(name: str, dtype: DType) -> Iterator[tuple[str, Test]]:
    form = FORMATS[dtype]
    yield f"{name}: NaN", lambda s: any_of(np.isnan(s[name]))
    yield f"{name}: -0", lambda s: any_of((s[name] == 0) & np.signbit(s[name]))
    yield f"{name}: subnormal", lambda s: any_of((s[name] != 0) & (np.abs(s[name]) < form.least_normal))
    yield f"{name}: largest", partial(_has, name, form.largest)
    yield f"{name}: -largest", partial(_has, name, -form.largest)
    if dtype is not fp8e4m3:
        yield f"{name}: infinity", partial(_has, name, np.inf)
        yield f"{name}: -infinity", partial(_has, name, -np.inf)
