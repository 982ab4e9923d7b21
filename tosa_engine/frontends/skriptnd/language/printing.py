"""Expressions and types as text, in one canonical form: parsed again, they are the same.

Parentheses stand where the operators' precedence needs them, and around a fold or a `?:` inside of an operator.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from .expressions import PRECEDENCE, SPELLING
from .lexer import DRAFT, FUNCTIONS
from .syntax import (
    Binary,
    Bounded,
    Call,
    Coalesce,
    Default,
    Expand,
    Expression,
    Fold,
    Formatted,
    List,
    Literal,
    Member,
    Name,
    Range,
    Select,
    Subscript,
    Substitute,
    Unary,
    Zip,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .syntax import Extent, TypeSpec

LOOSE: Final = 0  # any expression stands here
OPERAND: Final = 1  # without `?:`, `??`, `<-` and folds
_UNARY: Final = 8
_PRIMARY: Final = 9
_DRAFT: Final = {branch: draft for draft, branch in SPELLING.items()}


class ExpressionPrinter:
    """Prints in one dialect."""

    def __init__(self, dialect: str) -> None:
        self.draft = dialect == DRAFT
        self._quote = '"'

    def expression(self, e: Expression, level: int = LOOSE) -> str:
        text, own = _PRINT[type(e)](self, e)
        return f"({text})" if own < level else text

    def items(self, expressions: Iterable[Expression]) -> str:
        return ", ".join(self.expression(e) for e in expressions)

    # names and values

    def _literal(self, e: Literal) -> tuple[str, int]:
        if isinstance(e.value, str):
            return self._quoted(e.value), _PRIMARY
        if isinstance(e.value, bool):
            return str(e.value).lower(), _PRIMARY
        if isinstance(e.value, float) and e.value == math.pi:
            return "pi", _PRIMARY
        return repr(e.value), _PRIMARY

    def _quoted(self, text: str) -> str:
        return f"{self._quote}{self._escaped(text)}{self._quote}"

    def _escaped(self, text: str) -> str:
        for sign in ("\\", '"', "{") if self._quote == '"' else ("\\", '"', "'", "{"):
            text = text.replace(sign, f"\\{sign}")
        return text

    def _formatted(self, e: Formatted) -> tuple[str, int]:
        """Strings inside of the braces have the other quotes."""
        parts = []
        for part in e.parts:
            if isinstance(part, str):
                parts.append(self._escaped(part))
                continue
            self._quote = "'"
            parts.append(f"{{{self.expression(part)}}}")
            self._quote = '"'
        return f'"{"".join(parts)}"', _PRIMARY

    def _name(self, e: Name) -> tuple[str, int]:
        return e.text, _PRIMARY

    def _member(self, e: Member) -> tuple[str, int]:
        return f"{e.name}.{e.what}", _PRIMARY

    def _default(self, e: Default) -> tuple[str, int]:
        return f"{e.type}()", _PRIMARY

    def _call(self, e: Call) -> tuple[str, int]:
        name = f"`{e.function}`" if self.draft and e.function in FUNCTIONS else e.function
        return f"{name}({self.expression(e.argument)})", _PRIMARY

    # packs

    def _list(self, e: List) -> tuple[str, int]:
        return f"[{self.items(e.items)}]", _PRIMARY

    def _range(self, e: Range) -> tuple[str, int]:
        first, last, step = (
            "" if part is None else self.expression(part, OPERAND) for part in (e.first, e.last, e.step)
        )
        return f"{first}:{last}:{step}" if e.step is not None else f"{first}:{last}", LOOSE

    def _expand(self, e: Expand) -> tuple[str, int]:
        count = "" if e.count is None else f"({self.expression(e.count)})"
        return f"{self.spread(e.value)}{count}", LOOSE

    def spread(self, e: Expression) -> str:
        """With `..` behind it, and a space between where it would be misread or is far from what it belongs to."""
        text, own = _PRINT[type(e)](self, e)
        if own == LOOSE and not isinstance(e, Substitute):
            return f"({text}).."
        apart = own < _PRIMARY or isinstance(e, Literal)
        return f"{text} .." if apart else f"{text}.."

    def _zip(self, e: Zip) -> tuple[str, int]:
        return f"({self.items(e.items)})", _PRIMARY

    def _bounded(self, e: Bounded) -> tuple[str, int]:
        index = self.expression(e.index, OPERAND)
        if e.low is None or e.high is None:
            return f"|{index}|", _PRIMARY
        return f"|{index} <> {self.expression(e.low, OPERAND)} : {self.expression(e.high, OPERAND)}|", _PRIMARY

    def _subscript(self, e: Subscript) -> tuple[str, int]:
        comma = "," if e.open and len(e.items) == 1 else ""
        return f"{self.expression(e.value, _PRIMARY)}[{self.items(e.items)}{comma}]", _PRIMARY

    def _substitute(self, e: Substitute) -> tuple[str, int]:
        return f"{self.expression(e.target)} <- {self.expression(e.value)}", LOOSE

    # operators

    def sign(self, op: str) -> str:
        return _DRAFT.get(op, op) if self.draft else op

    def _unary(self, e: Unary) -> tuple[str, int]:
        return f"{e.op}{self.expression(e.value, _PRIMARY)}", _UNARY

    def _binary(self, e: Binary) -> tuple[str, int]:
        level = PRECEDENCE[e.op]
        to_right = e.op == "**"
        left, right = self.expression(e.left, level + to_right), self.expression(e.right, level + (not to_right))
        return f"{left} {self.sign(e.op)} {right}", level

    def _fold(self, e: Fold) -> tuple[str, int]:
        dots = "..." if e.cumulative else ".."
        value = self.expression(e.value, PRECEDENCE[e.op] + (e.op == "**"))
        return f"{value} {self.sign(e.op)} {dots}", LOOSE

    def _select(self, e: Select) -> tuple[str, int]:
        text = f"{self.expression(e.condition, OPERAND)} ? {self.expression(e.yes, OPERAND)}"
        if e.no is None:
            return text, LOOSE
        chained = isinstance(e.no, Select)
        return f"{text} : {self.expression(e.no, LOOSE if chained else OPERAND)}", LOOSE

    def _coalesce(self, e: Coalesce) -> tuple[str, int]:
        chained = isinstance(e.fallback, Coalesce)
        fallback = self.expression(e.fallback, LOOSE if chained else OPERAND)
        return f"{self.expression(e.value, OPERAND)} ?? {fallback}", LOOSE

    # types

    def type_spec(self, t: TypeSpec) -> str:
        words = ["optional"] * t.optional + ([t.word] if t.word else [])
        rank = "" if t.rank is None else f"^({self.expression(t.rank)})"
        shape = "" if t.shape is None else f"[{', '.join(map(self._extent, t.shape))}]"
        pack = f"..{self.length(t.length, t.bound, t.length_word)}" if t.packed else ""
        return " ".join((*words, f"{t.name}{rank}{shape}{pack}"))

    def length(self, length: Expression | None, most: Expression | None, word: str) -> str:
        """What may follow `..`."""
        if length is None:
            return ""
        bound = "" if most is None else f"|{self.expression(most, OPERAND)}"
        shown = self.expression(length, OPERAND if bound else LOOSE)
        return f"({f'{word} ' if word else ''}{shown}{bound})"

    def _extent(self, e: Extent) -> str:
        prefix = f"{'..' if e.own else ''}{'static ' if e.static else ''}"
        bound = "" if e.bound is None else f"|{self.expression(e.bound, OPERAND)}"
        length = self.length(e.length, e.most, e.length_word)
        if e.packed and e.value is not None and not bound:
            return f"{prefix}{self.spread(e.value)}{length}"
        value = "~" if e.value is None else self.expression(e.value, OPERAND if bound else LOOSE)
        return f"{prefix}{value}{bound}{f'..{length}' if e.packed else ''}"


_PRINT: Final[Mapping[type[Expression], Callable[..., tuple[str, int]]]] = {
    Literal: ExpressionPrinter._literal,
    Formatted: ExpressionPrinter._formatted,
    Name: ExpressionPrinter._name,
    Member: ExpressionPrinter._member,
    Default: ExpressionPrinter._default,
    List: ExpressionPrinter._list,
    Range: ExpressionPrinter._range,
    Expand: ExpressionPrinter._expand,
    Zip: ExpressionPrinter._zip,
    Bounded: ExpressionPrinter._bounded,
    Subscript: ExpressionPrinter._subscript,
    Substitute: ExpressionPrinter._substitute,
    Unary: ExpressionPrinter._unary,
    Binary: ExpressionPrinter._binary,
    Fold: ExpressionPrinter._fold,
    Select: ExpressionPrinter._select,
    Coalesce: ExpressionPrinter._coalesce,
    Call: ExpressionPrinter._call,
}
