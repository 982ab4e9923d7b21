"""The parsed form of NNEF texts: names, literals, arrays, tuples, invocations, assignments, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ...errors import ParseError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

Scalar: TypeAlias = "int | float | bool | str"
Value: TypeAlias = "int | float | bool | str | tuple[Value, ...]"
Expression: TypeAlias = "Name | Literal | Sequence"


@dataclass(frozen=True, slots=True)
class Place:
    """Line and column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Text:
    """A source text under the name that errors call it."""

    file: str
    lines: list[str] = field(repr=False)

    @classmethod
    def of(cls, file: str, text: str) -> Text:
        return cls(file, text.split("\n"))

    def line(self, number: int) -> str:
        return self.lines[number - 1].rstrip("\r") if 1 <= number <= len(self.lines) else ""

    def error(self, message: str, place: Place) -> ParseError:
        """An error that points at a place of this text."""
        return ParseError(
            message, file=self.file, line=place.line, column=place.column, source_line=self.line(place.line)
        )

    def unsupported(self, message: str, place: Place) -> Unsupported:
        return Unsupported(f"{self.file}:{place.line}:{place.column}: {message}")


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier, where it stands for a tensor."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Literal:
    """A number (int or float as written), string or logical value."""

    value: Scalar
    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """An array or a tuple; `depth` counts how deep it nests."""

    items: tuple[Expression, ...]
    is_tuple: bool
    place: Place
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an invocation; positional when `name` is empty."""

    name: str
    value: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Invocation:
    """`operation<type_name>(arguments)`; `type_name` is empty where it isn't written."""

    operation: str
    type_name: str
    arguments: tuple[Argument, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Assignment:
    target: Name | Sequence
    invocation: Invocation


@dataclass(frozen=True, slots=True)
class GraphDefinition:
    name: str
    parameters: tuple[Name, ...]
    results: tuple[Name, ...]
    body: tuple[Assignment, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A whole document. `version` is its text, `extensions` the words of each `extension` line."""

    text: Text
    version: str
    version_place: Place
    extensions: tuple[tuple[Name, ...], ...]
    graph: GraphDefinition


@dataclass(frozen=True, slots=True)
class QuantLine:
    """One line of a quantization file: `"tensor": op(args);` with the arguments as plain values (tuples for arrays)."""

    tensor: str
    op: str
    args: dict[str, Value]
    line: int


def names_in(expression: Expression) -> Iterator[Name]:
    """The identifiers of an expression, from left to right."""
    if isinstance(expression, Name):
        yield expression
    elif isinstance(expression, Sequence):
        for item in expression.items:
            yield from names_in(item)


def literal_value(expression: Expression) -> Value:
    """The value of an expression without identifiers; arrays and tuples become tuples."""
    if isinstance(expression, Sequence):
        return tuple(literal_value(item) for item in expression.items)
    assert isinstance(expression, Literal)
    return expression.value
