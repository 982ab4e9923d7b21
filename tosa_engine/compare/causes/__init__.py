"""What may have caused a difference? Hypotheses, each tested on all elements of the first tensor that differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import layout, scale, tables, weights
from .listed import HYPOTHESES, Hypothesis

if TYPE_CHECKING:
    from ..trial import Trial

__all__ = ["HYPOTHESES", "Cause", "Hypothesis", "find"]
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


def find(trial: Trial) -> list[Cause]:
    """The causes that reproduce every element; where there is none, the one that explains most (at least half) of the
    differing elements.
    """
    found: list[Cause] = []
    for call in trial.calls:
        for one in HYPOTHESES:
            if not one.concerns(call.spec):
                continue
            for text, output in one.suspects(trial, call):
                target = None if output is None else trial.target_if(call.operator.outputs[0], output)
                if target is None or target.shape != trial.got.shape:
                    continue
                same = target == trial.got
                counts = int(np.count_nonzero(same)), int(np.count_nonzero(same & trial.differs))
                found.append(Cause(one.label, text, call.spec.name, call.operator.name, *counts, trial.got.size))
    complete = [cause for cause in found if cause.complete]
    best = max(found, key=lambda cause: cause.reproduced, default=None)
    differing = int(np.count_nonzero(trial.differs))
    enough = best is not None and 2 * best.explained >= differing and best.reproduced > trial.got.size - differing
    return complete or ([best] if best is not None and enough else [])
