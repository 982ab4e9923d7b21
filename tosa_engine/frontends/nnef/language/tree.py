"""From what the grammar reduces to the nodes of `syntax.py`, while the parser runs: no depth exhausts the stack.

The methods are named as the rules of `grammar.lark`. They know no text: what is wrong is raised as `Wrong`, and
`parser.py` makes an error of it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from lark import Token, Transformer

from .kinds import ArrayOf, Primitive, TensorOf, TupleOf
from .syntax import (
    Argument,
    Assignment,
    Binary,
    BuiltIn,
    Comprehension,
    Conditional,
    Expression,
    FragmentDefinition,
    GraphDefinition,
    Invocation,
    Literal,
    Name,
    ParameterDefinition,
    Place,
    Sequence,
    Subscript,
    Unary,
)

if TYPE_CHECKING:
    from .kinds import Kind

MAX_DIGITS: Final = 4000  # of one number
MAX_DEPTH: Final = 100  # of expressions in each other
# section 3.3.3, from what binds least to what binds most; all of them from left to right
_LEVELS: Final = (("in",), ("&&", "||"), ("<", "<=", ">", ">=", "==", "!="), ("+", "-"), ("*", "/"), ("^",))
PRECEDENCE: Final = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}


class Wrong(Exception):
    """Something that the grammar can't say."""

    def __init__(self, label: str, message: str, place: Place) -> None:
        self.label, self.message, self.place = label, message, place
        super().__init__(message)


def place_of(token: Token) -> Place:
    return Place(token.line or 0, token.column or 0)


