"""What the statements of one operator see while it is composed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from .binding import Instantiation
    from .language.evaluation import Evaluator
    from .language.syntax import Expression, Operator, Step, Text


@dataclass(frozen=True)
class Frame:
    """What the statements of one operator see."""

    operator: Operator
    symbols: dict[str, Any]
    types: Mapping[str, str]
    scope: str
    accessible: bool = True

    @property
    def text(self) -> Text:
        return self.operator.text

    def inner(self, scope: str | None = None) -> Frame:
        """A block inside: what it defines isn't seen outside."""
        return replace(self, symbols=dict(self.symbols), scope=self.scope if scope is None else scope)


class Composing(Protocol):
    """What branches and loops need of the composer."""

    nodes: list[Any]

    def step(self, step: Step, frame: Frame, target: str = "") -> list[Any]: ...
    def expression(self, e: Expression, frame: Frame) -> Any: ...
    def evaluator(self, frame: Frame) -> Evaluator: ...
    def body(self) -> AbstractContextManager[list[Any]]: ...
    def instantiate(
        self, bound: Instantiation, values: Mapping[str, Any], arguments: list[Any], types: Sequence[str], frame: Frame
    ) -> list[Any]: ...
