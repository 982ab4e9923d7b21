"""The same elements in another order; and averages of another number of elements."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]

MOST_AXES: Final = 5


@hypothesis("layout")
def layout(trial: Trial, call: Call) -> Found:
    """The bytes of the target in another order of its axes (NCHW for NHWC)."""
    wanted = trial.wanted
    if call.operator.outputs[0] != trial.target or not 2 <= wanted.ndim <= MOST_AXES:
        return
    seen = {wanted.tobytes()}
    for order in itertools.permutations(range(wanted.ndim)):
        other = np.ascontiguousarray(wanted.transpose(order)).reshape(wanted.shape)
        if other.tobytes() not in seen:
            seen.add(other.tobytes())
            yield f"elements in the order of axes {list(order)} (the same values)", other


@hypothesis("operands", "SUB", "GREATER", "GREATER_EQUAL", "INTDIV")
def swapped(trial: Trial, call: Call) -> Found:
    a, b = trial.array(call, "input1"), trial.array(call, "input2")
    yield "operands swapped", trial.again(call, input1=b, input2=a)


@hypothesis("average", "AVG_POOL2D")
def average(trial: Trial, call: Call) -> Found:
    """Padding counted as elements, or rounding towards zero."""
    values, pad = trial.array(call, "input"), call.pad
    zero = int(trial.array(call, "input_zp")[0])
    if any(pad):
        around = ((0, 0), (pad[0], pad[1]), (pad[2], pad[3]), (0, 0))
        padded = np.pad(values, around, constant_values=zero)
        yield "padding counted in the average", trial.again(call, {"pad": (0, 0, 0, 0)}, input=padded)
        return
    whole: Any = values.astype(np.int64) - zero
    windows = np.lib.stride_tricks.sliding_window_view(whole, call.kernel, axis=(1, 2))  # type: ignore[call-overload,unused-ignore]
    sums = windows[:, :: call.stride[0], :: call.stride[1]].sum(axis=(-2, -1))
    count = int(np.prod(call.kernel))
    mean = np.sign(sums) * (np.abs(sums) // count) + int(trial.array(call, "output_zp")[0])
    found: Array = np.clip(mean, call.in_out_t.minimum, call.in_out_t.maximum).astype(values.dtype)
    yield "average truncated towards zero", found
