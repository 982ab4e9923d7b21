"""Convolutions, matrix products and sums: accumulators of fewer bits, and bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ... import oracle
from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...spec.traits import Traits
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]

BITS: Final = (40, 32, 28, 24, 20, 18, 16)


def _adds_up(traits: Traits) -> bool:
    return traits.weight is not None


def _has_bias(traits: Traits) -> bool:
    return traits.weight is not None and bool(traits.weight.bias)


def narrow(values: Array, bits: int, *, saturate: bool) -> Array:
    """As an accumulator of so many bits holds these integers."""
    half, wide = 1 << (bits - 1), values.astype(np.int64)
    kept = np.clip(wide, -half, half - 1) if saturate else ((wide + half) & ((1 << bits) - 1)) - half
    found: Array = kept.astype(values.dtype)
    return found


@hypothesis("accumulator", having=_adds_up)
def accumulator(trial: Trial, call: Call) -> Found:
    """The whole sum in fewer bits, wrapped or saturated at the end."""
    yield from _narrowed(trial, call)


@hypothesis("accumulator of a sum", "REDUCE_SUM")
def reduced(trial: Trial, call: Call) -> Found:
    yield from _narrowed(trial, call)


def _is_sum(traits: Traits) -> bool:
    return traits.weight is not None or traits.is_sum


@hypothesis("accumulator at every addition", having=_is_sum)
def at_every_addition(trial: Trial, call: Call) -> Found:
    """In the specification's order: saturated sums depend on it. Where an overflow is assumed, also the other ways."""
    right = trial.values[call.operator.outputs[0]]
    if right.dtype.kind != "i" or trial.is_slow(call):
        return
    now, seen = oracle.assumed(), {right.tobytes()}
    for bits in (None, *BITS):
        for saturate, how in ((False, "wraps"), (True, "saturates")):
            other = oracle.Overflow(saturate, bits)
            if (now is None and (bits is None or not saturate)) or (now is not None and other == now[0]):
                continue
            with oracle.assuming(other) as beyond:
                found = trial.again(call)
            if beyond and found is not None and found.tobytes() not in seen:
                seen.add(found.tobytes())
                yield f"the accumulator {how}{'' if bits is None else f' at {bits} bits'} at every addition", found


def _narrowed(trial: Trial, call: Call) -> Found:
    right = trial.values[call.operator.outputs[0]]
    if right.dtype.kind != "i":
        return
    seen: set[bytes] = {right.tobytes()}
    for bits in BITS:
        for saturate, how in ((False, "wraps"), (True, "saturates")):
            found = narrow(right, bits, saturate=saturate)
            if found.tobytes() not in seen:
                seen.add(found.tobytes())
                yield f"the accumulator {how} at {bits} bits", found


@hypothesis("bias of channels", having=_has_bias)
def bias(trial: Trial, call: Call) -> Found:
    """Rotated, or cut; that of one channel is missing is the hypothesis "no bias" in this channel."""
    values = trial.array(call, "bias")
    right = trial.values[call.operator.outputs[0]]
    if values.dtype.kind != "i":
        return
    others = {f"bias rotated by {by:+}": np.roll(values, by) for by in (1, -1)} if values.size > 1 else {}
    for bits in (32, 24, 16, 8):
        others[f"bias cut to {bits} bits"] = narrow(values, bits, saturate=False)
        others[f"bias saturated to {bits} bits"] = narrow(values, bits, saturate=True)
    others["bias added twice"] = values * 2
    for text, other in others.items():
        if not np.array_equal(other, values):
            yield text, (right.astype(np.int64) + other.astype(np.int64) - values).astype(right.dtype)
