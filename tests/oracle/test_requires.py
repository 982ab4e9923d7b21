"""Every REQUIRE of the op table has inputs that violate it: label, first element, message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from oracle_tools import HIGH, INF, LOW, LOW48, NAN, conv, rescale, run, use, violation

from tosa_engine.errors import RequireViolation
from tosa_engine.spec import TABLE
from tosa_engine.types import fp32, i4, i8, i16, i32, i48

if TYPE_CHECKING:
    from tosa_engine.spec.case import Case

MANY = 33026  # products 255 * 255 whose sum is beyond int32

VIOLATIONS: dict[str, tuple[Case, dict[str, Any], tuple[int, ...]]] = {
    "ADD.R1": (use("ADD", [i32, i32], i32), {"input1": [[0, LOW], [HIGH, 1]], "input2": [[0, 0], [1, HIGH]]}, (1, 0)),
    "SUB.R1": (use("SUB", [i32, i32], i32), {"input1": [0, LOW, LOW], "input2": [HIGH, 0, 1]}, (2,)),
    "MUL.R1": (use("MUL", [i32, i32], i32).const("shift", i8, [64]), {"input1": [1], "input2": [1]}, (0,)),
    "MUL.R2": (use("MUL", [i16, i16], i32).const("shift", i8, [1]), {"input1": [1], "input2": [1]}, (0,)),
    "MUL.R3": (use("MUL", [i32, i32], i32).const("shift", i8, [31]), {"input1": [1, LOW], "input2": [LOW] * 2}, (1,)),
    "TABLE.R1": (
        use("TABLE", [i16], i32).const("table", i16, [-32768, *[32767] * 512]), {"input1": [0, 5, -32768]}, (2,),
    ),
    "ABS.R1": (use("ABS", [i32], i32), {"input1": [-HIGH, LOW]}, (1,)),
    "NEGATE.R1": (
        use("NEGATE", [i32], i32).const("input1_zp", i32, [0]).const("output_zp", i32, [0]),
        {"input1": [HIGH, LOW]},
        (1,),
    ),
    "CAST.R1": (use("CAST", [fp32], i8), {"input": [INF, 1.0, NAN]}, (2,)),
    "RESCALE.R1": (rescale(i8, i8, [1, -1], [30, 30], per_channel=True), {"input": [[1, 1]]}, (0, 1)),
    "RESCALE.R2": (rescale(i8, i8, [1, 1], [62, 63], per_channel=True), {"input": [[1, 1]]}, (0, 1)),
    "RESCALE.R3": (rescale(i8, i8, [1], [8], (-128, 0)), {"input": [-1, 0]}, (1,)),
    "RESCALE.R4": (rescale(i48, i32, [1 << 14], [14], scale32=False), {"input": [HIGH, LOW, HIGH + 1]}, (2,)),
    "RESCALE.R5": (rescale(i48, i8, [1 << 14], [14], (0, 127), scale32=False), {"input": [HIGH - 127, HIGH]}, (1,)),
    "REDUCE_SUM.R1": (use("REDUCE_SUM", [i32], i32, axis=1), {"input": [[1, 2, 3], [HIGH, 1, -5]]}, (1, 0)),
    "CONV2D.R1": (
        conv("CONV2D", i8, i8, i32, (127, 127)),
        {"input": np.full((1, 1, 1, MANY), -128), "weight": np.full((1, 1, 1, MANY), -128), "bias": [-HIGH]},
        (0, 0, 0, 0),
    ),
    "CONV2D.R2": (
        conv("CONV2D", i8, i4, i32),
        {"input": [[[[-128]], [[1]]]], "weight": [[[[7]]], [[[-7]]]], "bias": [LOW + 896, HIGH - 895]},
        (0, 0, 0, 1),
    ),
    "DEPTHWISE_CONV2D.R1": (
        conv("DEPTHWISE_CONV2D", i8, i8, i32, (127, 127)),
        {"input": np.full((1, 182, 182, 1), -128), "weight": np.full((182, 182, 1, 1), -128), "bias": [-HIGH]},
        (0, 0, 0, 0),
    ),
    "DEPTHWISE_CONV2D.R2": (
        conv("DEPTHWISE_CONV2D", i16, i8, i48),
        {"input": [[[[-32768, 32767]]]], "weight": [[[[-128], [-128]]]], "bias": [LOW48 + 4194175]},
        (0, 0, 0, 1),
    ),
    "MATMUL.R1": (
        use("MATMUL", [i8, i8], i32).const("A_zp", i8, [127]).const("B_zp", i8, [127]),
        {"A": np.full((1, 1, MANY), -128), "B": np.full((1, MANY, 1), -128)},
        (0, 0, 0),
    ),
    "AVG_POOL2D.R1": (
        use("AVG_POOL2D", [i16], i16, kernel=(256, 257), stride=(1, 1), pad=(0, 0, 0, 0), acc_type=i32)
        .const("input_zp", i16, [0]).const("output_zp", i16, [0]),
        {"input": np.full((1, 256, 257, 1), -32768)},
        (0, 0, 0, 0),
    ),
    "CONV3D.R1": (
        conv("CONV3D", i8, i8, i32, (127, 127)),
        {"input": np.full((1, 1, 1, 1, MANY), -128), "weight": np.full((1, 1, 1, 1, MANY), -128), "bias": [-HIGH]},
        (0, 0, 0, 0, 0),
    ),
    "CONV3D.R2": (
        conv("CONV3D", i8, i4, i32),
        {"input": [[[[[-128]]], [[[1]]]]], "weight": [[[[[7]]]], [[[[-7]]]]], "bias": [LOW + 896, HIGH - 895]},
        (0, 0, 0, 0, 1),
    ),
    "TRANSPOSE_CONV2D.R1": (
        conv("TRANSPOSE_CONV2D", i8, i8, i32, (127, 127)),
        {"input": np.full((1, 1, 1, MANY), -128), "weight": np.full((1, 1, 2, MANY), -128), "bias": [-HIGH]},
        (0, 0, 0, 0),
    ),
    "TRANSPOSE_CONV2D.R2": (
        conv("TRANSPOSE_CONV2D", i16, i8, i48),
        {"input": [[[[1], [-32768]]]], "weight": [[[[-128]]], [[[127]]]], "bias": [0, LOW48 + 4161535]},
        (0, 0, 1, 1),
    ),
    "ARITHMETIC_RIGHT_SHIFT.R1": (
        use("ARITHMETIC_RIGHT_SHIFT", [i8, i8], i8, round=True), {"input1": [1] * 4, "input2": [0, 7, 8, -1]}, (2,),
    ),
    "LOGICAL_LEFT_SHIFT.R1": (
        use("LOGICAL_LEFT_SHIFT", [i16, i16], i16), {"input1": [[1], [2]], "input2": [[15, 16]]}, (0, 1),
    ),
    "LOGICAL_RIGHT_SHIFT.R1": (
        use("LOGICAL_RIGHT_SHIFT", [i32, i32], i32), {"input1": [1] * 3, "input2": [0, 31, LOW]}, (2,),
    ),
    "INTDIV.R1": (use("INTDIV", [i32, i32], i32), {"input1": [LOW, 0, LOW], "input2": [1, 0, -1]}, (1,)),
    "INTDIV.R2": (use("INTDIV", [i32, i32], i32), {"input1": [HIGH, LOW, 1], "input2": [-1, -1, 0]}, (1,)),
    "POW.R1": (use("POW", [fp32, fp32], fp32), {"input1": [0, 2, -2, -1], "input2": [1, -2, 2, 1]}, (2,)),
    "POW.R2": (use("POW", [fp32, fp32], fp32), {"input1": [0, 1, 0, 0], "input2": [0.5, 0, 0, -1]}, (2,)),
    "POW.R3": (use("POW", [fp32, fp32], fp32), {"input1": [1, 2], "input2": [-1, NAN]}, (1,)),
    "POW.R4": (use("POW", [fp32, fp32], fp32), {"input1": [[2], [INF]], "input2": [[1], [2]]}, (1, 0)),
    "GATHER.R1": (
        use("GATHER", [i8, i32], i8), {"values": np.zeros((2, 3, 2)), "indices": [[0, 2], [1, 3]]}, (1, 1, 0),
    ),
    "SCATTER.R1": (
        use("SCATTER", [i8, i32, i8], i8),
        {"values_in": np.zeros((2, 3, 2)), "indices": [[0, 2], [-1, -1]], "input": np.ones((2, 2, 2))},
        (1, 0, 0),
    ),
    "SCATTER.R2": (
        use("SCATTER", [i8, i32, i8], i8),
        {"values_in": np.zeros((2, 3, 2)), "indices": [[1, 1], [3, 0]], "input": np.ones((2, 2, 2))},
        (0, 1, 0),
    ),
}  # fmt: skip
# No input reaches them: |sum| <= 2^16 * count < 2^(29 + k) always holds; an index beyond int32 takes 2^31 steps.
UNREACHABLE = {"AVG_POOL2D.R2", "ARGMAX.R1"}


def test_every_require_has_a_violation() -> None:
    labels = {r.label for spec in TABLE.values() if spec.pure for r in spec.requires}
    assert set(VIOLATIONS) | UNREACHABLE == labels


@pytest.mark.parametrize("label", VIOLATIONS)
def test_require(label: str) -> None:
    case, feeds, index = VIOLATIONS[label]
    assert violation(case, **feeds) == (label, index)


def test_messages_carry_the_values() -> None:
    case, feeds, _ = VIOLATIONS["ADD.R1"]
    with pytest.raises(RequireViolation) as caught:
        run(case, **feeds)
    assert str(caught.value) == (
        "ADD.R1: sum 2147483648 is beyond -2147483648 .. 2147483647 at [1, 0]; 2 of 4 elements violate a REQUIRE"
        " (node 'output', tensor 'output')"
    )
    assert caught.value.count == 2
    case, feeds, _ = VIOLATIONS["RESCALE.R3"]
    with pytest.raises(RequireViolation) as caught:
        run(case, **feeds)
    assert caught.value.message == "value 128 is beyond -128 .. 128 - 1 for shift 8 at [1]"
    assert caught.value.count == 1


def test_an_element_counts_once() -> None:
    """The accumulator of one element leaves its format in many places, another one only with the bias."""
    case = conv("CONV2D", i8, i8, i32, (127, 127))
    feeds = {"input": np.full((1, 2, 1, MANY), -128), "weight": np.full((3, 1, 1, MANY), -128), "bias": [0, 0, 7]}
    feeds["input"][0, 1] = 127
    feeds["weight"][1] = 127
    with pytest.raises(RequireViolation) as caught:
        run(case, **feeds)
    assert (caught.value.label, caught.value.index, caught.value.count) == ("CONV2D.R1", (0, 0, 0, 0), 2)


def test_an_index_outside_is_not_written_and_counts_once() -> None:
    """0 and 2 are the rows nearest to -1 and 3: they aren't written before."""
    with pytest.raises(RequireViolation) as caught:
        run(
            use("SCATTER", [i8, i32, i8], i8),
            values_in=np.zeros((1, 3, 1)),
            indices=[[-1, 0, 3, 2]],
            input=np.ones((1, 4, 1)),
        )
    assert str(caught.value) == (
        "SCATTER.R1: index -1 is not in 0 .. 2 at [0, 0, 0]; 2 of 4 elements violate a REQUIRE "
        "(node 'output', tensor 'input')"
    )


def test_mul_whose_rounding_leaves_int64() -> None:
    case = use("MUL", [i32, i32], i32).const("shift", i8, [63])
    assert violation(case, input1=[HIGH, LOW], input2=[LOW, LOW]) == ("MUL.R3", (1,))
    assert run(case, input1=[HIGH], input2=[LOW]) == [0]
