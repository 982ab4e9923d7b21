"""Values that random cases seldom meet: the one quotient that overflows, zeros with a sign, every shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import oracle
from tosa_engine.errors import RequireViolation
from tosa_engine.runtime.session import Session
from tosa_engine.spec.case import Case
from tosa_engine.types import bool_, fp32, i8, i16, i32

if TYPE_CHECKING:
    from tosa_engine.types import Array, DType


def both(case: Case, feeds: dict[str, Array]) -> tuple[Array, Array]:
    """The output of the kernel and that of the oracle."""
    graph = case.graph()
    (name,) = graph.main.outputs
    return Session(graph, threads=1).run(None, feeds)[0], oracle.run(graph, feeds)[name]


def two(op: str, dtype: DType, a: list[int], b: list[int], **attributes: bool) -> tuple[Case, dict[str, Array]]:
    first, second = np.array(a, dtype.storage)[:, None], np.array(b, dtype.storage)[None]
    case = Case(op).input("input1", dtype, first.shape).input("input2", dtype, second.shape).set(**attributes)
    return case.output("output", dtype, None), {"input1": first, "input2": second}


def ends(dtype: DType) -> list[int]:
    low, high = dtype.minimum, dtype.maximum
    return [low, low + 1, -7, -2, -1, 0, 1, 2, 7, 0x55, high - 1, high]


def test_quotients_of_the_ends_are_cut_towards_zero() -> None:
    low, high = i32.minimum, i32.maximum
    values = [low, low + 1, low // 2, -65537, -7, -1, 0, 1, 7, 46341, high // 2, high - 1, high]
    for divisor in (low, low + 1, -65536, -3, -2, 1, 2, 3, 46340, high - 1, high):
        got, wanted = both(*two("INTDIV", i32, values, [divisor]))
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("divisor", "rule"), [(0, "R1"), (-1, "R2")])
def test_no_quotient_by_zero_and_none_beyond_int32(divisor: int, rule: str) -> None:
    case, feeds = two("INTDIV", i32, [5, i32.minimum], [1, divisor])
    with pytest.raises(RequireViolation) as caught:
        Session(case.graph(), threads=1).run(None, feeds)
    assert caught.value.label == f"INTDIV.{rule}"
    assert caught.value.index == ((0, 1) if divisor == 0 else (1, 1))


SHIFTS = [
    ("ARITHMETIC_RIGHT_SHIFT", {"round": True}), ("ARITHMETIC_RIGHT_SHIFT", {"round": False}),
    ("LOGICAL_LEFT_SHIFT", {}), ("LOGICAL_RIGHT_SHIFT", {}),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [i8, i16, i32])
@pytest.mark.parametrize(("op", "attributes"), SHIFTS)
def test_every_shift(op: str, attributes: dict[str, bool], dtype: DType) -> None:
    got, wanted = both(*two(op, dtype, ends(dtype), list(range(dtype.bits)), **attributes))
    np.testing.assert_array_equal(got, wanted)
    for wrong in (-1, dtype.minimum, dtype.bits, dtype.maximum):
        case, feeds = two(op, dtype, [1], [0, wrong], **attributes)
        with pytest.raises(RequireViolation) as caught:
            Session(case.graph(), threads=1).run(None, feeds)
        assert (caught.value.label, caught.value.index) == (f"{op}.R1", (0, 1))


def test_leading_zeros_of_every_power_of_two() -> None:
    bits = np.array([0, *(1 << k for k in range(32)), *((1 << k) - 1 for k in range(1, 33))], np.uint32)
    case = Case("CLZ").input("input1", i32, bits.shape).output("output", i32, None)
    got, wanted = both(case, {"input1": bits.view(np.int32)})
    assert got.tolist() == [32 - int(v).bit_length() for v in bits]
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("op", ["REDUCE_MIN", "REDUCE_MAX"])
@pytest.mark.parametrize("nan_mode", ["PROPAGATE", "IGNORE"])
def test_which_of_two_zeros_is_taken(op: str, nan_mode: str) -> None:
    """REDUCE_MIN takes the last of equal values, REDUCE_MAX the first."""
    values = np.array([[0.0, -0.0, np.nan, 1.0], [-0.0, 0.0, -0.0, np.nan]], np.float32)
    case = Case(op).input("input", fp32, (2, 4)).set(axis=0, nan_mode=nan_mode).output("output", fp32, None)
    got, wanted = both(case, {"input": values})
    np.testing.assert_array_equal(got, wanted)
    assert np.signbit(got[0, :2]).tolist() == [op == "REDUCE_MIN", op == "REDUCE_MAX"]
    assert np.isnan(got[0, 2:]).tolist() == [nan_mode == "PROPAGATE"] * 2


def test_select_keeps_the_bits_of_floats() -> None:
    """NaN with a payload, and zeros with a sign."""
    bits = np.array([0x7FC01234, 0x80000000, 0, 0x7F800001], np.uint32)
    case = Case("SELECT").input("input1", bool_, (2, 1)).input("input2", fp32, (1, 4)).input("input3", fp32, (1, 1))
    graph = case.output("output", fp32, None).graph()
    feeds = {
        "input1": np.array([[True], [False]]),
        "input2": bits.view(np.float32)[None],
        "input3": np.array([[0xFFC00007]], np.uint32).view(np.float32),
    }
    (got,) = Session(graph, threads=1).run(None, feeds)
    assert got.view(np.uint32).tolist() == [bits.tolist(), [0xFFC00007] * 4]
