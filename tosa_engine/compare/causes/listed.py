"""The list of hypotheses: what others get wrong, or do otherwise.

A hypothesis looks at one operator between what is known to agree and the first tensor that differs. It yields what the
operator would give under the fault, each with a text that says what the fault is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...spec.table import Call, OpSpec
    from ...spec.traits import Traits
    from ...types import Array
    from ..trial import Trial

Suspects = Callable[["Trial", "Call"], Iterator[tuple[str, "Array | None"]]]


@dataclass(frozen=True)
class Hypothesis:
    """`operators` are those that it is about, or those whose traits are `having` what it takes (neither: all);
    `suspects(trial, call)` yields (text, the output then). A `fitted` one works the fault out from the other side's
    elements, and so fits more easily: it is asked where no other one explains all.
    """

    label: str
    operators: tuple[str, ...]
    having: Callable[[Traits], bool] | None
    suspects: Suspects
    fitted: bool = False

    def concerns(self, entry: OpSpec) -> bool:
        if self.having is not None:
            return self.having(entry.traits)
        return not self.operators or entry.name in self.operators


HYPOTHESES: list[Hypothesis] = []


def hypothesis(
    label: str, *operators: str, having: Callable[[Traits], bool] | None = None, fitted: bool = False
) -> Callable[[Suspects], Suspects]:
    """Put a function into the list."""

    def register(function: Suspects) -> Suspects:
        HYPOTHESES.append(Hypothesis(label, operators, having, function, fitted))
        return function

    return register
