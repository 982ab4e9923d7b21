"""NaN, infinities, signed zeros, subnormal and largest values of elementwise operators on floats, as literal values.

Each line is tried in every format of floats that the operator has, on the oracle and on the kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from float_tools import INF, LEAST, LOW, MOST, NAN, TINY, VALUES, WIDE, check, graph_of, literal

from tosa_engine import Session, oracle
from tosa_engine.errors import RequireViolation
from tosa_engine.types import bf16, bool_, fp16, fp32

if TYPE_CHECKING:
    from tosa_engine.types import DType

UNARY: list[tuple[str, list[Any], list[Any]]] = [
    ("ABS", [-INF, INF, -0.0, 0.0, NAN, "-tiny", "-low", "-most"], [INF, INF, 0.0, 0.0, NAN, TINY, LOW, MOST]),
    ("CEIL", [-INF, INF, -0.0, 0.0, NAN, -0.5, TINY, "-low", 1.5, "-most"],
     [-INF, INF, -0.0, 0.0, NAN, -0.0, 1.0, -0.0, 2.0, "-most"]),
    ("FLOOR", [-INF, INF, -0.0, 0.0, NAN, 0.5, TINY, "-low", -1.5, MOST],
     [-INF, INF, -0.0, 0.0, NAN, 0.0, 0.0, -1.0, -2.0, MOST]),
    ("COS", [-INF, INF, -0.0, 0.0, NAN, TINY, "-low"], [NAN, NAN, 1.0, 1.0, NAN, 1.0, 1.0]),
    ("SIN", [-INF, INF, -0.0, 0.0, NAN, TINY, "-low"], [NAN, NAN, -0.0, 0.0, NAN, TINY, "-low"]),
    ("EXP", [-INF, INF, -0.0, 0.0, NAN, TINY, MOST, "-most"], [0.0, INF, 1.0, 1.0, NAN, 1.0, INF, 0.0]),
    ("LOG", [-INF, INF, -0.0, 0.0, NAN, 1.0, -1.0, "-tiny"], [NAN, INF, -INF, -INF, NAN, 0.0, NAN, NAN]),
    ("NEGATE", [-INF, INF, -0.0, 0.0, NAN, TINY, "-low", MOST], [INF, -INF, 0.0, -0.0, NAN, "-tiny", LOW, "-most"]),
    ("RECIPROCAL", [-INF, INF, -0.0, 0.0, NAN, TINY, "-tiny", -0.5], [-0.0, 0.0, -INF, INF, NAN, INF, -INF, -2.0]),
    ("RSQRT", [-INF, INF, -0.0, 0.0, NAN, 4.0, -4.0, "-tiny"], [NAN, 0.0, -INF, INF, NAN, 0.5, NAN, NAN]),
    ("ERF", [-INF, INF, -0.0, 0.0, NAN, TINY, MOST, "-most"], [-1.0, 1.0, -0.0, 0.0, NAN, TINY, 1.0, -1.0]),
    ("SIGMOID", [-INF, INF, -0.0, 0.0, NAN, TINY, MOST, "-most"], [0.0, 1.0, 0.5, 0.5, NAN, 0.5, 1.0, 0.0]),
    ("TANH", [-INF, INF, -0.0, 0.0, NAN, TINY, "-low", MOST], [-1.0, 1.0, -0.0, 0.0, NAN, TINY, "-low", 1.0]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(("op", "given", "wanted"), UNARY, ids=[case[0] for case in UNARY])
def test_functions_of_one_value(op: str, given: list[Any], wanted: list[Any], dtype: DType) -> None:
    zeros = [np.zeros(1, dtype.storage)] * (2 if op == "NEGATE" else 0)
    check(op, [(dtype, literal(given, dtype))], wanted, constants=zeros)


@pytest.mark.parametrize(
    ("op", "given", "dtype", "wanted"),
    [
        ("LOG", [TINY], fp16, [-16.640625]),  # -24 ln 2 = -16.635..., between -16.625 and -16.640625
        ("LOG", [TINY], bf16, [-92.0]),  # -133 ln 2 = -92.19
        ("RECIPROCAL", [MOST, LEAST], fp16, [2.0**-16, 2.0**14]),
        ("RECIPROCAL", [MOST, LEAST], bf16, [2.0**-128, 2.0**126]),
        ("RECIPROCAL", [MOST, LEAST], fp32, [2.0**-128, 2.0**126]),
        ("RSQRT", [TINY], fp16, [4096.0]),
        ("EXP", [-9.0, -17.0], fp16, [2070 * 2.0**-24, 2.0**-24]),
        ("EXP", [11.5], fp16, [INF]),
        ("EXP", [-100.0], fp32, [27 * 2.0**-149]),
        ("ERF", [LOW], fp16, [1154 * 2.0**-24]),
    ],
    ids=str,
)
def test_subnormal_and_extreme_results(op: str, given: list[Any], dtype: DType, wanted: list[float]) -> None:
    check(op, [(dtype, literal(given, dtype))], wanted)


BINARY: list[tuple[str, list[Any], list[Any], list[Any]]] = [
    ("ADD", [INF, INF, NAN, -0.0, 0.0, TINY, LOW, MOST, "-most", MOST],
     [-INF, INF, 1.0, -0.0, -0.0, TINY, TINY, MOST, MOST, TINY],
     [NAN, INF, NAN, -0.0, 0.0, None, LEAST, INF, 0.0, MOST]),
    ("SUB", [INF, INF, NAN, -0.0, 0.0, LEAST, TINY, "-most", -0.0],
     [INF, -INF, 1.0, 0.0, 0.0, TINY, TINY, MOST, -0.0],
     [NAN, INF, NAN, -0.0, 0.0, LOW, 0.0, -INF, 0.0]),
    ("MUL", [INF, -INF, INF, NAN, -0.0, TINY, "-tiny", MOST, LEAST, MOST],
     [0.0, INF, -2.0, 0.0, 1.0, 0.5, 0.5, 2.0, 0.5, 0.0],
     [NAN, -INF, -INF, NAN, -0.0, 0.0, -0.0, INF, None, 0.0]),
    ("POW", [0.0, -0.0, 0.0, TINY, 2.0, 1.0, 4.0, MOST, MOST, 0.0],
     [2.0, 0.5, TINY, 0.0, -0.0, MOST, 0.5, 2.0, -2.0, MOST],
     [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, INF, 0.0, 0.0]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(("op", "first", "second", "wanted"), BINARY, ids=[case[0] for case in BINARY])
def test_functions_of_two_values(op: str, first: list[Any], second: list[Any], wanted: list[Any], dtype: DType) -> None:
    own = {"ADD": 2 * VALUES[dtype][TINY], "MUL": VALUES[dtype][LEAST] / 2}
    wanted = [own[op] if w is None else w for w in wanted]
    shift = [np.zeros(1, np.int8)] if op == "MUL" else []
    check(op, [(dtype, literal(first, dtype)), (dtype, literal(second, dtype))], wanted, constants=shift)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(
    ("base", "exponent", "label"),
    [
        (-1.0, 2.0, "POW.R1"),
        ("-tiny", 1.0, "POW.R1"),
        (NAN, 1.0, "POW.R1"),
        (-INF, 1.0, "POW.R1"),
        (0.0, 0.0, "POW.R2"),
        (-0.0, -1.0, "POW.R2"),
        (0.0, NAN, "POW.R2"),
        (1.0, NAN, "POW.R3"),
        (INF, 1.0, "POW.R4"),
        (2.0, INF, "POW.R4"),
        (2.0, -INF, "POW.R4"),
    ],
)
def test_powers_that_are_not_defined(base: Any, exponent: float, label: str, dtype: DType) -> None:
    arrays = [literal([2.0, 3.0, base], dtype), literal([1.0, 2.0, exponent], dtype)]
    graph = graph_of("POW", [(dtype, a) for a in arrays], None, ())
    feeds = dict(zip(("x0", "x1"), arrays, strict=True))
    for run in (lambda: oracle.run(graph, feeds), lambda: Session(graph, 1).run(None, feeds)):
        with pytest.raises(RequireViolation) as caught:
            run()
        assert (caught.value.label, caught.value.index) == (label, (2,))


EXTREMA: list[tuple[str, str, list[Any], list[Any], list[Any]]] = [
    ("MAXIMUM", "PROPAGATE", [NAN, 1.0, NAN, INF, -0.0, 0.0, TINY, "-tiny"],
     [1.0, NAN, NAN, NAN, 0.0, -0.0, 0.0, -0.0], [NAN, NAN, NAN, NAN, -0.0, 0.0, TINY, -0.0]),
    ("MAXIMUM", "IGNORE", [NAN, 1.0, NAN, -INF, NAN, MOST], [1.0, NAN, NAN, NAN, -INF, INF],
     [1.0, 1.0, NAN, -INF, -INF, INF]),
    ("MINIMUM", "PROPAGATE", [NAN, 1.0, NAN, -INF, -0.0, 0.0, TINY, "-tiny"],
     [1.0, NAN, NAN, NAN, 0.0, -0.0, 0.0, -0.0], [NAN, NAN, NAN, NAN, 0.0, -0.0, 0.0, "-tiny"]),
    ("MINIMUM", "IGNORE", [NAN, 1.0, NAN, INF, NAN, MOST], [1.0, NAN, NAN, NAN, INF, -INF],
     [1.0, 1.0, NAN, INF, INF, -INF]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(("op", "mode", "first", "second", "wanted"), EXTREMA)
def test_extrema(op: str, mode: str, first: list[Any], second: list[Any], wanted: list[Any], dtype: DType) -> None:
    """Of zeros with different signs the pseudo-code's choice: either is permitted."""
    check(op, [(dtype, literal(first, dtype)), (dtype, literal(second, dtype))], wanted, nan_mode=mode)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(("mode", "of_nan"), [("PROPAGATE", NAN), ("IGNORE", -2.0)])
