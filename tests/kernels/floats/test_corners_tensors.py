"""NaN, infinities, signed zeros, subnormal and largest values in reductions, pools, products and RESIZE.

Each line is tried in every format of floats that the operator has, on the oracle and on the kernels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from float_tools import INF, LEAST, LOW, MOST, NAN, TINY, VALUES, WIDE, check, literal

from tosa_engine.spec import TABLE
from tosa_engine.types import bf16, fp8e4m3, fp8e5m2, fp16, fp32

if TYPE_CHECKING:
    from tosa_engine.types import DType

REDUCTIONS: list[tuple[str, dict[str, Any], list[Any], Any]] = [
    ("REDUCE_MAX", {"nan_mode": "PROPAGATE"}, [1.0, NAN, INF], NAN),
    ("REDUCE_MAX", {"nan_mode": "IGNORE"}, [NAN, -INF, NAN], -INF),
    ("REDUCE_MAX", {"nan_mode": "IGNORE"}, [NAN, NAN, NAN], NAN),
    ("REDUCE_MAX", {"nan_mode": "PROPAGATE"}, [-INF, -INF, "-most"], "-most"),
    ("REDUCE_MAX", {"nan_mode": "PROPAGATE"}, ["-low", "-tiny", "-least"], "-tiny"),
    ("REDUCE_MIN", {"nan_mode": "PROPAGATE"}, [1.0, NAN, -INF], NAN),
    ("REDUCE_MIN", {"nan_mode": "IGNORE"}, [NAN, INF, NAN], INF),
    ("REDUCE_MIN", {"nan_mode": "IGNORE"}, [NAN, NAN, NAN], NAN),
    ("REDUCE_MIN", {"nan_mode": "PROPAGATE"}, [INF, INF, MOST], MOST),
    ("REDUCE_MIN", {"nan_mode": "PROPAGATE"}, [LOW, TINY, LEAST], TINY),
    ("REDUCE_SUM", {}, [INF, 1.0, -INF], NAN),
    ("REDUCE_SUM", {}, [NAN, 1.0, 2.0], NAN),
    ("REDUCE_SUM", {}, [MOST, MOST, 0.0], INF),
    ("REDUCE_SUM", {}, [LOW, TINY, 0.0], LEAST),
    ("REDUCE_SUM", {}, [-0.0, -0.0, -0.0], 0.0),  # the sum starts from +0
    ("REDUCE_PRODUCT", {}, [INF, 0.0, 1.0], NAN),
    ("REDUCE_PRODUCT", {}, [NAN, 0.0, 1.0], NAN),
    ("REDUCE_PRODUCT", {}, [MOST, -2.0, 1.0], -INF),
    ("REDUCE_PRODUCT", {}, [-0.0, 5.0, 1.0], -0.0),
    ("REDUCE_PRODUCT", {}, [TINY, 0.5, -1.0], -0.0),
    ("REDUCE_PRODUCT", {}, [MOST, MOST, 0.0], 0.0),  # nothing overflows on the way: the reference is in fp64
]


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(("op", "attributes", "given", "wanted"), REDUCTIONS)
def test_reductions(op: str, attributes: dict[str, Any], given: list[Any], wanted: Any, dtype: DType) -> None:
    check(op, [(dtype, literal(given, dtype))], [wanted], axis=0, **attributes)


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@pytest.mark.parametrize(
    ("mode", "given", "wanted"),
    [
        ("PROPAGATE", [1.0, NAN, MOST, NAN], 1),
        ("PROPAGATE", [NAN, MOST, 1.0, 1.0], 0),
        ("IGNORE", [1.0, NAN, MOST, NAN], 2),
        ("IGNORE", [NAN, NAN, NAN, NAN], 0),
        ("IGNORE", [NAN, "-most", NAN, "-most"], 1),
        ("PROPAGATE", [-0.0, 0.0, -0.0, 0.0], 0),
        ("PROPAGATE", ["-tiny", 0.0, TINY, LOW], 3),
        ("PROPAGATE", ["-most", "-most", "-most", "-most"], 0),
    ],
)
def test_argmax(mode: str, given: list[Any], wanted: int, dtype: DType) -> None:
    check("ARGMAX", [(dtype, literal(given, dtype))], [wanted], axis=0, nan_mode=mode)


@pytest.mark.parametrize("dtype", [fp8e5m2, *WIDE], ids=str)
def test_argmax_of_infinities(dtype: DType) -> None:
    check("ARGMAX", [(dtype, literal([-INF, -INF, "-most", -INF], dtype))], [2], axis=0)
    check("ARGMAX", [(dtype, literal([-INF, -INF], dtype))], [0], axis=0)


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@pytest.mark.parametrize(
    ("mode", "given", "wanted"),
    [
        ("PROPAGATE", [1.0, NAN, 2.0, 3.0], NAN),
        ("IGNORE", [1.0, NAN, 2.0, 3.0], 3.0),
        ("IGNORE", [NAN, NAN, NAN, NAN], NAN),
        ("PROPAGATE", ["-low", "-tiny", "-least", "-most"], "-tiny"),
        ("PROPAGATE", ["-most", "-most", "-most", "-most"], "-most"),
    ],
)
def test_max_pool(mode: str, given: list[Any], wanted: Any, dtype: DType) -> None:
    x = literal(given, dtype).reshape(1, 2, 2, 1)
    check("MAX_POOL2D", [(dtype, x)], [wanted], kernel=(2, 2), stride=(1, 1), pad=(0, 0, 0, 0), nan_mode=mode)


SUMS: dict[DType, tuple[tuple[DType, DType], ...]] = {  # (accumulator, output of a convolution)
    fp8e4m3: ((fp16, fp16),), fp8e5m2: ((fp16, fp16),), fp16: ((fp16, fp16), (fp32, fp16)), bf16: ((fp32, bf16),),
    fp32: ((fp32, fp32),),
}  # fmt: skip


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_avg_pool(dtype: DType) -> None:
    """Padding doesn't count; sums of the largest values don't overflow, for the mean is of the format."""
    cases = [([1.0, NAN, 2.0, 3.0], NAN), ([TINY, TINY, TINY, TINY], TINY), ([-0.0, -0.0, -0.0, -0.0], 0.0)]
    cases += [([MOST, MOST, MOST, MOST], MOST), (["-most", "-most", MOST, MOST], 0.0)]
    if dtype is not fp8e4m3:
        cases += [([INF, 1.0, 1.0, 1.0], INF), ([INF, -INF, 1.0, 1.0], NAN)]
    zeros = [np.zeros(1, dtype.storage)] * 2
    for given, wanted in cases:
        x = literal(given, dtype).reshape(1, 2, 2, 1)
        for acc, _ in SUMS[dtype]:
            attributes = {"kernel": (2, 2), "stride": (1, 1), "pad": (0, 0, 0, 0), "acc_type": acc}
            check("AVG_POOL2D", [(dtype, x)], [wanted], constants=zeros, **attributes)
    corner = literal([2.0], dtype).reshape(1, 1, 1, 1)
    attributes = {"kernel": (2, 2), "stride": (1, 1), "pad": (1, 0, 0, 1), "acc_type": SUMS[dtype][0][0]}
    check("AVG_POOL2D", [(dtype, corner)], [2.0], constants=zeros, **attributes)


PRODUCTS: list[tuple[list[Any], list[Any], Any]] = [
    ([NAN, 1.0], [1.0, 1.0], NAN),
    ([1.0, -2.0], [2.0, 1.0], 0.0),
    ([-0.0, -0.0], [1.0, 1.0], 0.0),
    ([1.0, 2.0], [3.0, 4.0], 11.0),
]
INFINITE: list[tuple[list[Any], list[Any], Any]] = [
    ([INF, 1.0], [0.0, 1.0], NAN),
    ([INF, 1.0], [-1.0, 1.0], -INF),
    ([INF, INF], [1.0, -1.0], NAN),
]
# of the products of the largest values
LARGEST: dict[DType, tuple[list[Any], list[Any], float]] = {
    fp8e4m3: ([MOST, 0.0], [MOST, 0.0], INF),  # 200704 is beyond fp16
    fp8e5m2: ([224.0, 0.0], [224.0, 0.0], 50176.0),
    fp16: ([MOST, 0.0], [2.0, 0.0], INF),
    bf16: ([MOST, 0.0], [2.0, 0.0], INF),
    fp32: ([MOST, 0.0], [2.0, 0.0], INF),
}


def products(dtype: DType) -> list[tuple[list[Any], list[Any], Any]]:
    return PRODUCTS + (INFINITE if dtype is not fp8e4m3 else []) + [LARGEST[dtype]]


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_matrix_products(dtype: DType) -> None:
    zeros = [np.zeros(1, dtype.storage)] * 2
    for first, second, wanted in products(dtype):
        a, b = literal(first, dtype).reshape(1, 1, 2), literal(second, dtype).reshape(1, 2, 1)
        for row in TABLE["MATMUL"].rows:
            if row.types["in_t"] is dtype:
                out = row.types["out_t"]
                if out is fp32 and dtype is fp16 and math.isinf(wanted) and not any(INF in f for f in (first, second)):
                    wanted = 131008.0
                check("MATMUL", [(dtype, a), (dtype, b)], [wanted], out, zeros)


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@pytest.mark.parametrize("op", ["CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"])
def test_convolutions(op: str, dtype: DType) -> None:
    """A sum of two products, plus a bias; the bias may overflow or be NaN, too."""
    axes = 3 if op == "CONV3D" else 2
    attributes: dict[str, Any] = {"pad": (0, 0) * axes, "stride": (1,) * axes, "dilation": (1,) * axes}
    if op == "TRANSPOSE_CONV2D":
        attributes = {"out_pad": (0, 0, 0, 0), "stride": (1, 1)}
    zeros = [np.zeros(1, dtype.storage)] * 2
    for acc, out in SUMS[dtype]:
        cases: list[tuple[list[Any], list[Any], Any, Any]] = [(a, b, 0.0, w) for a, b, w in products(dtype)]
        cases += [([1.0, 1.0], [1.0, 1.0], NAN, NAN), ([1.0, 1.0], [1.0, 1.0], INF, INF)]
        cases += [([1.0, -1.0], [1.0, 1.0], "-tiny", "-tiny"), ([1.0, -1.0], [1.0, 1.0], -0.0, 0.0)]
        for first, second, bias, wanted in cases:
            a, b, c = literal(first, dtype), literal(second, dtype), literal([bias], out)
            x, w = a.reshape(1, *(1,) * axes, 2), b.reshape(1, *(1,) * axes, 2)
            if op == "DEPTHWISE_CONV2D":
                x, w = a.reshape(1, 2, 1, 1), b.reshape(2, 1, 1, 1)
            check(op, [(dtype, x)], [wanted], out, [w, c, *zeros], acc_type=acc, local_bound=False, **attributes)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_resize(dtype: DType) -> None:
    """BILINEAR multiplies infinities with weights of 0; NEAREST copies."""
    x = literal([1.0, INF, -0.0, NAN, TINY, TINY], dtype).reshape(1, 1, 6, 1)
    places = [np.array(v, np.int64) for v in ([1, 1, 1, 1], [0, 0], [0, 0])]
    check("RESIZE", [(dtype, x)], [1.0, INF, -0.0, NAN, TINY, TINY], constants=places, mode="NEAREST")
    check("RESIZE", [(dtype, x)], [NAN, NAN, NAN, NAN, TINY, TINY], constants=places, mode="BILINEAR")
