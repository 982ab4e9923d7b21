"""MATMUL by a constant matrix as a pointwise CONV2D, whose weights are packed once instead of in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...spec import bind_operator
from ...spec.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...spec.table import Call
    from ..work import Work

PLAIN = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}


def by_constant(call: Call, prepare: Callable[..., Work], *more: Any) -> Work | None:
    """The work of a MATMUL of int8 or fp32 by `prepare`, a kernel of CONV2D, where B is one constant matrix. Sums and
    their bounds are the same.
    """
    weight = call.constant("B")
    if weight is None or call.N != 1:
        return None
    kind, sums = call.tensor("A").dtype, call.tensor("output").dtype
    zeros = (call.A_zp, call.B_zp)
    case = Case("CONV2D").input("input", kind, (call.H, 1, 1, call.C))
    case.const("weight", kind, np.ascontiguousarray(weight[0].T).reshape(call.W, 1, 1, call.C))
    case.const("bias", sums, [0]).const("input_zp", kind, [zeros[0]]).const("weight_zp", kind, [zeros[1]])
    case.output("output", sums, (call.H, 1, 1, call.W)).set(**PLAIN, acc_type=sums, local_bound=False)
    block = case.graph().main
    found = bind_operator(block.operators[-1], block)
    if call.spec.requires[0].label in call.proved:
        found.proved = {rule.label: call.proved[call.spec.requires[0].label] for rule in found.spec.requires}
    return prepare(found, *more)
