"""Metrics by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import UsageError
from tosa_engine.plugins import function_at

from .tallies import Accuracy, Called, Squares

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tallies import Tally

BUILT_IN: Final = "accuracy, topK (top5), r2, rmse, psnr"
SQUARES: Final = ("r2", "rmse", "psnr")
LOWER: Final = ":lower"  # after the name of a function whose smaller values are better


@dataclass(frozen=True)
class Reading:
    """What a metric is, in its unit."""

    name: str
    value: float

    @property
    def of_one(self) -> str:
        """What a single sample's own value is called."""
        return "rms error" if self.name in SQUARES else self.name

    @property
    def shown(self) -> str:
        """The value with its unit."""
        if self.name == "accuracy" or re.fullmatch(r"top\d+", self.name):
            return f"{self.value:.2f} %"
        return f"{self.value:.2f} dB" if self.name == "psnr" else f"{self.value:.5g}"

    def __str__(self) -> str:
        return f"{self.name} {self.shown}"


@dataclass(frozen=True)
class Metric:
    """`tally` begins a new count. `higher`: the larger the better."""

    name: str
    tally: Callable[[], Tally]
    higher: bool = True

    def loss(self, before: float, after: float) -> float:
        """By how much `after` is worse, in the metric's unit; negative where it is better."""
        if before == after:
            return 0.0
        return before - after if self.higher else after - before


def parse(text: str) -> Metric:
    """The metric of a name: `accuracy`, `top5`, `r2`, `rmse`, `psnr`, or `module:function`. Raises UsageError.

    A function is called with all targets and all outputs, samples along the first axis (a dictionary by name where the
    network has several outputs), and returns a number. The larger the better, unless `:lower` follows its name.
    """
    if text == "accuracy":
        return Metric(text, Accuracy)
    if top := re.fullmatch(r"top([1-9]\d*)", text):
        most = int(top[1])
        return Metric(text, lambda: Accuracy(most))
    if text in SQUARES:
        return Metric(text, lambda: Squares(text), higher=text != "rmse")
    named = text.removesuffix(LOWER)
    module, colon, name = named.partition(":")
    if not (colon and module and name):
        raise UsageError(f"unknown metric '{text}'; choose from: {BUILT_IN}, or module:function")
    function = _function(module, name, text)
    return Metric(text, lambda: Called(text, function), higher=named == text)


def _function(module: str, name: str, text: str) -> Callable[..., Any]:
    try:
        return function_at(module, name)
    except ValueError as problem:
        raise UsageError(f"--metric {text}: {problem}") from problem
