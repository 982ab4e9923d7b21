"""The parsed form of NNEF texts: declarations, statements and expressions, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ....errors import ParseError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .kinds import Kind

Scalar: TypeAlias = "int | float | bool | str"
Value: TypeAlias = "int | float | bool | str | tuple[Value, ...]"
Expression: TypeAlias = (
    "Name | Literal | Sequence | Invocation | Unary | Binary | Subscript | Conditional | Comprehension | BuiltIn"
)


class Place(NamedTuple):
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

    def error(self, message: str, place: Place, label: str = "") -> ParseError:
        """An error that points at a place of this text; `label` is that of a rule (rules.py)."""
        return ParseError(
            message, file=self.file, line=place.line, column=place.column, source_line=self.line(place.line),
            label=label,
        )  # fmt: skip

    def unsupported(self, message: str, place: Place) -> Unsupported:
        return Unsupported(f"{self.file}:{place.line}:{place.column}: {message}")


# Expressions. `depth` counts how deep one nests.


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier; in a checked document always that of a tensor."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Literal:
    """A number (int or float as written), string or logical value."""

    value: Scalar
    place: Place


@dataclass(frozen=True, slots=True)
class Sequence:
    """An array or a tuple."""

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
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: Expression
    place: Place
    depth: int


@dataclass(frozen=True, slots=True)
class Binary:
    """`place` is that of the operator."""

    operator: str
    left: Expression
    right: Expression
    place: Place
    depth: int


@dataclass(frozen=True, slots=True)
class Subscript:
    """`subject[start]`, or `subject[start:stop]` where each end may be left out."""

    subject: Expression
    start: Expression | None
    stop: Expression | None
    is_range: bool
    place: Place
    depth: int


@dataclass(frozen=True, slots=True)
class Conditional:
    """`yes if condition else no`."""

    condition: Expression
    yes: Expression
    no: Expression
    place: Place
    depth: int


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`[for name in source, ... if condition yield result]`."""

    iterators: tuple[tuple[Name, Expression], ...]
    condition: Expression | None
    result: Expression
    place: Place
    depth: int


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """`function(argument)`."""

    function: str
    argument: Expression
    place: Place
    depth: int


# Statements and declarations


@dataclass(frozen=True, slots=True)
class Assignment:
    target: Name | Sequence
    value: Expression


@dataclass(frozen=True, slots=True)
class GraphDefinition:
    name: str
    parameters: tuple[Name, ...]
    results: tuple[Name, ...]
    body: tuple[Assignment, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class ParameterDefinition:
    """A parameter or result; only parameters have a default."""

    name: str
    kind: Kind
    default: Expression | None
    place: Place


@dataclass(frozen=True, slots=True)
class FragmentDefinition:
    """`generic` is empty, "?", or "? = type"; `body` None where only the declaration is written."""

    name: str
    generic: str
    parameters: tuple[ParameterDefinition, ...]
    results: tuple[ParameterDefinition, ...]
    body: tuple[Assignment, ...] | None
    place: Place


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A whole document. `version` is its text, `extensions` the words of each `extension` line."""

    text: Text
    version: str
    version_place: Place
    extensions: tuple[tuple[Name, ...], ...]
    fragments: tuple[FragmentDefinition, ...]
    graph: GraphDefinition


@dataclass(frozen=True, slots=True)
class QuantLine:
    """One line of a quantization file: `"tensor": op(args);` with the arguments as plain values (tuples for arrays)."""

    tensor: str
    op: str
    args: dict[str, Value]
    line: int
    text: Text | None = field(default=None, repr=False, compare=False)

    def error(self, message: str) -> ParseError:
        """An error at the start of the line."""
        assert self.text is not None
        source = self.text.line(self.line)
        return self.text.error(message, Place(self.line, len(source) - len(source.lstrip()) + 1))


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside an expression, from left to right."""
    match node:
        case Sequence():
            return node.items
        case Invocation():
            return tuple(argument.value for argument in node.arguments)
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Subscript():
            return tuple(part for part in (node.subject, node.start, node.stop) if part is not None)
        case Conditional():
            return (node.yes, node.condition, node.no)
        case Comprehension():
            condition = () if node.condition is None else (node.condition,)
            return (*(source for _, source in node.iterators), *condition, node.result)
        case BuiltIn():
            return (node.argument,)
        case _:
            return ()


def names_in(expression: Expression) -> Iterator[Name]:
    """The identifiers of an expression, from left to right."""
    if isinstance(expression, Name):
        yield expression
    for child in children(expression):
        yield from names_in(child)


def literal_value(expression: Expression) -> Value:
    """The value of an expression of literals, arrays and tuples; these become tuples."""
    if isinstance(expression, Sequence):
        return tuple(literal_value(item) for item in expression.items)
    assert isinstance(expression, Literal)
    return expression.value
