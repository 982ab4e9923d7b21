"""REDUCE_SUM between RESCALEs is one step: the same bytes, and only where it is proved."""

from __future__ import annotations

import numpy as np
import pytest
from nets import Net, feeds_of
from replay_tools import replay

from tosa_engine import types
from tosa_engine.plan import Plan, expand, make_plan

i8, i16, i32 = types.i8, types.i16, types.i32


def planned(
    source: types.DType = i8, shape: tuple[int, ...] = (3, 5, 70), axis: int = 2, *, scale: int = 30, shift: int = 44,
    target: types.DType = i8, rounding_mode: str = "SINGLE_ROUND", clamp: bool = False,
) -> Plan:  # fmt: skip
    net = Net()
    x = net.input("x", source, *shape)
    zero = 7 if source is i8 else 0
    exact = np.array([1 << 30], np.int32)
    net.rescale("wide", x, source, i32, scale, zero=(zero, 0), multiplier=exact, rounding_mode=rounding_mode)
    net.op("REDUCE_SUM", "sum", i32, "wide", axis=axis)
    zeros = (0, -9 if target is i8 else 0)
    net.rescale("y", "sum", i32, target, shift, zero=zeros, multiplier=exact + 12345, rounding_mode=rounding_mode)
    outputs = ["y"]
    if clamp:
        outputs = [net.op("CLAMP", "z", target, "y", min_val=-20, max_val=30, nan_mode="PROPAGATE")]
    graph = net.done(*outputs)
    replay(graph, feeds_of(graph))
    return make_plan(expand(graph))


def operators(plan: Plan) -> list[str]:
    return [step.operators for step in plan.steps]


WHOLE = "RESCALE+REDUCE_SUM+RESCALE"


@pytest.mark.parametrize("rounding_mode", ["SINGLE_ROUND", "DOUBLE_ROUND"])
@pytest.mark.parametrize("target", [i8, i16, i32])
def test_sums_of_bytes_are_one_step(target: types.DType, rounding_mode: str) -> None:
    shift = {i8: 37, i16: 32, i32: 31}[target]
    assert operators(planned(target=target, shift=shift, rounding_mode=rounding_mode)) == [WHOLE]


def test_sums_of_words_and_along_axes_before_extents_of_1() -> None:
    assert operators(planned(i16, (4, 33, 1), 1, target=i16, shift=38)) == [WHOLE]


def test_a_clamp_behind_is_part_of_the_step() -> None:
    assert operators(planned(clamp=True, shift=37)) == [f"{WHOLE}+CLAMP"]


def test_other_scales_and_axes_are_steps_of_their_own() -> None:
    assert WHOLE not in operators(planned(scale=31))
    assert WHOLE not in operators(planned(axis=1))


def test_a_sum_that_may_leave_int32_is_tested() -> None:
    """70,000 times 32,768 is more than int32 holds."""
    assert WHOLE not in operators(planned(i16, (1, 70_000), 1, target=i16, shift=45))


@pytest.mark.parametrize("size", [(1, 1), (8, 8), (9, 17), (64, 128), (7, 300), (130, 5)])
@pytest.mark.parametrize("dtype", [i8, i16, i32])
def test_transposed_matrices(dtype: types.DType, size: tuple[int, int]) -> None:
    net = Net()
    graph = net.done(net.op("TRANSPOSE", "y", dtype, net.input("x", dtype, *size), perms=(1, 0)))
    replay(graph, feeds_of(graph))
