"""RESCALE and what clips behind it: rounding, multipliers, shifts, zero points, saturation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..rounding import RULES
from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array, DType
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]


@dataclass(frozen=True)
class Scaling:
    """A RESCALE as numbers: `value` is without its zero point, all are int64 and broadcast."""

    value: Array
    multiplier: Array
    shift: Array
    input_zp: int
    output_zp: int
    low: int
    high: int
    dtype: DType

    @classmethod
    def of(cls, trial: Trial, call: Call) -> Scaling:
        multiplier, shift = (trial.array(call, name).astype(np.int64) for name in ("multiplier", "shift"))
        if not call.per_channel:
            multiplier, shift = multiplier[:1], shift[:1]
        read, made = call.input_unsigned, call.output_unsigned
        input_zp = int(_wide(trial.array(call, "input_zp"), read)[0])
        output_zp = int(_wide(trial.array(call, "output_zp"), made)[0])
        low, high = (0, (1 << call.out_t.bits) - 1) if made else (call.out_t.minimum, call.out_t.maximum)
        value = _wide(trial.array(call, "input"), read) - input_zp
        return cls(value, multiplier, shift, input_zp, output_zp, low, high, call.out_t)

    def stored(self, scaled: Array) -> Array:
        """With its zero point, clipped, as the output holds it."""
        return self.wrapped(np.clip(scaled + self.output_zp, self.low, self.high))

    def wrapped(self, value: Array) -> Array:
        """The low bits."""
        found: Array = value.astype(self.dtype.storage)
        return found

    @property
    def scaled(self) -> Array:
        """By single rounding."""
        return RULES[0].apply(self.value, self.multiplier, self.shift)


def _wide(array: Array, unsigned: bool) -> Array:
    """As int64; the bits of a signless tensor are read as unsigned where the operator says so."""
    if unsigned:
        array = array.view(np.dtype(f"uint{array.dtype.itemsize * 8}"))
    return array.astype(np.int64)


@hypothesis("rounding", "RESCALE")
def rounding(trial: Trial, call: Call) -> Found:
    s = Scaling.of(trial, call)
    for rule in RULES:
        if call.scale32 or rule.narrow:
            yield f"{rule.name} instead of {call.rounding_mode}", s.stored(rule.apply(s.value, s.multiplier, s.shift))


@hypothesis("multiplier", "RESCALE")
def multiplier(trial: Trial, call: Call) -> Found:
    """Off by one: of all channels, or (where the target has them last) of those for which that fits."""
    s = Scaling.of(trial, call)
    by = {d: trial.again(call, multiplier=trial.array(call, "multiplier") + np.asarray(d, s_type(trial, call)))
          for d in (1, -1)}  # fmt: skip
    for delta, output in by.items():
        what = f"{int(s.multiplier.flat[0]) + delta} instead of {s.multiplier.flat[0]}"
        yield f"multiplier off by one ({what if s.multiplier.size == 1 else f'{delta:+} in every channel'})", output
    if call.per_channel:
        yield from _by_channel(trial, call, s, by)


def s_type(trial: Trial, call: Call) -> np.dtype[np.generic]:
    found: np.dtype[np.generic] = trial.array(call, "multiplier").dtype
    return found


def _by_channel(trial: Trial, call: Call, s: Scaling, by: dict[int, Array | None]) -> Found:
    channels = s.multiplier.size
    if not trial.got.ndim or trial.got.shape[-1] != channels:
        return
    name = call.operator.outputs[0]
    targets = {delta: trial.target_if(name, output) for delta, output in by.items() if output is not None}
    bad = np.flatnonzero(trial.differs.reshape(-1, channels).any(axis=0))
    chosen: dict[int, int] = {}
    for channel in bad:
        fits = [d for d, t in targets.items() if t is not None
                and np.array_equal(t[..., channel], trial.got[..., channel])]  # fmt: skip
        if not fits:
            return
        chosen[int(channel)] = fits[0]
    output = trial.values[name].copy()
    for at, delta in chosen.items():
        changed = by[delta]
        assert changed is not None
        output[..., at] = changed[..., at]
    some = [f"[{c}] is {s.multiplier[c] + d} instead of {s.multiplier[c]}" for c, d in list(chosen.items())[:3]]
    more = f" and {len(chosen) - 3} more" if len(chosen) > 3 else ""
    if len(chosen) < channels:
        yield f"multiplier off by one ({', '.join(some)}{more})", output


@hypothesis("shift", "RESCALE")
def shift(trial: Trial, call: Call) -> Found:
    s = Scaling.of(trial, call)
    for delta in (1, -1):
        shifts = s.shift + delta
        if shifts.min() >= 2 and shifts.max() <= 62:
            yield f"shift off by one ({delta:+})", s.stored(RULES[0].apply(s.value, s.multiplier, shifts))


@hypothesis("zero point", "RESCALE")
def zero_point(trial: Trial, call: Call) -> Found:
    s = Scaling.of(trial, call)
    if s.output_zp:
        yield f"output zero point {s.output_zp} not added", s.wrapped(np.clip(s.scaled, s.low, s.high))
        yield f"output zero point {s.output_zp} subtracted", s.wrapped(np.clip(s.scaled - s.output_zp, s.low, s.high))
    if s.input_zp:
        whole = RULES[0].apply(s.value + s.input_zp, s.multiplier, s.shift)
        yield f"input zero point {s.input_zp} not subtracted", s.stored(whole)


@hypothesis("clamp before zero point", "RESCALE", "CLAMP")
def clamp_first(trial: Trial, call: Call) -> Found:
    """Clipped to the bounds while the zero point is still missing: by RESCALE itself, or by the CLAMP behind one."""
    scale = call if call.spec.name == "RESCALE" else trial.producer(call.operator.inputs[0])
    if scale is None or scale.spec.name != "RESCALE":
        return
    s = Scaling.of(trial, scale)
    if not s.output_zp:
        return
    is_clamp = call.spec.name == "CLAMP"
    low, high = (int(call.min_val), int(call.max_val)) if is_clamp else (s.low, s.high)
    clipped = np.clip(s.scaled, low, high) + s.output_zp
    text = f"clamp to {low} .. {high} before zero point {s.output_zp} is added"
    yield f"{text}, saturating", s.wrapped(np.clip(clipped, s.low, s.high))
    if clipped.min(initial=0) < s.low or clipped.max(initial=0) > s.high:
        yield f"{text}, wrapping", s.wrapped(clipped)


@hypothesis("saturation", "RESCALE")
def saturation(trial: Trial, call: Call) -> Found:
    s = Scaling.of(trial, call)
    yield f"no saturation: the low {call.out_t.bits} bits", s.wrapped(s.scaled + s.output_zp)
    if not call.output_unsigned:
        narrow = np.clip(s.scaled + s.output_zp, s.low + 1, s.high)
        yield f"saturation to {s.low + 1} .. {s.high} instead of {s.low} .. {s.high}", s.wrapped(narrow)


@hypothesis("clamp", "CLAMP")
def clamp(trial: Trial, call: Call) -> Found:
    values = trial.array(call, "input")
    if values.dtype.kind != "i":
        return
    yield "no clamp", values
    yield f"only the lower bound {call.min_val}", np.maximum(values, np.asarray(call.min_val, values.dtype))
    yield f"only the upper bound {call.max_val}", np.minimum(values, np.asarray(call.max_val, values.dtype))
