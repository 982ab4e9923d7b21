"""Convolutions and matrix products: constants in another order, zero points, padding and bias."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...spec.traits import Traits
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]


def _is_convolution(traits: Traits) -> bool:
    return traits.weight is not None and traits.window is not None


@hypothesis("transposed weight", having=lambda traits: traits.weight is not None)
def transposed(trial: Trial, call: Call) -> Found:
    """The bytes of the weight in another order of its axes, read as if they were in the right one."""
    trait = call.spec.traits.weight
    if trait is None or call.tensor(trait.argument).data is None:
        return
    weight, names = trial.array(call, trait.argument), call.spec.letters(trait.argument)
    seen = {weight.tobytes()}
    for order in sorted(itertools.permutations(range(weight.ndim)), key=lambda o: sum(i != a for i, a in enumerate(o))):
        other = np.ascontiguousarray(weight.transpose(order)).reshape(weight.shape)
        if other.tobytes() not in seen:
            seen.add(other.tobytes())
            written = ", ".join(names[i] for i in order)
            yield (
                f"transposed weight: axes [{written}] instead of [{', '.join(names)}]",
                trial.again(call, **{trait.argument: other}),
            )


@hypothesis("flipped weight", having=_is_convolution)
def flipped(trial: Trial, call: Call) -> Found:
    window = call.spec.traits.window
    axes = call.spec.axes("weight", *window.kernel) if window is not None else ()
    weight = trial.array(call, "weight")
    if any(weight.shape[i] > 1 for i in axes):
        yield "weight flipped along its window", trial.again(call, weight=np.flip(weight, axes))


@hypothesis("convolution's input zero point", having=_is_convolution)
def input_zp(trial: Trial, call: Call) -> Found:
    zero = trial.array(call, "input_zp")
    if not zero.any():
        return
    yield f"input zero point {zero[0]} not subtracted", trial.again(call, input_zp=np.zeros_like(zero))
    window = call.spec.traits.window
    if window is not None and not window.transposed and any(call.pad):
        values, pad = trial.array(call, "input"), call.pad
        around = [(0, 0), *zip(pad[::2], pad[1::2], strict=True), (0, 0)]
        bare = np.pad(values, around)
        yield (
            f"padded with 0 instead of the zero point {zero[0]}",
            trial.again(call, {"pad": (0,) * len(pad)}, input=bare),
        )


@hypothesis("bias", having=lambda traits: traits.weight is not None and traits.weight.bias == "bias")
def bias(trial: Trial, call: Call) -> Found:
    values = trial.array(call, "bias")
    if values.any():
        yield "no bias", trial.again(call, bias=np.zeros_like(values))


@hypothesis("padding", having=lambda traits: traits.window is not None and not traits.window.transposed)
def padding(trial: Trial, call: Call) -> Found:
    pad = call.pad
    swapped = tuple(pad[i ^ 1] for i in range(len(pad)))
    if swapped != tuple(pad):
        yield f"padding {list(swapped)} instead of {list(pad)}", trial.again(call, {"pad": swapped})
