"""Every pattern of 8 and 16 bits through casts and functions of one value: kernels beside the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from float_tools import ROUNDED, steps

from tosa_engine import Session, oracle
from tosa_engine.builder import Builder
from tosa_engine.spec import TABLE
from tosa_engine.types import BY_NAME, bf16, fp8e4m3, fp8e5m2, fp16

if TYPE_CHECKING:
    from tosa_engine.spec import Row
    from tosa_engine.types import Array, DType

NARROW = (fp16, bf16, fp8e4m3, fp8e5m2)
CASTS = [row for row in TABLE["CAST"].rows if row.types["in_t"] in NARROW]
EXACT = ("ABS", "CEIL", "FLOOR", "NEGATE")


def patterns(dtype: DType) -> Array:
    return np.arange(1 << dtype.bits).astype(f"u{dtype.storage.itemsize}").view(dtype.storage)


def both(op: str, x: Array, source: DType, target: DType) -> tuple[Array, Array]:
    b = Builder()
    zeros = [np.zeros(1, source.storage)] * (2 if op == "NEGATE" else 0)
    b.output(b.op(op, b.input(source, x.shape, "x"), *zeros, dtype=target, output="y"))
    graph = b.graph()
    wanted = oracle.run(graph, {"x": x})["y"]
    (got,) = Session(graph, 1).run(None, {"x": x})
    return got, wanted


def is_nan(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.isnan(array.astype(np.float64))


@pytest.mark.parametrize("row", CASTS, ids=lambda row: row.key)
def test_casts_of_every_pattern(row: Row) -> None:
    source, target = row.types["in_t"], row.types["out_t"]
    x = patterns(source)
    if target.is_int:
        x = x[~is_nan(x)]
    got, wanted = both("CAST", x, source, target)
    if target.is_int:
        assert got.tobytes() == wanted.tobytes()
        return
    nan = is_nan(wanted)
    np.testing.assert_array_equal(is_nan(got), nan)
    assert got[~nan].tobytes() == wanted[~nan].tobytes()


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("op", [*EXACT, *sorted(ROUNDED - {"POW"})])
def test_functions_of_every_pattern(op: str, dtype: str) -> None:
    """Equal, or for functions that are rounded at most the neighbour; NaN at the same places, the same signs."""
    form = BY_NAME[dtype]
    got, wanted = both(op, patterns(form), form, form)
    nan = is_nan(wanted)
    np.testing.assert_array_equal(is_nan(got), nan)
    if op in EXACT:
        assert got[~nan].tobytes() == wanted[~nan].tobytes()
    else:
        assert np.abs(steps(got[~nan]) - steps(wanted[~nan])).max() <= 1
        assert (np.signbit(got[~nan].astype(np.float32)) == np.signbit(wanted[~nan].astype(np.float32))).all()
