"""What the tests of floats' corners share: literal values of every format, and both voices on one operator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import Session, oracle
from tosa_engine.builder import Builder
from tosa_engine.numerics.float_formats import round_to
from tosa_engine.types import bf16, fp8e4m3, fp8e5m2, fp16, fp32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

INF, NAN = math.inf, math.nan
# names of values that differ between the formats: the least and greatest subnormal, the least normal, the largest
TINY, LOW, LEAST, MOST = "tiny", "low", "least", "most"
VALUES: dict[DType, dict[str, float]] = {
    fp16: {TINY: 2.0**-24, LOW: 1023 * 2.0**-24, LEAST: 2.0**-14, MOST: 65504.0},
    bf16: {TINY: 2.0**-133, LOW: 127 * 2.0**-133, LEAST: 2.0**-126, MOST: 255 * 2.0**120},
    fp32: {TINY: 2.0**-149, LOW: 8388607 * 2.0**-149, LEAST: 2.0**-126, MOST: (2.0**24 - 1) * 2.0**104},
    fp8e4m3: {TINY: 2.0**-9, LOW: 7 * 2.0**-9, LEAST: 2.0**-6, MOST: 448.0},
    fp8e5m2: {TINY: 2.0**-16, LOW: 3 * 2.0**-16, LEAST: 2.0**-14, MOST: 57344.0},
}
WIDE = (fp16, bf16, fp32)


# functions that kernels compute with an error of their own, so that they may give the neighbour of the oracle's result
ROUNDED = frozenset(("COS", "ERF", "EXP", "LOG", "POW", "RECIPROCAL", "RSQRT", "SIGMOID", "SIN", "TANH"))


def steps(array: Array) -> Array:
    """The position of each value among all of its format: neighbours differ by 1, both zeros are 0."""
    bits = array.view(f"u{array.dtype.itemsize}").astype(np.int64)
    top = 1 << (8 * array.dtype.itemsize - 1)
    return np.where(bits >= top, top - bits, bits)


def literal(values: Sequence[Any], dtype: DType) -> Array:
    """The values in a format; names stand for values of the format, with a minus sign before them for negative ones."""

    def one(value: Any) -> Any:
        if isinstance(value, str):
            return -VALUES[dtype][value[1:]] if value.startswith("-") else VALUES[dtype][value]
        return value

    found = np.array([one(v) for v in values])
    return round_to(found.astype(np.float64), dtype) if dtype.is_float else found.astype(dtype.storage)


def graph_of(op: str, inputs: Sequence[Any], out: DType | None, constants: Sequence[Any], **attributes: Any) -> Graph:
    b = Builder()
    tensors = [b.input(dtype, array.shape, f"x{i}") for i, (dtype, array) in enumerate(inputs)]
    b.output(b.op(op, *tensors, *constants, dtype=out, output="y", **attributes))
    return b.graph()


def check(
    op: str, inputs: Sequence[tuple[DType, Any]], wanted: Any, out: DType | None = None, constants: Sequence[Any] = (),
    **attributes: Any,
) -> None:  # fmt: skip
    """Both voices give `wanted`: the same values, the same signs of zeros, NaN where NaN is wanted."""
    graph = graph_of(op, inputs, out, constants, **attributes)
    feeds = {f"x{i}": array for i, (_, array) in enumerate(inputs)}
    form = graph.outputs[0].dtype
    expected = literal(np.ravel(np.array(wanted, object)).tolist(), form).astype(np.float64)
    for got in (oracle.run(graph, feeds)["y"], Session(graph, 1).run(None, feeds)[0]):
        assert got.dtype == form.storage
        values = got.astype(np.float64).reshape(-1)
        np.testing.assert_array_equal(values, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(values[numbers]), np.signbit(expected[numbers]))
