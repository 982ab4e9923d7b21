"""The exact value of an element, and which rules of rounding give which of two results.

Only where the target's elements are those of a RESCALE, one by one: it wrote the target, or nothing but CLAMP, IDENTITY
and RESHAPE is in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .causes.scale import Scaling
from .rounding import RULES, exact_value, inexact_interval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from ..spec.table import Call
    from .trial import Trial

IN_PLACE: Final = ("CLAMP", "IDENTITY", "RESHAPE")


@dataclass(frozen=True)
class RuleResult:
    """How a rule does: its result for the element shown; of the differing elements, how many of each side it gives."""

    rule: str
    result: int
    here: int
    there: int


@dataclass(frozen=True)
class ExactValue:
    """One differing element: value * multiplier / 2^shift + zero point, before clipping to `low` .. `high`."""

    node: str
    index: tuple[int, ...]
    value: int
    multiplier: int
    shift: int
    zero_point: int
    exact: Fraction
    low: int
    high: int
    inexact: tuple[int, int]
    differing: int
    rules: Sequence[RuleResult]

    @property
    def is_tie(self) -> bool:
        return self.exact.denominator == 2

    def __str__(self) -> str:
        tie = ", a tie" if self.is_tie else ""
        sum_ = f" {'+' if self.zero_point >= 0 else '-'} {abs(self.zero_point)}" if self.zero_point else ""
        top, bottom = self.exact.numerator, self.exact.denominator
        return (
            f"{self.value} * {self.multiplier} / 2^{self.shift}{sum_} = {top}/{bottom} = {float(self.exact):.9g}{tie}; "
            f"clipped to {self.low} .. {self.high}"
        )


def explain(trial: Trial) -> ExactValue | None:
    """Of the first element that differs; None where no RESCALE made it."""
    found = _last_scale(trial)
    if found is None:
        return None
    call, bounds = found
    s = Scaling.of(trial, call)
    low, high = max(s.low, *(b[0] for b in bounds), s.low), min(s.high, *(b[1] for b in bounds), s.high)
    flat = np.flatnonzero(trial.differs.reshape(-1))
    shape = s.value.shape
    value, multiplier, shift = (np.broadcast_to(a, shape).reshape(-1)[flat] for a in (s.value, s.multiplier, s.shift))
    sides = trial.wanted.reshape(-1)[flat].astype(np.int64), trial.got.reshape(-1)[flat].astype(np.int64)
    rules = []
    for rule in RULES:
        if call.scale32 or rule.narrow:
            clipped = np.clip(rule.apply(value, multiplier, shift) + s.output_zp, low, high)
            result = clipped.astype(s.dtype.storage).astype(np.int64)
            here, there = (int(np.count_nonzero(result == side)) for side in sides)
            rules.append(RuleResult(rule.name, int(result[0]), here, there))
    numbers = int(value[0]), int(multiplier[0]), int(shift[0]), s.output_zp
    index = tuple(int(i) for i in np.unravel_index(int(flat[0]), trial.differs.shape))
    inexact = inexact_interval(*numbers)
    return ExactValue(call.operator.name, index, *numbers, exact_value(*numbers), low, high, inexact, flat.size, rules)


def _last_scale(trial: Trial) -> tuple[Call, list[tuple[int, int]]] | None:
    """The RESCALE whose elements are the target's, and the bounds of the CLAMPs behind it."""
    name, bounds = trial.target, list[tuple[int, int]]()
    by_output = {call.operator.outputs[0]: call for call in trial.calls}
    while name in by_output:
        call = by_output[name]
        if call.spec.name == "RESCALE":
            return call, bounds
        if call.spec.name not in IN_PLACE:
            return None
        if call.spec.name == "CLAMP":
            bounds.append((int(call.min_val), int(call.max_val)))
        name = call.operator.inputs[0]
    return None
