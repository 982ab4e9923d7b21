"""The list of hypotheses: what others get wrong, or do otherwise.

A hypothesis looks at one operator between what is known to agree and the first tensor that differs. It yields what the
operator would give under the fault, each with a text that says what the fault is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

Suspects = Callable[["Trial", "Call"], Iterator[tuple[str, "Array | None"]]]


@dataclass(frozen=True)
class Hypothesis:
    """`operators` are those that it is about (none: all); `suspects(trial, call)` yields (text, the output then)."""

    label: str
    operators: tuple[str, ...]
    suspects: Suspects

    def concerns(self, operator: str) -> bool:
        return not self.operators or operator in self.operators


HYPOTHESES: list[Hypothesis] = []


def hypothesis(label: str, *operators: str) -> Callable[[Suspects], Suspects]:
    """Put a function into the list."""

    def register(function: Suspects) -> Suspects:
        HYPOTHESES.append(Hypothesis(label, operators, function))
        return function

    return register
