"""Convolutions and matrix products: constants in another order, zero points, padding and bias."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]

CONVOLUTIONS: Final = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
AXES: Final = {
    "CONV2D": ("OC", "KH", "KW", "IC"), "CONV3D": ("OC", "KD", "KH", "KW", "IC"),
    "DEPTHWISE_CONV2D": ("KH", "KW", "C", "M"), "TRANSPOSE_CONV2D": ("OC", "KH", "KW", "IC"), "MATMUL": ("N", "C", "W"),
}  # fmt: skip


@hypothesis("transposed weight", *CONVOLUTIONS, "MATMUL")
def transposed(trial: Trial, call: Call) -> Found:
    """The bytes of the weight in another order of its axes, read as if they were in the right one."""
    argument = "B" if call.spec.name == "MATMUL" else "weight"
    if call.tensor(argument).data is None:
        return
    weight, names = trial.array(call, argument), AXES[call.spec.name]
    seen = {weight.tobytes()}
    for order in sorted(itertools.permutations(range(weight.ndim)), key=lambda o: sum(i != a for i, a in enumerate(o))):
        other = np.ascontiguousarray(weight.transpose(order)).reshape(weight.shape)
        if other.tobytes() not in seen:
            seen.add(other.tobytes())
            written = ", ".join(names[i] for i in order)
            yield (
                f"transposed weight: axes [{written}] instead of [{', '.join(names)}]",
                trial.again(call, **{argument: other}),
            )


@hypothesis("flipped weight", *CONVOLUTIONS)
def flipped(trial: Trial, call: Call) -> Found:
    names = AXES[call.spec.name]
    axes = [i for i, name in enumerate(names) if name.startswith("K")]
    weight = trial.array(call, "weight")
    if any(weight.shape[i] > 1 for i in axes):
        yield "weight flipped along its window", trial.again(call, weight=np.flip(weight, tuple(axes)))


@hypothesis("convolution's input zero point", *CONVOLUTIONS)
def input_zp(trial: Trial, call: Call) -> Found:
    zero = trial.array(call, "input_zp")
    if not zero.any():
        return
    yield f"input zero point {zero[0]} not subtracted", trial.again(call, input_zp=np.zeros_like(zero))
    if call.has("pad") and any(call.pad) and call.spec.name != "TRANSPOSE_CONV2D":
        values, pad = trial.array(call, "input"), call.pad
        around = [(0, 0), *zip(pad[::2], pad[1::2], strict=True), (0, 0)]
        bare = np.pad(values, around)
        yield (
            f"padded with 0 instead of the zero point {zero[0]}",
            trial.again(call, {"pad": (0,) * len(pad)}, input=bare),
        )


@hypothesis("bias", *CONVOLUTIONS)
def bias(trial: Trial, call: Call) -> Found:
    values = trial.array(call, "bias")
    if values.any():
        yield "no bias", trial.again(call, bias=np.zeros_like(values))


@hypothesis("padding", *CONVOLUTIONS[:3], "MAX_POOL2D", "AVG_POOL2D")
def padding(trial: Trial, call: Call) -> Found:
    pad = call.pad
    swapped = tuple(pad[i ^ 1] for i in range(len(pad)))
    if swapped != tuple(pad):
        yield f"padding {list(swapped)} instead of {list(pad)}", trial.again(call, {"pad": swapped})
