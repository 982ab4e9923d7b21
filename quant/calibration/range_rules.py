"""Ranges of single tensors: a method, a percentile or the range itself, chosen by layer or tensor name.

    # a line of --range
    conv1 = entropy
    block?/* = percentile:99.9
    op:SOFTMAX = minmax
    logits = -8..8

Of several rules the last one that matches wins; one that matches nothing is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tosa_engine.errors import TosaEngineError, UsageError, raise_all

from ..legalize.layers import layers_of
from .methods import METHODS, PERCENTILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Block

    from .methods import Method, Range
    from .statistics import TensorStatistics

BETWEEN = ".."
WANTED = f"{', '.join(METHODS)}, percentile:P or LOW{BETWEEN}HIGH"


@dataclass(frozen=True)
class RangeRule:
    """`selector`: as of layers, or a tensor's name. One of `method` (with `percentile`) and `range`."""

    selector: str
    method: str = ""
    percentile: float | None = None
    range: Range | None = None

    def of(self, usual: Method, seen: TensorStatistics) -> Range:
        """The range that a tensor gets."""
        if self.range is not None:
            return self.range
        percentile = usual.percentile if self.method == usual.name else PERCENTILE
        percentile = percentile if self.percentile is None else self.percentile
        return replace(usual, name=self.method, percentile=percentile).range(seen)

    def __str__(self) -> str:
        if self.range is not None:
            return f"{self.selector} = {self.range[0]:g}{BETWEEN}{self.range[1]:g}"
        shown = self.method if self.percentile is None else f"{self.method}:{self.percentile:g}"
        return f"{self.selector} = {shown}"


def parse_range(text: str) -> RangeRule:
    """`SELECTOR=METHOD`, `SELECTOR=percentile:P` or `SELECTOR=LOW..HIGH`. Raises UsageError."""
    selector, equals, wanted = (part.strip() for part in text.rpartition("="))
    if not equals or not selector:
        raise UsageError(f"'{text}': a range is given as SELECTOR=..., such as 'conv1=minmax' or 'conv1=-1..1'")
    low, between, high = wanted.partition(BETWEEN)
    if between:
        ends = _number(low), _number(high)
        if None in ends or not ends[0] < ends[1]:  # type: ignore[operator]
            raise UsageError(f"'{text}': a range is two numbers in order, such as -1{BETWEEN}1")
        return RangeRule(selector, range=ends)  # type: ignore[arg-type]
    method, colon, share = wanted.partition(":")
    percentile = _number(share) if colon else None
    if method not in METHODS or (colon and (method != "percentile" or percentile is None)):
        raise UsageError(f"'{text}': unknown range '{wanted}'; choose from: {WANTED}")
    if percentile is not None and not 50 < percentile <= 100:
        raise UsageError(f"'{text}': a percentile is above 50 and at most 100")
    return RangeRule(selector, method, percentile)


def by_tensor(block: Block, rules: Sequence[RangeRule]) -> dict[str, RangeRule]:
    """Tensor name -> the rule that is for it, in a `prepared` graph. Raises UsageError (Problems for several)."""
    layers, problems, found = layers_of(block) if rules else [], list[TosaEngineError](), dict[str, RangeRule]()
    for rule in rules:
        matched = [name for layer in layers if layer.matches(rule.selector) for name in layer.tensors]
        for name, tensor in block.tensors.items():
            own = tensor.source.name if tensor.source is not None else ""
            if tensor.data is None and any(fnmatchcase(n, rule.selector) for n in (name, own) if n):
                matched.append(name)
        if not matched:
            names = ", ".join([*block.inputs, *(layer.name for layer in layers)][:8])
            problems.append(UsageError(f"'{rule}' matches no tensor and no layer; there are {names}"))
        found |= dict.fromkeys(matched, rule)
    raise_all(problems, f"{len(problems)} ranges are of nothing:")
    return found


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