def test_clamp(mode: str, of_nan: float, dtype: DType) -> None:
    given = literal([NAN, INF, -INF, -0.0, 0.0, TINY, "-tiny", MOST], dtype)
    wanted = [of_nan, 3.0, -2.0, -0.0, 0.0, TINY, "-tiny", 3.0]
    check("CLAMP", [(dtype, given)], wanted, min_val=-2.0, max_val=3.0, nan_mode=mode)
    wanted = [NAN if mode == "PROPAGATE" else -INF, INF, -INF, -0.0, 0.0, TINY, "-tiny", MOST]
    check("CLAMP", [(dtype, given)], wanted, min_val=-INF, max_val=INF, nan_mode=mode)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        ("EQUAL", [False, False, False, True, True, True, False, False]),
        ("GREATER", [False, False, False, False, False, False, True, False]),
        ("GREATER_EQUAL", [False, False, False, True, True, True, True, False]),
    ],
)
def test_comparisons(op: str, wanted: list[bool], dtype: DType) -> None:
    first = literal([NAN, 1.0, NAN, -0.0, INF, -INF, TINY, "-tiny"], dtype)
    second = literal([NAN, NAN, -INF, 0.0, INF, -INF, -0.0, 0.0], dtype)
    check(op, [(dtype, first), (dtype, second)], wanted)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_select(dtype: DType) -> None:
    condition = np.array([True, False, True, False])
    first, second = literal([NAN, 1.0, -0.0, 1.0], dtype), literal([1.0, NAN, 1.0, "-tiny"], dtype)
    check("SELECT", [(bool_, condition), (dtype, first), (dtype, second)], [NAN, NAN, -0.0, "-tiny"])
