"""Kernels of the reduction operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import types
from .floats.through_float32 import HALVES, in_fp32
from .reductions import places
from .work import Kernel, Loop, Work, bits, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def _sizes(call: Call) -> tuple[int, int, int]:
    shape, axis = call.shape1, call.axis
    return types.count(shape[:axis]), int(shape[axis]), types.count(shape[axis + 1 :])


def fold_fp32(call: Call, kind: int) -> Work:
    from .reductions import loops as reduction_loops

    left, size, right = _sizes(call)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(reduction_loops.fold_float, kind, flat(inputs[0]), size, right, outputs[0].reshape(-1))

    return Work(left, 0.1 * left * size * right, bind)


def reduce_sum(call: Call) -> Work:
    from .reductions import loops as reduction_loops

    left, size, right = _sizes(call)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(reduction_loops.sum_int, flat(inputs[0]), size, right, outputs[0].reshape(-1))

    return Work(left, 0.2 * left * size * right, bind, ((np.dtype(np.int64), right),))


def reduce_sum_fp32(call: Call) -> Work:
    return fold_fp32(call, places.SUM)


def reduce_max_fp32(call: Call) -> Work:
    return fold_fp32(call, places.MAX_IGNORE if call.nan_mode == "IGNORE" else places.MAX)


def reduce_min_fp32(call: Call) -> Work:
    return fold_fp32(call, places.MIN_IGNORE if call.nan_mode == "IGNORE" else places.MIN)


def reduce_product(call: Call) -> Work:
    from .reductions import loops as reduction_loops

    left, size, right = _sizes(call)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(reduction_loops.product_float, flat(inputs[0]), size, right, outputs[0].reshape(-1))

    return Work(left, 0.5 * left * size * right, bind, ((np.dtype(np.float64), right),))


def extremum(name: str) -> Callable[[Call], Work]:
    """Reductions of integers and Booleans, in which the order doesn't matter: of Booleans, ALL is the least value and
    ANY the largest.
    """

    def prepare(call: Call) -> Work:
        from .reductions import loops as reduction_loops

        left, size, right = _sizes(call)
        loop = getattr(reduction_loops, name)

        def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
            x, out = flat(inputs[0]), outputs[0].reshape(-1)
            return Loop(loop, *((bits(x), size, right, bits(out)) if x.dtype == np.bool_ else (x, size, right, out)))

        return Work(left, 0.1 * left * size * right, bind)

    return prepare


KERNELS = {
    ("REDUCE_SUM", "i32_acci32"): Kernel(reduce_sum),
    **{("REDUCE_MAX", key): Kernel(extremum("max_int")) for key in ("i8", "i16", "i32")},
    **{("REDUCE_MIN", key): Kernel(extremum("min_int")) for key in ("i8", "i16", "i32")},
    ("REDUCE_ALL", "bool"): Kernel(extremum("min_int")),
    ("REDUCE_ANY", "bool"): Kernel(extremum("max_int")),
    ("REDUCE_SUM", "fp32_accfp32"): Kernel(reduce_sum_fp32),
    ("REDUCE_MAX", "fp32"): Kernel(reduce_max_fp32),
    ("REDUCE_MIN", "fp32"): Kernel(reduce_min_fp32),
    ("REDUCE_PRODUCT", "fp32"): Kernel(reduce_product),
    ("REDUCE_SUM", "fp16_accfp16"): Kernel(in_fp32(reduce_sum_fp32)),
    ("REDUCE_SUM", "bf16_accfp32"): Kernel(in_fp32(reduce_sum_fp32)),
    **{("REDUCE_MAX", t): Kernel(in_fp32(reduce_max_fp32)) for t in HALVES},
    **{("REDUCE_MIN", t): Kernel(in_fp32(reduce_min_fp32)) for t in HALVES},
    **{("REDUCE_PRODUCT", t): Kernel(in_fp32(reduce_product, np.float64)) for t in HALVES},
}