def short(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def number_of(text: str, place: Place) -> int | float:
    """The exact value of a numeric literal."""
    if len(text) > MAX_DIGITS:
        raise Wrong("NNEF.LIMIT", f"a number of {len(text)} characters; at most {MAX_DIGITS} are read", place)
    if text.lstrip("-").isdigit():
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise Wrong("NNEF.LIMIT", f"the scalar {short(text)} is beyond double precision", place)
    return value


def string_of(text: str, place: Place) -> str:
    """The value of a string literal with its quotes."""
    inner = text[1:-1]
    if not (inner.isascii() and inner.isprintable()):
        raise Wrong("NNEF.L4", "a string may hold printable ASCII characters only", place)
    if "\\" in inner:
        if re.search(r"\\[^\\'\"]", re.sub(r"\\\\", "", inner)):
            raise Wrong("NNEF.L5", "a backslash in a string must be written twice", place)
        inner = re.sub(r"\\(.)", r"\1", inner)
    return inner


def sequence(items: tuple[Expression, ...], is_tuple: bool, place: Place) -> Sequence:
    return Sequence(items, is_tuple, place, _depth(place, *items))


def invocation(operation: str, type_name: str, arguments: tuple[Argument, ...], place: Place) -> Invocation:
    return Invocation(operation, type_name, arguments, place, _depth(place, *(a.value for a in arguments)))


def _depth(place: Place, *inside: Expression | None) -> int:
    depth = 1 + max((getattr(node, "depth", 0) for node in inside), default=0)
    if depth > MAX_DEPTH:
        raise Wrong("NNEF.LIMIT", f"expressions nest deeper than {MAX_DEPTH}", place)
    return depth


def _type_name(generic: Token) -> str:
    """The name in `<name>`."""
    return re.sub(r"#[^\n\f]*|[<>\s]", "", generic)


class TreeBuilder(Transformer[Token, Any]):
    # literals and names

    def identifier(self, items: list[Token]) -> Name:
        return Name(str(items[0]), place_of(items[0]))

    def number(self, items: list[Token]) -> Literal:
        return Literal(number_of(items[0], place_of(items[0])), place_of(items[0]))

    def negative(self, items: list[Token]) -> Literal:
        place = place_of(items[0])
        return Literal(-number_of(items[1], place), place)

    def string(self, items: list[Token]) -> Literal:
        return Literal(string_of(items[0], place_of(items[0])), place_of(items[0]))

    def logical(self, items: list[Token]) -> Literal:
        return Literal(items[0] == "true", place_of(items[0]))

    # expressions

    def array(self, items: list[Any]) -> Sequence:
        return sequence(tuple(items[1:]), False, place_of(items[0]))

    def tuple_(self, items: list[Any]) -> Sequence:
        return sequence(tuple(items[1:]), True, place_of(items[0]))

    def paren(self, items: list[Any]) -> Unary:
        place = place_of(items[0])
        return Unary("()", items[1], place, _depth(place, items[1]))

    def unary(self, items: list[Any]) -> Expression:
        operator, operand = items
        place = place_of(operator)
        if operator == "-" and isinstance(operand, Literal) and type(operand.value) in (int, float):
            adjacent = operand.place == Place(place.line, place.column + 1)
            if adjacent and str(operand.value)[0] != "-":  # as in the flat syntax, where the sign is the literal's
                return Literal(-operand.value, place)  # type: ignore[operator]
        return Unary(str(operator), operand, place, _depth(place, operand))

    def operator(self, items: list[Token]) -> Token:
        return items[0]

    def chain(self, items: list[Any]) -> Expression:
        """Operands and operators in turn, by precedence."""
        operands: list[Expression] = [items[0]]
        pending: list[Token] = []

        def reduce() -> None:
            right, operator = operands.pop(), pending.pop()
            left, place = operands.pop(), place_of(operator)
            operands.append(Binary(str(operator), left, right, place, _depth(place, left, right)))

        for operator, operand in zip(items[1::2], items[2::2], strict=True):
            while pending and PRECEDENCE[pending[-1]] >= PRECEDENCE[operator]:
                reduce()
            pending.append(operator)
            operands.append(operand)
        while pending:
            reduce()
        return operands[0]

    def conditional(self, items: list[Any]) -> Conditional:
        yes, word, condition, no = items
        place = place_of(word)
        return Conditional(condition, yes, no, place, _depth(place, yes, condition, no))

    def iterators(self, items: list[Any]) -> list[Any]:
        return items

    def iterator(self, items: list[Any]) -> tuple[Name, Expression]:
        return self.identifier(items[:1]), items[1]

    def comprehension(self, items: list[Any]) -> Comprehension:
        place, iterators = place_of(items[0]), tuple(items[1])
        condition = None if len(items) == 4 else items[3]
        depth = _depth(place, *(source for _, source in iterators), condition, items[-1])
        return Comprehension(iterators, condition, items[-1], place, depth)

    def item(self, items: list[Any]) -> Subscript:
        subject, bracket, start = items
        place = place_of(bracket)
        return Subscript(subject, start, None, False, place, _depth(place, subject, start))

    def range(self, items: list[Any]) -> Subscript:
        subject, bracket, *ends = items
        place, colon = place_of(bracket), next(i for i, end in enumerate(ends) if isinstance(end, Token))
        start = ends[0] if colon == 1 else None
        stop = ends[-1] if colon < len(ends) - 1 else None
        return Subscript(subject, start, stop, True, place, _depth(place, subject, start, stop))

    def builtin(self, items: list[Token]) -> Token:
        return items[0]

    def builtin_call(self, items: list[Any]) -> BuiltIn:
        function, _, argument = items
        place = place_of(function)
        return BuiltIn(str(function), argument, place, _depth(place, argument))

    def argument(self, items: list[Expression]) -> Argument:
        return Argument("", items[0], items[0].place)

    def named_argument(self, items: list[Any]) -> Argument:
        return Argument(str(items[0]), items[1], place_of(items[0]))

    def invocation(self, items: list[Any]) -> Invocation:
        typed = isinstance(items[1], Token)
        type_name = _type_name(items[1]) if typed else ""
        return invocation(str(items[0]), type_name, tuple(items[2 if typed else 1 :]), place_of(items[0]))

    # statements

    def lvalues(self, items: list[Any]) -> Name | Sequence:
        if len(items) == 1:
            single: Name | Sequence = items[0]
            return single
        return sequence(tuple(items), True, items[0].place)

    def assignment(self, items: list[Any]) -> Assignment:
        return Assignment(items[0], items[1])

    def body(self, items: list[Assignment]) -> tuple[Assignment, ...]:
        return tuple(items)

    # declarations

    def identifiers(self, items: list[Token]) -> list[Name]:
        return [self.identifier([token]) for token in items]

    def type_name(self, items: list[Token]) -> str:
        return str(items[0])

    def primitive_type(self, items: list[str]) -> Kind:
        return Primitive(items[0])

    def tensor_type(self, items: list[Token]) -> Kind:
        return TensorOf(_type_name(items[0]))

    def unbound_type(self, items: list[Any]) -> Kind:
        return TensorOf("")

    def array_type(self, items: list[Kind]) -> Kind:
        return ArrayOf(items[0])

    def tuple_type(self, items: list[Any]) -> Kind:
        return TupleOf(tuple(items[1:]))

    def parameters(self, items: list[ParameterDefinition]) -> tuple[ParameterDefinition, ...]:
        return tuple(items)

    def parameter(self, items: list[Any]) -> ParameterDefinition:
        default = items[2] if len(items) == 3 else None
        return ParameterDefinition(str(items[0]), items[1], default, place_of(items[0]))

    results, result = parameters, parameter

    def generic(self, items: list[Token]) -> str:
        if _type_name(items[0]) != "?":
            raise Wrong("NNEF.S1", f"unexpected '{items[0]}', expected '<?>' or '<? = ...>'", place_of(items[0]))
        return "?"

    def generic_default(self, items: list[Any]) -> str:
        return f"? = {items[1]}"

    def fragment(self, items: list[Any]) -> FragmentDefinition:
        name, *rest = items
        generic = rest.pop(0) if isinstance(rest[0], str) else ""
        parameters, results, *body = rest
        return FragmentDefinition(str(name), generic, parameters, results, body[0] if body else None, place_of(name))

    def graph(self, items: list[Any]) -> GraphDefinition:
        name, parameters, results, body = items
        return GraphDefinition(str(name), tuple(parameters), tuple(results), body, place_of(name))

    def version(self, items: list[Token]) -> Name:
        return self.identifier(items)

    def extension(self, items: list[Token]) -> list[Name]:
        return self.identifiers(items)

    def document(self, items: list[Any]) -> list[Any]:
        return items

    def quantization_line(self, items: list[Any]) -> list[Any]:
        return items

    def quantization(self, items: list[Any]) -> list[Any]:
        return items
