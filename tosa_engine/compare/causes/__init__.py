"""What may have caused a difference? Hypotheses, each tested on all elements of the first tensor that differs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..trial import OutOfTime
from . import layout, scale, tables, weights
from .listed import HYPOTHESES, Hypothesis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...spec.table import Call
    from ..trial import Trial

__all__ = ["HYPOTHESES", "Cause", "Hypothesis", "Search"]
FAMILIES = (scale, weights, tables, layout)  # importing them fills the list


@dataclass(frozen=True)
class Cause:
    """`reproduced` of `size` elements of the target are what the fault would give, `explained` of those that differ.

    `node` is the operator with the fault, `operator` its kind.
    """

    label: str
    text: str
    operator: str
    node: str
    reproduced: int
    explained: int
    size: int

    @property
    def complete(self) -> bool:
        return self.reproduced == self.size

    def __str__(self) -> str:
        how = f"all {self.size}" if self.complete else f"{self.reproduced} of {self.size}"
        return f"{self.text}, in {self.operator} '{self.node}': reproduces {how} elements"


class Search:
    """Hypotheses put to the test one by one, from the target backwards, `until` a moment of `time.monotonic`.

    `tried` counts them; `out_of_time` says that not all were.
    """

    def __init__(self, trial: Trial, until: float = math.inf) -> None:
        self.trial, self.tried, self.out_of_time = trial, 0, False
        self._found: list[Cause] = []
        trial.until = until

    def run(self, progress: Callable[[list[Call]], Iterable[Call]] = iter) -> None:
        """`progress` goes over the operators."""
        try:
            for call in progress(self.trial.calls):
                for one in HYPOTHESES:
                    if one.concerns(call.spec):
                        self._test(one, call)
        except OutOfTime:
            self.out_of_time = True

    def _test(self, one: Hypothesis, call: Call) -> None:
        trial = self.trial
        for text, output in one.suspects(trial, call):
            target = None if output is None else trial.target_if(call.operator.outputs[0], output)
            self.tried += 1
            if target is None or target.shape != trial.got.shape:
                continue
            same = target == trial.got
            counts = int(np.count_nonzero(same)), int(np.count_nonzero(same & trial.differs))
            self._found.append(Cause(one.label, text, call.spec.name, call.operator.name, *counts, trial.got.size))

    def best(self) -> list[Cause]:
        """The causes that reproduce every element; where there is none, the one that explains most (at least half) of
        the differing elements.
        """
        complete = [cause for cause in self._found if cause.complete]
        best = max(self._found, key=lambda cause: cause.reproduced, default=None)
        differing = int(np.count_nonzero(self.trial.differs))
        got = self.trial.got.size
        enough = best is not None and 2 * best.explained >= differing and best.reproduced > got - differing
        return complete or ([best] if best is not None and enough else [])
