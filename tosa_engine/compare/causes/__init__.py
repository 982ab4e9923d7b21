"""What may have caused a difference? Hypotheses, each tested on all elements of the first tensor that differs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..trial import OutOfTime
from ..where import where
from . import channels, layout, operators, places, pools, scale, single_weights, sums, tables, weights
from .listed import HYPOTHESES, Hypothesis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Progress = Callable[[list[Call]], Iterable[Call]]
    Test = Callable[["Hypothesis", "Call", str, "Array"], None]

__all__ = ["HYPOTHESES", "Cause", "Hypothesis", "Search"]
ENOUGH = 4  # elements that differ, with which a place says something
FAMILIES = (  # importing them fills the list
    scale, channels, sums, weights, single_weights, tables, operators, pools, places, layout,
)  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """`reproduced` of `size` elements of the target are what the fault would give, `explained` of the `differing` ones.

    `node` is the operator with the fault, `operator` its kind.
    """

    label: str
    text: str
    operator: str
    node: str
    reproduced: int
    explained: int
    differing: int
    size: int

    @property
    def share(self) -> float:
        """Of the elements that differ."""
        return self.explained / max(self.differing, 1)

    @property
    def complete(self) -> bool:
        return self.reproduced == self.size

    def __str__(self) -> str:
        place = f"{self.text}, in {self.operator} '{self.node}'"
        if self.complete:
            return f"{place}: reproduces all {self.size} elements"
        return f"{place}: explains {self.share:.0%} of the difference (reproduces {self.reproduced} of {self.size})"


class Search:
    """Hypotheses put to the test one by one, from the target backwards, `until` a moment of `time.monotonic`.

    `tried` counts them; `out_of_time` says that not all were.
    """

    def __init__(self, trial: Trial, until: float = math.inf) -> None:
        self.trial, self.tried, self.out_of_time = trial, 0, False
        self._found: list[Cause] = []
        self._differing = int(np.count_nonzero(trial.differs))
        trial.until = until

    def run(self, progress: Progress = iter) -> None:
        """`progress` goes over the operators. Where nothing explains all, hypotheses are tried in the channels alone
        that differ, and then those that are worked out from the data, which fit more easily.
        """
        try:
            self._round(progress(self.trial.calls), self._everywhere, fitted=False)
            if not self._complete() and self._channels is not None:
                self._round(self.trial.calls, self._in_channels, fitted=False)
            if not self._complete():
                self._round(self.trial.calls, self._everywhere, fitted=True)
        except OutOfTime:
            self.out_of_time = True

    def _round(self, calls: Iterable[Call], test: Test, *, fitted: bool) -> None:
        for call in calls:
            for one in HYPOTHESES:
                if one.fitted is fitted and one.concerns(call.spec):
                    for text, output in one.suspects(self.trial, call):
                        self.tried += 1
                        if output is not None:
                            test(one, call, text, output)

    def _everywhere(self, one: Hypothesis, call: Call, text: str, output: Array) -> None:
        self._judge(one, call, text, output)

    def _in_channels(self, one: Hypothesis, call: Call, text: str, output: Array) -> None:
        right = self.trial.values[call.operator.outputs[0]]
        if self._channels is not None and output.shape == right.shape == self.trial.differs.shape:
            place = where(np.broadcast_to(self._channels, right.shape)).removesuffix(" only")
            self._judge(one, call, f"{text}, in {place} only", np.where(self._channels, output, right), whole=True)

    @cached_property
    def _channels(self) -> Array | None:
        """Those that differ, where these aren't all and enough differs to say something."""
        differs = self.trial.differs
        if differs.ndim < 2 or self._differing < ENOUGH:
            return None
        channels = np.asarray(differs.reshape(-1, differs.shape[-1]).any(axis=0))
        return None if channels.all() else channels

    def _complete(self) -> list[Cause]:
        return [cause for cause in self._found if cause.complete]

    def _judge(self, one: Hypothesis, call: Call, text: str, output: Array, *, whole: bool = False) -> None:
        """Note what this output explains. With `whole` it counts only where that is everything."""
        trial = self.trial
        target = trial.target_if(call.operator.outputs[0], output)
        if target is None or target.shape != trial.got.shape:
            return
        same = target == trial.got
        if same.all() or not whole:
            counts = int(np.count_nonzero(same)), int(np.count_nonzero(same & trial.differs))
            self._found.append(
                Cause(one.label, text, call.spec.name, call.operator.name, *counts, self._differing, trial.got.size)
            )

    def best(self) -> list[Cause]:
        """The causes that reproduce every element; where there is none, the one that explains most (at least half) of
        the differing elements.
        """
        complete = self._complete()
        best = max(self._found, key=lambda cause: cause.reproduced, default=None)
        equal = self.trial.got.size - self._differing
        enough = best is not None and best.share >= 0.5 and best.reproduced > equal
        return complete or ([best] if best is not None and enough else [])
